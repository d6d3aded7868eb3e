"""How evenly users fare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.metrics.jobs import Jobs
    from shadowtime.types import Floats, Ints


def evenness(jobs: Jobs, user: Ints) -> dict[str, float]:
    """Jain's index and the Gini coefficient of the users' mean bounded slowdowns.

    Jobs of unknown users are left out; nothing where no user is known.

    Examples
    --------
    >>> from shadowtime.metrics.jobs import Jobs
    >>> j = Jobs(wait=np.array([0, 20]), run=np.array([10, 10]), procs=np.array([1, 1]))
    >>> evenness(j, np.array([1, 2]))
    {'user_bsld_jain': 0.8, 'user_bsld_gini': 0.25}
    """
    means = user_means(jobs.bounded(), user)
    if len(means) == 0:
        return {}
    n, total = len(means), float(means.sum())
    ascending = np.sort(means)
    jain = total * total / (n * float(means @ means))
    gini = float((2 * np.arange(1, n + 1) - n - 1) @ ascending) / (n * total)
    return {"user_bsld_jain": jain, "user_bsld_gini": gini}


def user_means(values: Floats, user: Ints) -> Floats:
    """Mean of a column for each known user, in order of the user's number."""
    known = user > UNKNOWN
    of, values = user[known], values[known]
    if len(of) and int(of.max()) > 4 * len(of) + 1000:  # numbers too sparse to count directly
        of = np.unique(of, return_inverse=True)[1]
    jobs = np.bincount(of)
    sums = np.bincount(of, weights=values)
    means: Floats = sums[jobs > 0] / jobs[jobs > 0]
    return means
