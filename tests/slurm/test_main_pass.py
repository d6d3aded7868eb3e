"""Decisions of the main pass that recordings of drawn configurations showed."""

from __future__ import annotations

from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.main_pass import main_pass
from shadowtime.workload.request import Request

SITE = Site(
    nodes=tuple(Node(name=name, amounts=(4,)) for name in ("a", "b")),
    partitions=(
        Partition(name="batch", nodes=("a", "b"), default=True, tier=1),
        Partition(name="fast", nodes=("a",), tier=5),
    ),
    config={"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"},
)


def test_a_job_that_preempts_is_tried_in_no_other_partition() -> None:
    """Node b is free: the job could start there, but it has preempted for node a."""
    state = state_of(SITE)
    whole = ask_of(Request(nodes=1, max_nodes=1, tasks=1, exclusive=True), state.machine)
    low = Job(id=1, ask=whole, limit=600, user="u", partitions=("batch",), priority=9)
    state.waiting = [low]
    assert [one.nodes for one in main_pass(state, 10).starts] == [0b01]
    high = Job(id=2, ask=whole, limit=600, user="u", partitions=("fast", "batch"), priority=8)
    high.record = 1
    state.waiting = [high]
    found = main_pass(state, 20)
    assert found.victims == [(1, 2)]
    assert found.starts == []
