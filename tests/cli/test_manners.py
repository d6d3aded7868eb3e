"""How every command behaves: examples in help, outputs looked at first, words on what is written,
time that is left, and Ctrl-C."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console

import shadowtime.cli.common.progress as progress
from shadowtime.cli import app, run
from shadowtime.cli.common.interrupt import TIDY, answer_interrupts
from shadowtime.trace.formats import FORMATS, SACCT

WORDS = {
    "swf": "(SWF)",
    "sacct": "sacct export",
    "slurm-csv": "Slurm site's CSV",
    "condor-history": "HTCondor history",
    "condor-events": "event log",
    "pbs": "PBS or Torque accounting",
    "jobs-csv": "table of jobs (CSV",
    "parquet": "Parquet",
}
"""What the help calls each format."""
LOG = "1 0 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n2 5 -1 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n"


def commands(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command that does something, with its words."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command, context
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        below = click.Context(inner, info_name=name, parent=context)
        yield from commands(inner, below, (*path, name))


EVERY = list(commands(app, click.Context(app, info_name="shadowtime")))


@pytest.mark.parametrize(("name", "command", "context"), EVERY, ids=[one[0] for one in EVERY])
def test_help_has_an_example(name: str, command: click.Command, context: click.Context) -> None:
    """A line that can be typed stands in the help of each command."""
    usage, _, rest = command.get_help(context).partition("\n")
    assert usage.startswith(f"Usage: shadowtime {name}")
    assert f"  shadowtime {name}" in rest.partition("Options:")[0]


def test_the_help_of_simulate_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    """A new format of logs needs its word here and in the help."""
    assert set(WORDS) == {one.name for one in (*FORMATS, SACCT)}
    assert run(["simulate", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert [name for name, word in WORDS.items() if word not in text] == []
    assert "site's folder" in text and "result folder" in text


@pytest.mark.parametrize(
    "words",
    [
        "simulate no.swf -p easy --schedule gone/out.csv",
        "simulate no.swf -p easy --report gone/out.html",
        "simulate no.swf -p easy -o file/out",
        "compare no.swf -p easy -p fcfs --report gone/out.html",
        "compare no.swf -p easy -p fcfs -o file/out",
        "replay no.swf -p easy --report gone/out.html",
        "replay no.swf -p easy -o file/out",
        "whatif no --set bf_interval=9 --save gone/a.toml",
        "whatif no --set bf_interval=9 -o file/out",
        "demo --report gone/out.html",
        "demo -o file/out",
        "report no -o gone/out.html",
        "trace convert no.swf gone/out.swf",
        "trace generate demo gone/out.swf",
        "trace generate lublin gone/out.swf --jobs 10",
        "trace generate hperf gone/out.swf",
        "leaderboard no -o gone/out.html",
        "sweep collect no -o gone/out.csv",
        "paper pv-easy --report gone/out.html",
    ],
)
def test_outputs_are_looked_at_before_the_inputs(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The log is not there either: what is said is about the output, in one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert run(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert "there is no folder gone" in err or "file is not a folder" in err, err


def test_what_is_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each file and folder, apart from the result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(LOG)
    command = ["simulate", "log.swf", "-c", "pool:2", "-p", "easy", "--schedule", "a.csv"]
    assert run([*command, "-o", "out", "--report", "a.html"]) == 0
    out, err = capsys.readouterr()
    assert "wrote" not in out
    for name in ("a.csv", "out", "a.html"):
        assert f"wrote {name}" in err.splitlines() and (tmp_path / name).exists()
    command = ["compare", "log.swf", "-c", "pool:2", "-p", "easy", "-p", "fcfs"]
    assert run([*command, "--load", "1", "--load", "2", "--report", "b.html", "-o", "both"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("wrote ")]
    assert told[0] == "wrote both" and told[1] == "wrote b.html" and len(told) == 3
    assert all(Path(line.removeprefix("wrote ")).exists() for line in told)


def test_a_bar_says_how_much_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where steps are counted, the time that remains stands beside the time that has passed."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", lambda: terminal)
    with progress.working("simulating", steps=4, patience=0.0) as advance:
        advance()
        advance()
    assert isinstance(terminal.file, io.StringIO)
    assert "left" in terminal.file.getvalue()


BUSY = """
import hashlib, os, signal, sys, threading
from shadowtime.cli.common.interrupt import answer_interrupts
answer_interrupts(["simulate"])
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)  # compiled, minutes long, without Python's lock
"""


def test_ctrl_c_ends_compiled_code() -> None:
    """Python's own handler would wait for the call to end; the watcher does not."""
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130 and done.stderr == "shadowtime: interrupted\n"


@pytest.mark.parametrize("command", TIDY)
def test_commands_that_end_in_order_are_left_to_it(command: str) -> None:
    """Nothing watches them: the way signals wake Python stays as it was."""
    before = signal.set_wakeup_fd(-1)
    try:
        answer_interrupts([command])
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.set_wakeup_fd(before)
