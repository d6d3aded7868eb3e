"""Conformance checks for any policy, a user's own included.

Each check raises AssertionError with the world and the job that broke the rule. A test suite
takes them one by one from CHECKS, or all at once with check_policy. The worlds are small workloads
that have exposed errors in schedulers: on a pool, on hosts, and on nodes that share bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.policy.partition import ByClass
from shadowtime.policy.place import NodePlace
from shadowtime.schedule.check import check
from shadowtime.types import Ints
from shadowtime.workload import Workload

World = tuple[str, Workload, Cluster]


def small_worlds() -> list[World]:
    """Named worlds on a pool: ties, one processor, machine-wide jobs, overload, early ends.

    Examples
    --------
    >>> [name for name, _, _ in small_worlds()][:2]
    ['one job', 'all at once']
    """
    build = Workload.build
    return [
        ("one job", build(submit=[3], run=[5], procs=[2]), Cluster.pool(2)),
        (
            "all at once",
            build(submit=[0] * 6, run=[4, 4, 2, 2, 1, 1], procs=[3, 2, 4, 1, 1, 2]),
            Cluster.pool(4),
        ),
        (
            "one processor",
            build(submit=[0, 0, 1, 5], run=[3, 2, 2, 1], procs=[1] * 4),
            Cluster.pool(1),
        ),
        (
            "machine-wide jobs",
            build(submit=[0, 1, 2, 3], run=[5, 5, 1, 9], procs=[8, 8, 1, 8]),
            Cluster.pool(8),
        ),
        (
            "early ends",
            build(
                submit=[0, 0, 1, 2, 3],
                run=[1, 2, 3, 1, 1],
                procs=[4, 4, 8, 2, 6],
                request=[50, 40, 30, 20, 10],
                user=[1, 2, 1, 2, 1],
            ),
            Cluster.pool(8),
        ),
        (
            "killed at the limit",
            build(
                submit=[0, 1, 2],
                run=[99, 99, 5],
                procs=[2, 2, 3],
                request=[10, 5, 5],
                user=[1, 1, 1],
            ),
            Cluster.pool(4),
        ),
        *(random_world(seed) for seed in range(12)),
    ]


def random_world(seed: int) -> World:
    """Many random jobs on a small pool, some of them worth waiting for."""
    draw = np.random.default_rng(seed)
    n, procs = int(draw.integers(5, 40)), int(draw.integers(1, 17))
    request = draw.integers(1, 60, n)
    return (
        f"random {seed}",
        Workload.build(
            submit=np.sort(draw.integers(0, 200, n)),
            run=np.maximum(1, (request * draw.uniform(0.05, 1.2, n)).astype(np.int64)),
            procs=draw.integers(1, procs + 1, n),
            request=request,
            user=draw.integers(0, 4, n),
        ),
        Cluster.pool(procs),
    )


ABOVE, HOURS, ONE = 64, 50.0, 3


def small_host_worlds(*, one: int = ONE, above: int = ABOVE, hours: float = HOURS) -> list[World]:
    """Named worlds on hosts of two sizes: ``one`` for large jobs, and two more.

    A large job needs more than ``above`` processors, and as much of everything else that a class
    may go by: memory, and the numbers of its queue, group and user. A short one asks for up to
    ``hours``. Jobs above one and a half times ``above`` are dedicated.

    Examples
    --------
    >>> name, jobs, cluster = small_host_worlds()[0]
    >>> name, [host.capacity for host in cluster.hosts]
    ('one large job', [(130, 130), (130, 130), (130, 130), (65, 65), (65, 65)])
    """
    large, short = 2 * above + 2, max(1, int(hours * 3600))
    hosts = (*((large, large) for _ in range(one)), *[(above + 1, above + 1)] * 2)
    cluster = Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(Host(f"h{number}", capacity) for number, capacity in enumerate(hosts)),
        options={"dedicated": {"procs": above + above // 2}},
    )
    return [
        ("one large job", _jobs([3], [5], [large], [5]), cluster),
        (
            "large jobs in a row",
            _jobs([0, *range(2 * one)], [9] * (2 * one + 1), [large] * (2 * one + 1), [20] * 99),
            cluster,
        ),
        (
            "long jobs keep out of class one",
            _jobs([0] * 8, [9] * 8, [max(1, above)] * 8, [short + 1, short] * 4),
            cluster,
        ),
        *((f"random {seed}", _crowd(seed, above, short), cluster) for seed in range(10)),
    ]


def _jobs(
    submit: Sequence[int] | Ints,
    run: Sequence[int] | Ints,
    procs: Sequence[int] | Ints,
    request: Sequence[int] | Ints,
) -> Workload:
    """Jobs that are equally large by every measure."""
    width = np.asarray(procs, np.int64)
    return Workload.build(
        submit=submit,
        run=run,
        procs=width,
        request=np.asarray(request, np.int64)[: len(width)],
        demand={"memory": width},
        user=width,
        group=width,
        queue=width,
    )


def _crowd(seed: int, above: int, short: int) -> Workload:
    """Many random jobs, a third of them large, a third of the rest long."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(10, 40))
    large = draw.random(n) < 1 / 3
    procs = np.where(
        large, draw.integers(above + 1, 2 * above + 3, n), draw.integers(1, max(2, above + 1), n)
    )
    length = draw.integers(1, 60, n)
    request = np.where(draw.random(n) < 1 / 3, short + length, np.minimum(length, short))
    run = np.maximum(1, (length * draw.uniform(0.05, 1.2, n)).astype(np.int64))
    return _jobs(np.sort(draw.integers(0, 100, n)), run, procs, request)


DEMANDS = np.array([2000, 500, 3001, 0, 1750, 1000])
"""What a process draws of a node's 6,000, job after job: enough to slow each other down."""


def small_node_worlds() -> list[World]:
    """The worlds of the pool with their processors on nodes, four or fewer on each.

    Examples
    --------
    >>> name, jobs, cluster = small_node_worlds()[1]
    >>> name, cluster.shape, len(cluster.hosts), jobs.extra["bandwidth"].tolist()
    ('all at once', 'nodes', 1, [2000, 500, 3001, 0, 1750, 1000])
    """
    worlds = []
    for name, jobs, pool in small_worlds():
        cores = max(size for size in (1, 2, 3, 4) if pool.procs % size == 0)
        demand = np.resize(DEMANDS, len(jobs))
        nodes = node_cluster(pool.procs // cores, procs=cores, bandwidth=6000)
        worlds.append((name, jobs.replace(extra={"bandwidth": demand}), nodes))
    return worlds


__all__ = ["CHECKS", "check_policy", "small_host_worlds", "small_node_worlds", "small_worlds"]


Maker = Callable[[], Any]
"""Makes a fresh policy; a Policy value may simply return itself."""


def worlds_for(policy: Any) -> list[World]:
    """Worlds of the shape that a policy needs.

    Hosts if it divides them among classes; nodes too if it plans on them.
    """
    part = getattr(policy, "partition", None)
    if isinstance(part, ByClass):
        return small_host_worlds(one=part.hosts, above=part.above, hours=part.hours)
    if isinstance(getattr(policy, "place", None), NodePlace):
        return small_worlds() + small_node_worlds()
    return small_worlds()


def every_job_runs_once(make: Maker) -> None:
    """Every job starts, not before its submission, and runs for its time.

    On nodes that is its run time and what its neighbours cost it, or its limit.
    """
    for name, workload, cluster in worlds_for(make()):
        schedule = simulate(workload, cluster, make())
        early = np.flatnonzero(schedule.start < workload.submit)
        assert not len(early), (
            f"{name}: job {schedule.job_id[early[0]]} starts before its submission"
        )
        ran = schedule.worked
        due = workload.effective_run
        if schedule.penalised is not None and schedule.limit is not None:
            slowed = workload.effective_run + schedule.penalised  # work is cut at the request
            due = np.where(schedule.killed == 1, schedule.limit, slowed)
        wrong = np.flatnonzero(ran != due)
        assert not len(wrong), f"{name}: job {schedule.job_id[wrong[0]]} ran for {ran[wrong[0]]} s"


def schedule_can_be_proved(make: Maker) -> None:
    """No proof fails: capacity, limits, attempts, reasons, the policy's rules and claims."""
    for name, workload, cluster in worlds_for(make()):
        policy = make()
        rules = rules_of(policy, workload, cluster)
        report = check(simulate(workload, cluster, policy), workload, cluster, rules=rules)
        assert report.ok, f"{name}: {report.first_violation}"


def same_input_same_schedule(make: Maker) -> None:
    """Running twice gives the same schedule."""
    for name, workload, cluster in worlds_for(make()):
        one, two = (simulate(workload, cluster, make()) for _ in range(2))
        assert (one.start == two.start).all(), f"{name}: two runs differ"


def future_is_unknown(make: Maker) -> None:
    """Lengthening or shortening a job changes nothing before its end can be noticed.

    Policies that are openly handed the true run times (estimate=actual or noisy) are exempt.
    """
    policy = make()
    if getattr(getattr(policy, "estimate", None), "name", "") in ("actual", "noisy"):
        return
    for name, workload, cluster in worlds_for(policy):
        before = simulate(workload, cluster, make())
        for job in range(0, len(workload), 3):
            run = workload.run.copy()
            run[job] = max(1, run[job] // 2) if run[job] > 1 else run[job] + 1
            after = simulate(workload.replace(run=run), cluster, make())
            notice = before.start[job] + min(
                workload.effective_run[job], min(run[job], workload.limit[job])
            )
            if before.kills[job]:
                notice = before.attempts.start[before.attempts.job_id == workload.job_id[job]].min()
            earlier = (before.start < notice) & (before.kills == 0) & (after.kills == 0)
            same = before.start[earlier] == after.start[earlier]
            assert same.all(), (
                f"{name}: job {workload.job_id[np.flatnonzero(earlier)[np.flatnonzero(~same)[0]]]} "
                f"starts elsewhere although job {workload.job_id[job]}'s run time was not yet known"
            )


def lone_job_starts_at_once(make: Maker) -> None:
    """A job that is alone starts at once on any machine it fits."""
    for name, workload, cluster in worlds_for(make()):
        alone = workload.take([0])
        schedule = simulate(alone, cluster, make())
        assert schedule.start[0] == alone.submit[0], f"{name}: a lone job waits"


CHECKS: dict[str, Callable[[Maker], None]] = {
    check_.__name__: check_
    for check_ in (
        every_job_runs_once,
        schedule_can_be_proved,
        same_input_same_schedule,
        future_is_unknown,
        lone_job_starts_at_once,
    )
}


def check_policy(make: Maker) -> None:
    """Run all checks on a policy.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> check_policy(lambda: parse_policy("easy"))
    """
    for run in CHECKS.values():
        run(make)
