"""How evenly the users of a machine are treated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics import _user_kernel as of
from shadowtime.metrics.tally import as_row, room_for_sums
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.metrics.jobs import Jobs
    from shadowtime.types import Floats, Ints


def evenness(jobs: Jobs, user: Ints) -> dict[str, float]:
    """Jain's index and the Gini coefficient of the users' mean bounded slowdowns.

    Jobs of unknown users are excluded; nothing if no user is known.

    Examples
    --------
    >>> from shadowtime.metrics.jobs import Jobs
    >>> j = Jobs(wait=np.array([0, 20]), run=np.array([10, 10]), procs=np.array([1, 1]))
    >>> evenness(j, np.array([1, 2]))
    {'user_bsld_jain': 0.8, 'user_bsld_gini': 0.25}
    """
    return evenness_of(jobs.bounded(), user)


def evenness_of(bounded: Floats, user: Ints) -> dict[str, float]:
    """The same from the column of bounded slowdowns."""
    values, number = np.ascontiguousarray(bounded, np.float64), as_row(user)
    found, room = np.empty(of.RESULTS), room_for_sums()
    places = 4 * len(number) + 1000
    users = of.evenness_between(
        values, number, np.empty((of.TABLES, places)), np.empty(places, np.int64), found, *room
    )
    if users == of.SPARSE:  # numbers too sparse to count directly
        known = number > UNKNOWN
        return evenness_of(values[known], np.unique(number[known], return_inverse=True)[1])
    if users == 0:
        return {}
    jain, gini = found.tolist()
    return {"user_bsld_jain": jain, "user_bsld_gini": gini}
