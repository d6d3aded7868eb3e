"""Flurries: one user's burst that dominates a log for a short while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload

WEEK = 7 * 86400


@dataclass(frozen=True)
class Flurry:
    """A burst: its user, its time and its jobs."""

    user: int
    since: int
    until: int
    """First and last submission in it."""
    jobs: int
    jobs_share: float
    """Of all jobs of the log."""
    first_id: int
    last_id: int
    same_shape_share: float
    """Share of its jobs with the most frequent (processors, request): flurries repeat."""


def flurry_mask(
    workload: Workload, *, window: int = WEEK, times: float = 1.0, dominance: float = 0.5
) -> AnyArray:
    """Which jobs are part of a flurry.

    Tsafrir and Feitelson call a flurry a rare surge of repetitive activity by a single user that
    dominates the workload for a short period, and find them by eye. Our rule: in a window (a
    week, counted from the first submission) one user submits more than ``times`` the jobs
    of all users in the median window that has any, and at least ``dominance`` of the jobs of that
    window. A log of fewer than four windows has no meaningful median, and no flurries.

    References
    ----------
    Tsafrir & Feitelson, Instability in parallel job scheduling simulation: the role of workload
    flurries, IPDPS 2006.
    """
    if len(workload) == 0:
        return np.zeros(0, bool)
    at = (workload.submit - workload.submit[0]) // window
    windows, place, per_window = np.unique(at, return_inverse=True, return_counts=True)
    if len(windows) < 4:
        return np.zeros(len(workload), bool)
    users, who = np.unique(workload.user, return_inverse=True)
    pairs, pair, count = np.unique(
        place.astype(np.int64) * len(users) + who, return_inverse=True, return_counts=True
    )
    usual = float(np.median(per_window))
    burst = (count > times * usual) & (count >= dominance * per_window[pairs // len(users)])
    burst &= users[pairs % len(users)] >= 0  # jobs of unknown users are not one user's
    return np.asarray(burst[pair])


def flurries(
    workload: Workload, *, window: int = WEEK, times: float = 1.0, dominance: float = 0.5
) -> list[Flurry]:
    """The flurries of a log, in time order; a user's neighbouring windows make one.

    See :func:`flurry_mask` for the rule.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> week = 7 * 86400
    >>> quiet = [w * week for w in range(5) for _ in range(10)]
    >>> w = Workload.build(submit=quiet + [2 * week + 5] * 40, run=[9] * 90, procs=[1] * 90,
    ...                    user=[1] * 50 + [2] * 40)
    >>> [(f.user, f.jobs, f.first_id, f.last_id) for f in flurries(w)]
    [(2, 40, 51, 90)]
    """
    mask = flurry_mask(workload, window=window, times=times, dominance=dominance)
    found: list[Flurry] = []
    for user in np.unique(workload.user[mask]).tolist():
        mine = np.flatnonzero(mask & (workload.user == user))
        at = (workload.submit[mine] - workload.submit[0]) // window
        parts = np.split(mine, np.flatnonzero(np.diff(at) > 1) + 1)
        found.extend(_flurry(workload, part, user) for part in parts)
    return sorted(found, key=lambda flurry: (flurry.since, flurry.user))


def _flurry(workload: Workload, part: AnyArray, user: int) -> Flurry:
    shapes = np.stack([workload.procs[part], workload.request[part]])
    _, counts = np.unique(shapes, axis=1, return_counts=True)
    return Flurry(
        user=user,
        since=int(workload.submit[part[0]]),
        until=int(workload.submit[part[-1]]),
        jobs=len(part),
        jobs_share=len(part) / len(workload),
        first_id=int(workload.job_id[part].min()),
        last_id=int(workload.job_id[part].max()),
        same_shape_share=float(counts.max()) / len(part),
    )
