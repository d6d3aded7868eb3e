"""From a request to a shape: GRES of a job that do not divide, and nodes in a row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shadowtime.cluster.memory_bound import MB
from shadowtime.cluster.shape import Shape, Shapes
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests

FOUR = Site(
    nodes=tuple(Node(name=f"g{i}", amounts=(16, 4)) for i in range(4)), resources=("cpus", "gpu")
)


def shape(request: Request, site: Site = FOUR) -> Shape | None:
    made = Shapes(site)
    return made.of(request, made.partitions[0])


def gpus(count: int) -> tuple[Gres, ...]:
    return (Gres(name="gpu", count=count, per="job"),)


def test_gres_that_divide_by_tasks_stay_per_task() -> None:
    made = shape(Request(tasks=4, gres=gpus(8)))
    assert made is not None
    assert (made.tasks, made.per_task, made.divisor) == (4, (1, 2), 1)


def test_gres_that_divide_by_a_fixed_number_of_nodes_are_per_node() -> None:
    made = shape(Request(nodes=2, max_nodes=2, tasks=5, gres=gpus(4)))
    assert made is not None
    assert (made.tasks, made.fixed, made.divisor) == (5, (0, 2), 1)


@pytest.mark.parametrize(("tasks", "count", "cpus"), [(4, 6, [3, 2]), (8, 6, [6, 3]), (4, 2, [4])])
def test_pieces_carry_their_part_of_the_tasks(tasks: int, count: int, cpus: list[int]) -> None:
    """4 GPUs on the first node, the rest on the next; cpus follow, rounded up on each node."""
    jobs = Workload.build(
        submit=[0],
        run=[5],
        procs=[tasks],
        requests=Requests.of_jobs([Request(tasks=tasks, gres=gpus(count))]),
    )
    made = simulate(jobs, FOUR, parse_policy("easy(place=first-fit)"))
    assert made.start.tolist() == [0]
    assert [number for _, number in made.place.cpus_of(0)] == cpus  # type: ignore[union-attr]


def test_every_node_gives_a_piece() -> None:
    assert shape(Request(nodes=3, tasks=4, gres=gpus(2))) is None


def test_amounts_and_their_inverse() -> None:
    made = shape(Request(tasks=4, gres=gpus(6)))
    assert made is not None
    assert made.asked == (4, 6)
    assert made.amounts((16, 4), 4, -1) == (3, 4)
    assert [made.tasks_with(made.cpus(tasks)) for tasks in (1, 2, 4, 5)] == [1, 2, 4, 5]


def test_tasks_per_node_and_a_partitions_cpus_bound_the_pieces() -> None:
    made = shape(Request(tasks=4, tasks_per_node=1, gres=gpus(6)))
    assert made is not None
    assert made.per_node == 2
    bounded = FOUR.replace(
        partitions=(
            Partition(name="p", nodes=tuple(n.name for n in FOUR.nodes), max_cpus_per_node=2),
        )
    )
    made = shape(Request(tasks=4, gres=gpus(6)), bounded)
    assert made is not None
    assert made.per_node == 3


def test_neighbours_are_looked_at_in_the_sites_order() -> None:
    site = FOUR.replace(
        nodes=tuple(
            Node(name=node.name, amounts=node.amounts, weight=9 - i)
            for i, node in enumerate(FOUR.nodes)
        )
    )
    row = shape(Request(tasks=2, contiguous=True), site)
    free = shape(Request(tasks=2), site)
    assert row is not None
    assert free is not None
    assert (row.nodes, free.nodes) == ((0, 1, 2, 3), (3, 2, 1, 0))
    beside = shape(Request(tasks=2, contiguous=True, wanted=("g1",)), site)
    assert beside is not None
    assert not beside.in_a_row


def test_memory_beyond_the_bound_of_a_partition_costs_cpus() -> None:
    """MaxMemPerCPU: more cpus for the memory; MaxMemPerNode: such a job never starts there."""
    site = Site(
        resources=("cpus", "memory"),
        nodes=tuple(Node(name=name, amounts=(8, 16000 * MB)) for name in "ab"),
    )
    part = Partition(name="p", nodes=("a", "b"), max_memory=2000 * MB)
    cases = (
        (Request(tasks=4, memory=3000 * MB, memory_per="cpu"), (8, 12000)),
        (Request(tasks=4, memory=2000 * MB, memory_per="cpu"), (4, 8000)),
        (Request(tasks=2, memory=9000 * MB), (6, 9000)),
        (Request(nodes=2, tasks=4, tasks_per_node=2, memory=5000 * MB), (8, 10000)),
        (Request(tasks=1, cpus_per_task=5, memory=9000 * MB), (5, 9000)),
    )
    for asked, (cpus, memory) in cases:
        made = shape(asked, site.replace(partitions=(part,)))
        assert made is not None
        assert made.asked == (cpus, memory * MB), asked
    per_node = replace(part, max_memory=4000 * MB, max_memory_per="node")
    for asked, fits in (
        (Request(memory=4000 * MB), True),
        (Request(memory=5000 * MB), False),
        (Request(tasks=4, memory=1000 * MB, memory_per="cpu"), True),
        (Request(tasks=5, max_nodes=1, memory=1000 * MB, memory_per="cpu"), False),
        (Request(tasks=1, exclusive=True, memory=1000 * MB, memory_per="cpu"), False),
    ):
        assert (shape(asked, site.replace(partitions=(per_node,))) is not None) == fits, asked
