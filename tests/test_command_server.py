"""A command that the server runs does what a fresh process does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_server import served

FRESH = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "100",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with served(tmp_path_factory.mktemp("server"), FRESH) as environment:
        yield environment


def outcome(command: str, environment: dict[str, str], folder: Path) -> tuple[object, ...]:
    """Exit code, output, the error if there is one, and the files that are left.

    Without an error the other stream holds progress, which depends on how long something takes.
    """
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{command}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    files = {path.name: path.read_text() for path in folder.iterdir()}
    error = done.stderr.splitlines()[-1:] if done.returncode else []
    return done.returncode, done.stdout, error, files


LOG = "'1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1'"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("shadowtime --version", 0),
        ("shadowtime policies easy > easy.txt && shadowtime policies lxfw | tail -2", 0),
        ("shadowtime check nothing.csv", 2),
        ("shadowtime no-such-command", 2),
        (f"echo {LOG} > log.swf; shadowtime simulate log.swf --cluster pool:2 -p easy --json", 0),
        (f"echo {LOG} | shadowtime trace info /dev/stdin", 0),
        ("shadowtime policies > /dev/full", 2),
        ("COLUMNS=60 shadowtime policies easy", 0),
    ],
)
def test_same_as_a_fresh_process(
    command: str, code: int, environment: dict[str, str], tmp_path: Path
) -> None:
    """Folder, files, both streams, pipes and exit code; also where the environment differs."""
    made = outcome(command, environment, tmp_path / "served")
    assert made == outcome(command, FRESH, tmp_path / "fresh")
    assert made[0] == code, made


def test_a_command_that_is_killed_reports_the_signal(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """As a shell sees it: 128 and the number of the signal."""
    (tmp_path / "deadly.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    command = "shadowtime simulate x.swf --policy ../deadly.py:none; echo $?"
    assert outcome(command, environment, tmp_path / "served")[1] == "137\n"


def test_the_server_leaves_with_its_commands(tmp_path: Path) -> None:
    """Nothing outlives the block: a command that still runs is ended."""
    (tmp_path / "slow.py").write_text(
        "import time\nprint('begun', flush=True)\ntime.sleep(600)\nprint('late')\n"
    )
    (tmp_path / "server").mkdir()
    with served(tmp_path / "server", FRESH) as environment:
        command = ["shadowtime", "simulate", "x.swf", "--policy", "slow.py:none"]
        client = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True,
            executable=str(tmp_path / "server" / "bin" / "shadowtime"),
        )  # fmt: skip
        assert client.stdout is not None
        assert client.stdout.readline() == "begun\n"
    assert client.stdout.read() == ""  # it ends when the last process that could write has ended
    assert client.wait(60) == 70
    client.stdout.close()
