"""Every job ran on a host that its class may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.capacity import entries_of
from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "class-eligible"


def class_eligible(case: Case) -> Proof | None:
    """The host of every job is one of its class; nothing to say of policies without classes.

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 4.
    """
    classes = None if case.rules is None else case.rules.classes
    if classes is None:
        return None
    if case.schedule.place is None:
        return not_made(NAME, "the schedule has no column place")
    entries = entries_of(case)
    known = entries.host != UNKNOWN
    row, host = entries.row[known], entries.host[known]
    wrong = np.flatnonzero(~classes.allowed[classes.kind[row], host])
    if len(wrong):
        first = int(wrong[0])
        job, where = int(row[first]), case.cluster.hosts[int(host[first])].name
        return violated(
            NAME,
            f"{case.name(job)} ran on {where}, where {classes.names[int(classes.kind[job])]} jobs "
            f"may not run{such(len(wrong), 'jobs')}",
        )
    return proved(NAME, f"{len(row)} jobs, each on a host of its class")
