"""Runs of workloads whose jobs follow others (workload/follows.py): submissions come as they must.

Policies made of parts take such jobs into their event loop, on a site or a pool. A whole scheduler
that is given its submissions, as Slurm's own is, is run again until they agree with its ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError, UsageError
from shadowtime.kernel.slots import ESTIMATE, LEARN_SUBMIT
from shadowtime.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.match import take
from shadowtime.workload import Workload
from shadowtime.workload.follows import as_submitted, released, submissions

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site

ROUNDS = 12
"""Runs of a whole scheduler at most."""
NEAR = 0.01
"""Share of the mean run time by which its submissions may still move, on the mean, at the end."""


def simulate_following(
    workload: Workload, cluster: Cluster | Site, policy: Policy | Any, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload whose jobs follow others; ``submit`` of the schedule is when each came.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.follows import ENDED, follow_table
    >>> jobs = Workload.build(submit=[0, 0, 7], run=[9, 5, 4], procs=[3, 4, 1],
    ...                       follows=follow_table([(2, 1, 10, ENDED)]))
    >>> made = simulate_following(jobs, Cluster.pool(4), parse_policy("easy"))
    >>> made.submit.tolist(), made.start.tolist()
    ([0, 19, 7], [0, 19, 7])
    """
    if hasattr(policy, "simulate"):
        return _by_rounds(workload, cluster, policy, watch)
    _refuse(policy, cluster.shape)
    from shadowtime.engine.site import simulate_site

    early, row = released(workload)
    if isinstance(cluster, Cluster):
        from shadowtime.engine.run_tables import leaves_the_queue, refuse_unfit
        from shadowtime.workload.site_requests import pool_as_site

        if not leaves_the_queue(workload):
            refuse_unfit(workload, cluster)
        asked, site = pool_as_site(early, cluster)
        made = simulate_site(asked, site, policy, watch=watch).replace(place=None)
    else:
        made = simulate_site(early, cluster, policy, watch=watch)
    made = take(made, np.argsort(row))
    came = np.where(made.start >= 0, made.submit, submissions(workload, made))
    return made.replace(job_id=workload.job_id, submit=came)


def refuse_following(workload: Workload, where: str) -> None:
    """Reject jobs that follow others where submissions must be known."""
    if len(workload.follows):
        raise UsageError(
            f"{workload.name} has jobs that are submitted when others have ended, which {where} "
            "does not know: use simulate, or leave the relations out"
        )


def _refuse(policy: Any, shape: str) -> None:
    """Reject what the event loop with such jobs does not know."""
    name = str(getattr(policy, "name", None) or type(policy).__name__)
    what = ""
    if shape not in ("pool", "site"):
        what = f"{name}: jobs that follow others are simulated on pools and sites, not on {shape}"
    elif hasattr(policy, "decide"):
        what = f"{name}: a policy written as a Python class is given no jobs that follow others"
    elif policy.reserve.sunny or policy.backfill.changes:
        what = f"{name}: policies that stop or change jobs are not defined for jobs that follow"
    elif policy.backfill.selects and not policy.backfill.promises_all:
        what = f"{name}: a function that selects from the whole queue runs on plain pools only"
    elif policy.written:
        from shadowtime.engine.uses import uses_of

        if {ESTIMATE, LEARN_SUBMIT} & {use.slot for use in uses_of(policy)}:
            what = f"{name}: a function that is called at submissions knows no jobs that follow"
    if what:
        raise PolicyError(
            f"{what}; replay the log as it was recorded, or use a policy such as easy or "
            "conservative"
        )


def _by_rounds(
    workload: Workload, cluster: Cluster | Site, policy: Any, watch: Watch | None
) -> Schedule:
    """Simulate, move submissions to when they would have come, and repeat until they agree.

    Every round fixes the submissions of one more job of each chain; the rounds end when they move
    by less than a hundredth of the mean run time on the mean, or after ROUNDS.
    """
    seen = {} if watch is None else {"watch": watch}
    near = NEAR * max(float(workload.effective_run.mean()), 1.0)
    made, submit = None, workload.submit
    for _ in range(ROUNDS + 1):
        current, row = as_submitted(workload, submit)
        made = take(policy.simulate(current, cluster, **seen), np.argsort(row))
        made = made.replace(job_id=workload.job_id, submit=submit)
        before, submit = submit, submissions(workload, made)
        if float(np.abs(submit - before).mean()) < near:
            break
    assert made is not None
    return made
