"""Many logs from one: shaken, with insignificant differences, or of resampled users."""

from __future__ import annotations

import math

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, Ints
from shadowtime.workload.scale import resubmitted
from shadowtime.workload.seeds import Seed, generator
from shadowtime.workload.workload import Workload

JITTER = 60
"""Seconds by which a submission moves at most. Ours: below what a user plans, above a tie."""
STRETCH = 0.01
"""Share by which a run time changes at most. Ours as well."""


def shaken(
    workload: Workload, *, seed: Seed, jitter: int = JITTER, stretch: float = STRETCH
) -> Workload:
    """The same jobs, each a little earlier or later and a little longer or shorter.

    Rules
    -----
    submit' = max(0, submit + d), d a whole number drawn uniformly from [-jitter, jitter].
    run' = run x f rounded half up, at least 1, f uniform on [1 - stretch, 1 + stretch]. A job that
    kept its limit still keeps it (run' is cut there); one that is killed at its limit is killed
    as before. Requests, limits and demands are untouched, recorded starts forgotten. Submissions
    and run times have streams of their own: shaking one less does not change the other.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 500], run=[100, 100], procs=[1, 1], request=[100, 200])
    >>> s = shaken(w, seed=1)
    >>> bool((abs(s.submit - w.submit) <= 60).all()), s.request.tolist()
    (True, [100, 200])

    References
    ----------
    D. Tsafrir, K. Ouaknine and D. G. Feitelson, Reducing performance evaluation sensitivity and
    variability by input shaking, MASCOTS 2007. The sizes of the shakes are our choice.
    """
    if jitter < 0:
        raise UsageError(f"the jitter is {jitter} s; give a number from 0")
    if not 0 <= stretch < 1:
        raise UsageError(f"the stretch is {stretch}; give a share from 0 to below 1")
    submit_rng, run_rng = generator(seed).spawn(2)
    moved = workload.submit + submit_rng.integers(-jitter, jitter + 1, len(workload))
    factor = run_rng.uniform(1 - stretch, 1 + stretch, len(workload))
    run = np.floor(workload.run * factor + 0.5).astype(np.int64)
    # At least a second, except for jobs that do not run at all.
    run = np.minimum(np.maximum(run, np.minimum(workload.run, 1)), workload.limit)
    # Shortening a job that is killed at its limit could let it end well: another kind of job.
    run = np.where(workload.run > workload.limit, workload.run, run)
    return resubmitted(workload, np.maximum(moved, 0), run=run)


def leave_out(workload: Workload, share: float = 0.01, *, seed: Seed) -> Workload:
    """The workload without a share of its jobs, drawn without replacement; ids stay.

    The number left out is share x jobs, rounded half up.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=range(200), run=[1] * 200, procs=[1] * 200)
    >>> len(leave_out(w, 0.01, seed=1)), len(leave_out(w, 0.5, seed=1))
    (198, 100)
    """
    if not 0 <= share <= 1:
        raise UsageError(f"the share to leave out is {share}; give a number between 0 and 1")
    count = math.floor(share * len(workload) + 0.5)
    keep = np.ones(len(workload), bool)
    keep[generator(seed).choice(len(workload), count, replace=False)] = False
    return workload.take(np.flatnonzero(keep))


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
