"""Predictions from what the same user ran last."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.predict.history import news_before

if TYPE_CHECKING:
    from shadowtime.types import Floats
    from shadowtime.workload import Workload


def max_of_last(workload: Workload, *, jobs: int = 5) -> Floats:
    """The request times the largest share run / request of the user's last jobs; nan at first."""
    share = workload.effective_run / np.maximum(workload.request, 1)
    return workload.request * _of_last(workload, share, jobs=jobs, least=1, quantile=1.0)


def user_quantile(
    workload: Workload, *, quantile: float = 0.9, jobs: int = 50, least: int = 3
) -> Floats:
    """A quantile of the user's last run times, one of them; nan with fewer than ``least``.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 50, 100], run=[10, 30, 5], procs=[1] * 3, user=[7] * 3)
    >>> user_quantile(jobs, quantile=0.5, least=2).tolist()
    [nan, nan, 10.0]
    """
    run = workload.effective_run.astype(np.float64)
    return _of_last(workload, run, jobs=jobs, least=least, quantile=quantile)


def _of_last(
    workload: Workload, values: Floats, *, jobs: int, least: int, quantile: float
) -> Floats:
    """A quantile of a value over the user's last ended jobs; jobs without a user know nothing."""
    past: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=jobs))
    found = np.full(len(workload), np.nan)
    user, value = workload.user.tolist(), values.tolist()
    for job, news in news_before(workload):
        for ended in news.tolist():
            past[user[ended]].append(value[ended])
        mine = past[user[job]]
        if user[job] >= 0 and len(mine) >= least:
            # The smallest value that a share of at least ``quantile`` does not exceed.
            at = max(0, int(np.ceil(quantile * len(mine))) - 1)
            found[job] = sorted(mine)[at]
    return found
