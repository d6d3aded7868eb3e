"""Predictions from the most similar jobs that had ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.predict.history import news_before

if TYPE_CHECKING:
    from shadowtime.types import Floats
    from shadowtime.workload import Workload

OTHER_USER, OTHER_PROGRAM = 4.0, 2.0
"""What another user or another executable adds: as much as 16 and 4 times the size."""


def nearest(workload: Workload, *, k: int = 5, window: int = 2_000) -> Floats:
    """The mean run time of the ``k`` nearest of the last ``window`` ended jobs; nan before k ended.

    Rules
    -----
    The distance is |log2 of the requests' ratio| + |log2 of the processors' ratio|, plus
    OTHER_USER and OTHER_PROGRAM where these differ. Of equally near ones the last that ended count.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 0, 50], run=[10, 30, 5], request=[60, 60, 60], procs=[1, 8, 2], user=[7] * 3)
    >>> nearest(jobs, k=1).tolist()
    [nan, nan, 10.0]
    """
    size = np.log2(np.maximum(workload.request, 1)), np.log2(workload.procs)
    run = workload.effective_run.astype(np.float64)
    found = np.full(len(workload), np.nan)
    past = np.empty(0, np.int64)
    for job, news in news_before(workload):
        if len(news):
            past = np.concatenate([past, news])[-window:]
        if len(past) < k:
            continue
        distance = (
            np.abs(size[0][past] - size[0][job])
            + np.abs(size[1][past] - size[1][job])
            + OTHER_USER * (workload.user[past] != workload.user[job])
            + OTHER_PROGRAM * (workload.executable[past] != workload.executable[job])
        )
        # Backwards and stable: the last that ended comes first among equals.
        order = np.argsort(distance[::-1], kind="stable")[:k]
        found[job] = run[past[::-1][order]].mean()
    return found
