"""Commands that are killed, and continue with --resume to the same bytes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.engine.watch import write_checkpoint
from shadowtime.trace.swf import write_swf
from shadowtime.workload.lublin import lublin_workload

FAST = """
import sys, time
real = time.monotonic
time.monotonic = lambda: 600 * real()  # a minute is over in a tenth of a second
from shadowtime.cli import main
main()
"""
PATIENCE = 240
"""Seconds: a loaded machine is slow."""


def command(folder: Path, name: str) -> list[str]:
    """One run under Slurm's scheduler, seconds long."""
    log = folder / "log.swf"
    if not log.exists():
        write_swf(lublin_workload(3000, seed=1, procs=64), log)
    more = ["--policy", "slurm(bf_interval=30)", "--resume", str(folder / "runs")]
    where = ["-c", "pool:64", "--schedule", str(folder / f"{name}.csv")]
    return ["simulate", str(log), *more, *where]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_command_continues(tmp_path: Path, how: signal.Signals) -> None:
    """Killed once a checkpoint is there, it does not begin again, and the schedule is the same."""
    files = tmp_path / "runs" / "kept"
    child = subprocess.Popen(
        [sys.executable, "-c", FAST, *command(tmp_path, "killed")], stderr=subprocess.PIPE
    )
    end = time.monotonic() + PATIENCE
    while not list(files.glob("*.checkpoint")) and child.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    child.send_signal(how)
    _, told = child.communicate(timeout=PATIENCE)
    assert child.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL), told
    assert [one.suffix for one in files.iterdir()] == [".checkpoint"]
    assert run(command(tmp_path, "resumed")) == 0
    assert [one.suffix for one in files.iterdir()] == [".run"]
    plain = [*command(tmp_path, "whole")]
    del plain[plain.index("--resume") : plain.index("--resume") + 2]
    assert run(plain) == 0
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_checkpoint_of_other_code_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a sentence that names the file; nothing is lost by it."""
    assert run(command(tmp_path, "first")) == 0
    [kept] = (tmp_path / "runs" / "kept").iterdir()
    kept.unlink()
    file = kept.with_suffix(".checkpoint")
    write_checkpoint(file, b"state", code="0123")
    assert run(command(tmp_path, "second")) == 2
    told = capsys.readouterr().err
    assert "nothing to resume" in told and "another version of shadowtime" in told
    assert str(file) in told and "Delete it" in told
    file.write_bytes(file.read_bytes().replace(file.stem.encode(), b"0" * 32))
    assert run(command(tmp_path, "second")) == 2
    assert "other inputs" in capsys.readouterr().err
