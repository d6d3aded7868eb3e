"""What a command keeps though nobody asked for it: it never stands in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.watch import write_checkpoint
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.study.sweep.store import FORGOTTEN, Spare, forget_old, run_key
from shadowtime.workload import Workload

JOBS = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
WORLD: Any = (JOBS, Cluster.pool(4), parse_policy("easy"))
STARTS = [0, 9, 2]


def run_on(spare: Spare) -> Schedule:
    return spare.engine(simulate)(*WORLD)


def late(folder: Path) -> Spare:
    """A command that has taken more than a minute."""
    seconds = iter((0.0, *[1e9] * 99))
    return Spare(folder, clock=seconds.__next__)


def test_what_is_damaged_is_run_again(tmp_path: Path) -> None:
    """A finished run and a checkpoint that cannot be read; an explicit --resume would refuse."""
    spare = late(tmp_path / "command")
    assert run_on(spare).start.tolist() == STARTS
    [kept] = spare.store.place.iterdir()
    kept.write_bytes(b"damaged")
    assert run_on(late(tmp_path / "command")).start.tolist() == STARTS
    kept.unlink()
    file = spare.store.checkpoint(run_key(*WORLD))
    write_checkpoint(file, [b"state"], code="another")
    assert run_on(late(tmp_path / "command")).start.tolist() == STARTS
    assert not file.exists() and kept.exists()


@pytest.mark.parametrize("folder", ["/dev/null/nowhere", "/proc/nowhere"])
def test_without_a_place_nothing_is_kept(folder: str) -> None:
    """A home that cannot be written is no reason to fail."""
    spare = late(Path(folder))
    assert run_on(spare).start.tolist() == STARTS and spare.content == ""


def test_nobody_came_back(tmp_path: Path) -> None:
    """Old folders are removed, and only those."""
    run_on(late(tmp_path / "old"))
    changed = (tmp_path / "old").stat().st_mtime
    forget_old(tmp_path, changed + FORGOTTEN)
    assert (tmp_path / "old").is_dir()
    forget_old(tmp_path, changed + FORGOTTEN + 1)
    assert not (tmp_path / "old").exists()
    forget_old(tmp_path / "nowhere", 0.0)
