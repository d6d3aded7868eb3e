"""Many logs from one: resampled users, each with all of their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN
from shadowtime.workload.moved import resubmitted
from shadowtime.workload.seeds import generator

if TYPE_CHECKING:
    from shadowtime.types import Ints
    from shadowtime.workload.seeds import Seed
    from shadowtime.workload.workload import Workload

WEEK = 7 * 24 * 3600
TEMPORARY_WEEKS = 12
"""A user active for no longer is temporary and keeps the stay in one piece. Our choice."""


def resample_users(
    workload: Workload, *, seed: Seed, temporary_weeks: int = TEMPORARY_WEEKS
) -> Workload:
    """A log of the same length and kind in which other weeks of the users meet.

    Rules
    -----
    The log is split by user, and as many users are drawn with replacement as there were: among
    the long-term users and among the temporary ones (active over at most ``temporary_weeks``
    weeks) separately. A long-term user's weeks are rotated around the log by a random number;
    a temporary user's stay starts in a random week in which it still fits. Jobs move by whole
    weeks only, so the hour of the day and the day of the week stay, and so do a user's own
    sessions. Jobs of unknown users stay where they are. The load varies from draw to draw,
    as it does from log to log: measure it.

    A user drawn twice becomes two users: users and jobs are renumbered from 1, in (submit, draw,
    old id) order; ``extra["source_id"]`` and ``extra["source_user"]`` hold the old numbers.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 700_000, 1_400_000], run=[1, 2, 3], procs=[1, 1, 1], user=[5, 6, 5]
    ... )
    >>> r = resample_users(w, seed=3)
    >>> len(set(r.user.tolist())), sorted(set((r.submit % 604_800).tolist()) - {0, 95_200, 190_400})
    (2, [])

    References
    ----------
    N. Zakay and D. G. Feitelson, Workload resampling for performance evaluation of parallel job
    schedulers, CCPE 26(12), 2014. The two kinds of users are theirs, the details above ours.
    """
    known = workload.user != UNKNOWN
    if len(workload) and not bool(known.any()):
        raise UsageError(
            f"{workload.name}: no job names its user, so users cannot be resampled; use shaking"
        )
    if len(workload.follows):
        raise UsageError(
            f"{workload.name}: users whose jobs follow others cannot be resampled; use shaking"
        )
    if len(workload) == 0:
        return workload
    first = int(workload.submit[0])
    week = (workload.submit - first) // WEEK
    weeks = int(week[-1]) + 1
    by_user = _by_user(workload.user)
    stay = np.array([week[jobs[-1]] - week[jobs[0]] + 1 for jobs in by_user])
    pools = [np.flatnonzero(stay > temporary_weeks), np.flatnonzero(stay <= temporary_weeks)]
    anyone = np.flatnonzero(~known)
    take, shift, person = [anyone], [np.zeros(len(anyone), np.int64)], [anyone * 0 + UNKNOWN]
    people = 0
    # A stream for each kind: who is drawn among the one does not depend on the other.
    for pool, rng in zip(pools, generator(seed).spawn(2), strict=True):
        for user in pool[rng.integers(0, max(1, len(pool)), len(pool))].tolist():
            jobs = by_user[user]
            people += 1
            take.append(jobs)
            shift.append(_shift(week[jobs], weeks, temporary_weeks, rng))
            person.append(np.full(len(jobs), people))
    return _recombined(
        workload, np.concatenate(take), np.concatenate(shift), np.concatenate(person)
    )


def _by_user(user: Ints) -> list[Ints]:
    """The places of each known user's jobs, users in rising order."""
    order = np.argsort(user, kind="stable")
    order = order[user[order] != UNKNOWN]
    return np.split(order, np.flatnonzero(np.diff(user[order])) + 1)


def _shift(mine: Ints, weeks: int, temporary_weeks: int, rng: np.random.Generator) -> Ints:
    """By how many weeks each of a user's jobs moves."""
    start, stay = int(mine[0]), int(mine[-1] - mine[0]) + 1
    if stay <= temporary_weeks:
        return np.full(len(mine), int(rng.integers(0, weeks - stay + 1)) - start)
    turned: Ints = (mine + int(rng.integers(0, weeks))) % weeks
    return turned - mine


def _recombined(workload: Workload, take: Ints, shift: Ints, person: Ints) -> Workload:
    submit = workload.submit[take] + shift * WEEK
    order = np.lexsort((workload.job_id[take], person, submit))
    drawn = workload.take(take[order])
    extra = dict(drawn.extra, source_id=drawn.job_id, source_user=drawn.user)
    ids = np.arange(1, len(order) + 1)
    return resubmitted(drawn.replace(job_id=ids, user=person[order], extra=extra), submit[order])
