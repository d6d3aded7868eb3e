"""What jobs of a log hold on each node, of which accounting tells the nodes and the sum."""

from __future__ import annotations

import numpy as np

from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.eta.held import held_by
from shadowtime.eta.present import LogAt
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

SITE = Site(
    nodes=(
        Node(name="big", amounts=(16, 1600), weight=9),
        Node(name="a", amounts=(8, 800)),
        Node(name="b", amounts=(8, 800)),
    ),
    resources=("cpus", "memory"),
    partitions=(
        Partition(
            name="batch", nodes=("big", "a", "b"), default=True,
            default_memory=10, default_memory_per="cpu",
        ),
    ),
)  # fmt: skip


def log(*jobs: tuple[str, int, int, int, Request]) -> Workload:
    """Jobs as (nodes, cpus, start, end, request)."""
    texts = tuple(dict.fromkeys(("", *(one[0] for one in jobs))))
    starts = [one[2] for one in jobs]
    return Workload.build(
        submit=[0] * len(jobs),
        run=[one[3] - one[2] for one in jobs],
        procs=[one[1] for one in jobs],
        request=[100] * len(jobs),
        limit=[100] * len(jobs),
        recorded_start=starts,
        extra={"node_list": np.array([texts.index(one[0]) for one in jobs])},
        names={"node_list": texts},
        requests=Requests.of_jobs([one[4] for one in jobs]),
    )


def held(*jobs: tuple[str, int, int, int, Request]) -> list[dict[str, int]]:
    made = log(*jobs)
    assert made.requests is not None
    start = made.recorded_start
    runs = np.stack((start, np.where(start < 0, -1, start + made.effective_run)), axis=1)
    return held_by(made, made.requests, SITE, runs)


def test_a_job_fills_its_nodes_in_their_order() -> None:
    """By weight, with what is free there, and a task for each node that follows."""
    two = Request(tasks=10, partitions=("batch",))
    assert held(("big,a", 10, 0, 9, two)) == [{"a": 8, "big": 2}]
    first = ("a", 5, 0, 9, Request(tasks=5, partitions=("batch",)))
    assert held(first, ("a,b", 6, 1, 9, two))[1] == {"a": 3, "b": 3}
    assert held(first, ("a,b", 6, 9, 20, two))[1] == {"a": 5, "b": 1}  # the first has ended
    assert held(("a,b", 2, 0, 9, two)) == [{"a": 1, "b": 1}]
    pairs = Request(tasks=3, cpus_per_task=2, partitions=("batch",))
    assert held(first, ("a,b", 6, 1, 9, pairs))[1] == {"a": 2, "b": 4}
    bound = Request(tasks=8, tasks_per_node=5, partitions=("batch",))
    assert held(("a,b", 8, 0, 9, bound)) == [{"a": 5, "b": 3}]


def test_memory_bounds_what_a_node_gives() -> None:
    """By cpu as asked for, or by the partition's default; all of a node's leaves nothing."""
    thirsty = Request(tasks=10, memory=200, memory_per="cpu", partitions=("batch",))
    assert held(("big,a", 10, 0, 9, thirsty)) == [{"a": 4, "big": 6}]
    all_of_it = ("a", 1, 0, 9, Request(memory=0, partitions=("batch",)))
    usual = Request(tasks=4, partitions=("batch",))
    assert held(all_of_it, ("a,b", 4, 1, 9, usual))[1] == {"a": 2, "b": 2}  # it cannot be


def test_what_cannot_be_filled_is_spread_evenly() -> None:
    full = ("a", 8, 0, 9, Request(tasks=8, partitions=("batch",)))
    late = Request(tasks=5, partitions=("batch",))
    assert held(full, ("a,b", 5, 1, 9, late))[1] == {"a": 3, "b": 2}
    assert held(full, ("", 5, -1, 9, late))[1] == {}
    assert held(("a,b", 2, 0, 9, Request(exclusive=True)))[0] == {"a": 8, "b": 8}


def test_pieces_hold_the_memory_that_their_job_has() -> None:
    """What it asked for, its partition's default, or all of a node's."""
    jobs = log(
        ("big", 1, 0, 50, Request(max_nodes=1, memory=0, partitions=("batch",))),
        ("a,b", 10, 0, 60, Request(nodes=2, max_nodes=2, tasks=10, partitions=("batch",))),
    )
    running = LogAt(jobs, SITE).present(5).running
    pieces = [(one.wanted, one.tasks, one.memory) for job in running for one in job.pieces]
    assert pieces == [(("big",), 1, 1600), (("a",), 8, 80), (("b",), 2, 20)]
