"""Sunny is absorbing: a job with no job waiting ahead of it runs to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def sunny_absorbing(case: Case) -> Proof:
    """Every preempted attempt was shadow until it was stopped: an earlier job was waiting.

    Once no earlier job waits, none can come back into the queue (only jobs of the shadow are
    preempted, by earlier ones), so a job that has become sunny stays so. It is enough to look at
    the last pass before each preemption: had the job been sunny by then, it would have had to
    stay.

    References
    ----------
    Yuan et al. 2010, section 4.1 (every regular job is sunny for life; shadow turns to sunny).
    """
    name = "sunny-absorbing"
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    lost = case.lost
    if len(lost) == 0:
        return proved(name, "no job was preempted")
    before = np.searchsorted(case.at, lost.until) - 1
    wrong = np.flatnonzero(case.head[np.maximum(before, 0)] > lost.row)
    if len(wrong):
        first = int(wrong[np.argmin(lost.until[wrong])])
        return violated(
            name,
            f"{case.name(int(lost.row[first]))} was preempted at {lost.until[first]} s, though at "
            f"{case.at[before[first]]} s no earlier job was waiting",
        )
    return proved(name, f"{len(lost)} preempted runs, each with an earlier job waiting")
