"""Conformance checks that every policy gets for free, a user's own included.

Each check raises AssertionError with the world and the job that broke the rule. A test suite
takes them one by one from CHECKS, or all at once with check_policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.policy.partition import ByClass
from shadowtime.policy.place import NodePlace
from shadowtime.schedule.check import check
from shadowtime.testing.worlds import World, small_host_worlds, small_node_worlds, small_worlds

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
