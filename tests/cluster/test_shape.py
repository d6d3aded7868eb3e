"""From a request to a shape: GRES of a job that do not divide, and nodes in a row."""

from __future__ import annotations

import pytest

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
