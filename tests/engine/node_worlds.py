"""Random small worlds of nodes, and the comparison of the engine with the slow reference."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from drawing import Drawing
from naive.nodes import Machine, NodeJob, NodeResult
from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload

BANDWIDTHS = {
    6000: (0, 500, 1000, 1750, 2000, 3001),
    1000: (0, 100, 300, 400, 700, 997),
    10**9: (1, 2000),
}


SPREADS = (0, 3, 20, 60)
LENGTHS = (1, 2, 3, 4, 5, 7, 10, 16, 25, 40)


@st.composite
def node_worlds(
    draw: st.DrawFn,
    *,
    most: int = 12,
    caps: tuple[int, ...] = (6000, 1000),
    shapes: tuple[tuple[int, int], ...] = (),
) -> tuple[list[NodeJob], Machine]:
    """Jobs and a machine: ties, saturation, jobs that fill a node or the machine, kills.

    ``shapes``: (nodes, processors of each) to choose from, instead of four of up to four.
    """
    pick = Drawing(draw)
    cap = pick.one(caps)
    if shapes:
        machine = Machine(*pick.one(shapes), cap)
    else:
        machine = Machine(pick.number(1, 4), pick.number(1, 4), cap)
    procs = machine.nodes * machine.cores
    spread = pick.one(SPREADS)
    kinds = [pick.one(BANDWIDTHS[cap]) for _ in range(pick.number(1, 3))]
    jobs = []
    for number in pick.shuffled(range(1, pick.number(1, most) + 1)):
        request = pick.one(LENGTHS)
        run = pick.one((request, pick.one(LENGTHS), max(1, request * 4 // 5)))
        width = pick.number(1, pick.one((min(procs, 4), procs)))
        b = pick.one(kinds)
        submit = pick.number(0, spread)
        jobs.append(NodeJob(number, submit, (width,), request, run, request, bandwidth=b))
    return jobs, machine


def as_cluster(machine: Machine, **contention: Any) -> Cluster:
    """The machine as the package sees it."""
    cluster = node_cluster(machine.nodes, procs=machine.cores, bandwidth=machine.cap)
    terms = {"shared": ["bandwidth"], **contention}
    return cluster.replace(options={"contention": terms})


def as_workload(jobs: list[NodeJob]) -> Workload:
    """The same jobs as the package sees them."""
    jobs = sorted(jobs, key=lambda job: job.priority)
    return Workload.build(
        submit=[j.submit for j in jobs],
        run=[j.run for j in jobs],
        procs=[j.procs for j in jobs],
        request=[j.request for j in jobs],
        limit=[j.limit for j in jobs],
        job_id=[j.id for j in jobs],
        extra={"bandwidth": np.array([j.bandwidth for j in jobs])},
    )


def simulated(jobs: list[NodeJob], machine: Machine, policy: str, **contention: Any) -> Schedule:
    """Run the engine on a naive world."""
    return simulate(as_workload(jobs), as_cluster(machine, **contention), parse_policy(policy))


COLUMNS = ("start", "end", "reason", "kills", "killed", "promised", "blocked_at")


def rows_of(schedule: Schedule) -> list[tuple[int, ...]]:
    """What became of each job, as plain numbers."""
    return [
        (int(schedule.job_id[i]), *(int(getattr(schedule, c)[i]) for c in COLUMNS))
        for i in range(len(schedule))
    ]


def penalised_of(schedule: Schedule) -> dict[int, Fraction]:
    """Exact delay of the jobs that finished."""
    assert schedule.penalised_exact is not None
    return {
        int(schedule.job_id[i]): Fraction(*schedule.penalised_exact[i].tolist())
        for i in range(len(schedule))
        if not schedule.killed[i]
    }


def places_of(schedule: Schedule) -> dict[int, dict[int, int]]:
    """Processes by node of each job."""
    places = schedule.place
    return {int(schedule.job_id[i]): dict(places.nodes_of(i)) for i in range(len(schedule))}  # type: ignore[union-attr]


def assert_same(schedule: Schedule, result: NodeResult) -> None:
    """Equal job by job: times, reasons, kills, limits, places, exact delays, passes."""
    theirs = [(row.id, *(int(getattr(row, c)) for c in COLUMNS)) for row in result.result.rows]
    assert rows_of(schedule) == theirs
    assert schedule.limit is not None
    assert dict(zip(schedule.job_id.tolist(), schedule.limit.tolist(), strict=True)) == result.limit
    assert places_of(schedule) == result.place
    assert penalised_of(schedule) == result.penalised
    assert schedule.counters["passes"] == result.result.passes
