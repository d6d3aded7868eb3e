"""MaxJobsAccrue: which waiting jobs grow older (spec: slurm 5.8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.limits import Accounts

NOT_YET = 1 << 60
"""A time that no run reaches: the job has no age."""


def hold_age(accounts: Accounts, job: Job) -> None:
    """A job comes into the queue: where ageing is bounded it waits for a place."""
    if accounts.accruing(job) is not None:
        job.ages_from = NOT_YET


def let_age(accounts: Accounts, waiting: Iterable[Job], now: int) -> None:
    """At each pass: in the order of ids, jobs begin to age while fewer than the bound do.

    Examples
    --------
    >>> from shadowtime.cluster.site import Limits
    >>> from shadowtime.slurm.ask import Ask
    >>> from shadowtime.slurm.job import Job
    >>> from shadowtime.slurm.limits import Accounts
    >>> ask = Ask(tasks=1, cpus_per_task=1, min_nodes=1, max_nodes=1, wanted_nodes=1, min_cpus=1,
    ...           least_cpus=1)
    >>> accounts = Accounts(enforced=True, qos={"q": Limits(user_accruing=1)})
    >>> jobs = [Job(id=k, ask=ask, limit=60, user="u", qos="q") for k in (1, 2)]
    >>> for job in jobs:
    ...     hold_age(accounts, job)
    >>> let_age(accounts, jobs, 5)
    >>> [job.ages_from == 5 for job in jobs]
    [True, False]
    """
    held: list[tuple[Job, tuple[str, ...], int]] = []
    ageing: Counter[tuple[str, ...]] = Counter()
    for job in waiting:
        if job.ages_from is None:
            continue
        place = accounts.accruing(job)
        if place is None:
            continue
        if job.ages_from == NOT_YET:
            held.append((job, *place))
        else:
            ageing[place[0]] += 1
    for job, key, bound in sorted(held, key=lambda one: one[0].id):
        if ageing[key] < bound:
            ageing[key] += 1
            job.ages_from = now
