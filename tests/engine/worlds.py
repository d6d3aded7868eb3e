"""Random small worlds for comparing the engine with the slow reference, and the comparison."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from drawing import Drawing
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.verify.follow import follow
from shadowtime.verify.proof import differences
from shadowtime.verify.world import Job, Result
from shadowtime.workload import Workload

CAPACITIES = (1, 2, 3, 5, 8, 16)
SPREADS = (0, 3, 20, 60)
LENGTHS = (1, 1, 2, 3, 4, 5, 7, 10, 16, 25, 40)


@st.composite
def worlds(
    draw: st.DrawFn, *, resources: int = 1, overruns: bool = False, most: int = 14
) -> tuple[list[Job], tuple[int, ...]]:
    """Jobs and a machine: ties, equal submits, one processor, machine-wide jobs, overload."""
    pick = Drawing(draw)
    capacity = tuple(pick.one(CAPACITIES) for _ in range(resources))
    spread = pick.one(SPREADS)
    jobs = []
    for number in pick.shuffled(range(1, pick.number(1, most) + 1)):
        first = min(pick.number(1, 2 * capacity[0]), capacity[0])  # half of them machine-wide
        rest = tuple(pick.number(0, c) for c in capacity[1:])
        request = pick.one(LENGTHS)
        run = pick.one((request,) * len(LENGTHS) + LENGTHS)  # half of them as requested
        limit = pick.one((request, request + 7, 1 << 30)) if overruns else request
        jobs.append(
            Job(
                id=number,
                submit=pick.number(0, spread),
                need=(first, *rest),
                request=request,
                run=run,
                limit=limit,
                user=pick.number(-1, 2),
            )
        )
    return jobs, capacity


NAMES = ("procs", "memory", "gpus", "licences", "burst")


def as_workload(jobs: list[Job]) -> Workload:
    """The same jobs as the package sees them."""
    width = len(jobs[0].need) if jobs else 1
    return Workload.build(
        submit=[j.submit for j in jobs],
        run=[j.run for j in jobs],
        procs=[j.need[0] for j in jobs],
        request=[j.request for j in jobs],
        limit=[j.limit for j in jobs],
        job_id=[j.id for j in jobs],
        user=[j.user for j in jobs],
        demand={NAMES[k]: [j.need[k] for j in jobs] for k in range(1, width)},
    )


def as_cluster(capacity: tuple[int, ...]) -> Cluster:
    """The machine as the package sees it."""
    return Cluster.pool(capacity[0], **dict(zip(NAMES[1:], capacity[1:], strict=False)))


def simulated(jobs: list[Job], capacity: tuple[int, ...], policy: Any) -> Schedule:
    """Run the engine on a naive world."""
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    return simulate(as_workload(jobs), as_cluster(capacity), chosen)


COLUMNS = ("start", "end", "reason", "kills", "killed", "promised", "blocked_at")


def assert_same(schedule: Schedule, result: Result, *, passes: bool = True) -> None:
    """Equal job by job, in every column; attempts and the number of passes too."""
    ours = [
        (int(schedule.job_id[i]), *(int(getattr(schedule, c)[i]) for c in COLUMNS))
        for i in range(len(schedule))
    ]
    theirs = [(row.id, *(int(getattr(row, c)) for c in COLUMNS)) for row in result.rows]
    assert ours == theirs
    attempts = sorted(
        zip(
            schedule.attempts.job_id.tolist(),
            schedule.attempts.start.tolist(),
            schedule.attempts.end.tolist(),
            (schedule.attempts.killed == 1).tolist(),
            strict=True,
        )
    )
    assert attempts == sorted(result.attempts)
    if passes:
        assert schedule.counters["passes"] == result.passes


def assert_followed(jobs: list[Job], capacity: tuple[int, ...], policy: Any) -> None:
    """The engine's schedule is what the verifier makes of the policy, in as many passes."""
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    schedule, workload = simulated(jobs, capacity, chosen), as_workload(jobs)
    made = follow(workload, as_cluster(capacity), chosen)
    assert list(differences(schedule, workload, made)) == []
    assert schedule.counters["passes"] == made.passes
