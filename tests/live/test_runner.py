"""A command that cannot be run is retried like any scheduler error; it never ends the loop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from shadowtime.live.port import PortError
from shadowtime.live.runner import Commands, Done, NotInstalled, checked, side_by_side
from shadowtime.live.slurm.configuration import look_at


def test_whatever_keeps_a_command_from_running_is_waited_out(tmp_path: Path) -> None:
    """Not installed, not allowed, not a program, below a file, or with a NUL in its words."""
    rubbish = tmp_path / "squeue"
    rubbish.write_bytes(b"\x7fELF rubbish")
    run = Commands(timeout=5)
    for argv in (
        ["/nowhere/squeue"],
        [str(rubbish)],
        [f"{rubbish}/below"],
        ["echo", "7\0"],
    ):
        with pytest.raises(PortError, match=r"squeue|echo"):
            run(argv)
    rubbish.chmod(0o755)
    with pytest.raises(PortError, match="could not be run"):
        run([str(rubbish)])


def test_without_slurm_the_message_says_where_to_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without Slurm's commands: which one is missing, and what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"scontrol is not installed here: run this on .* login"):
        look_at(Commands(timeout=5))


def test_a_failure_does_not_wait_for_the_command_beside_it() -> None:
    """A loop that is told to end during one command does not wait for the other."""
    release, finished = threading.Event(), []

    class Slow:
        concurrent = True

        def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
            if argv[0] == "slow":
                release.wait(60)
                finished.append(argv[0])
            return Done(argv[0] == "bad", "", "no")

    with pytest.raises(PortError, match="bad: no"):
        side_by_side(Slow(), lambda: checked(Slow(), ["bad"]), lambda: checked(Slow(), ["slow"]))
    assert not finished
    release.set()
    with pytest.raises(PortError, match="bad: no"):
        side_by_side(Slow(), lambda: checked(Slow(), ["slow"]), lambda: checked(Slow(), ["bad"]))
