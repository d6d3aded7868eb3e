"""What Slurm 26.05 prints about jobs, and what a start must say to it."""

from __future__ import annotations

import pytest

from live.fakes import queue_line
from shadowtime.live.port import Start
from shadowtime.live.slurm.act import start_lines
from shadowtime.live.slurm.asks import request_of
from shadowtime.live.slurm.touched import touch
from shadowtime.slurmtext.squeue import QueueRow, parse_queue


def row(**given: object) -> QueueRow:
    return parse_queue(queue_line("7", **given))[0]


@pytest.mark.parametrize(
    ("oversubscribe", "exclusive", "alone"),
    [("OK", "", False), ("NO", "", True), ("USER", "", False),
     ("NO", "NO", False), ("NO", "NODE", True), ("NO", "USER", False), ("YES", "NO", False)],
)  # fmt: skip
def test_who_is_alone_on_nodes(oversubscribe: str, exclusive: str, alone: bool) -> None:
    """Up to 25.11 OverSubscribe says it; since 26.05 it is NO for ordinary jobs too."""
    found = row(OverSubscribe=oversubscribe, Exclusive=exclusive)
    assert request_of(found, None).exclusive == alone


@pytest.mark.parametrize(
    ("exclusive", "asked", "words"),
    [
        ("", "N/A", "TresPerTask=gres:membw:3000"),
        ("NO", "N/A", "TresPerTask=gres:membw:3000 TasksPerNode=11"),
        ("NO", "cpu=1", "TresPerTask=cpu=1,gres/membw:3000 TasksPerNode=11"),
        ("NO", "gres:gpu:1", "TresPerTask=gres:gpu:1,gres:membw:3000 TasksPerNode=11"),
    ],
)
def test_a_wide_start_names_its_tasks_per_node(exclusive: str, asked: str, words: str) -> None:
    """26.05 never starts a job with GRES by task on several nodes without; older ones need not."""
    found = row(Exclusive=exclusive, NumTasks=16, NumCPUs=16, **{"tres-per-task": asked})
    start = Start(job="7", place=(("n1", 11), ("n2", 5)), bandwidth=3000)
    line = start_lines(start, row=found, gres="membw")[0]
    assert line == f"update JobId=7 ReqNodeList=n1,n2 StartTime=now {words}"
    mark = touch(start, found, None, "membw")
    assert mark is not None
    assert ("TasksPerNode=0" in mark.undo) == bool(exclusive)
    own = mark.before(found._replace(per_node=11 if exclusive else 0))
    assert own.per_node == 0
