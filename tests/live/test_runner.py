"""Commands that cannot be run are the scheduler's trouble, waited out; never the loop's end."""

from __future__ import annotations

from pathlib import Path

import pytest

from shadowtime.live.port import PortError
from shadowtime.live.runner import Commands


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
