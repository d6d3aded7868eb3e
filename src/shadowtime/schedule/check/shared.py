"""On no node do the running jobs ask for more of a shared resource than it has (LessC)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import contention_of
from shadowtime.schedule.check.claims import WITHIN_SHARED
from shadowtime.schedule.check.hosts import entries_of
from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.timeline import instants, totals
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def within_shared(case: Case) -> Proof:
    """Processes times what each draws, node by node and at every instant."""
    name = WITHIN_SHARED
    shared = contention_of(case.cluster) if case.cluster.shape == "nodes" else None
    if shared is None:
        return not_made(name, "the nodes share nothing")
    if case.schedule.place is None:
        return not_made(name, "the schedule has no column place")
    entries = entries_of(case)
    if len(entries.row) == 0 or (entries.host == UNKNOWN).any():
        return not_made(name, "no places to go by")
    start, end = case.schedule.start[entries.row], case.schedule.end[entries.row]
    length = int(end.max()) + 1
    since, until = entries.host * length + start, entries.host * length + end
    at = instants(since, until)
    for resource, capacity in shared.capacity.items():
        if resource not in case.workload.extra:
            return not_made(name, f"the trace does not say how much {resource} is drawn")
        drawn = np.asarray(case.workload.extra[resource], np.int64)
        if (drawn == UNKNOWN).any():
            return not_made(name, f"the {resource} of some jobs is not known")
        level = totals(at, since, until, entries.procs * drawn[entries.row])
        wrong = np.flatnonzero(level > capacity)
        if len(wrong):
            k = int(wrong[np.argmin(at[wrong] % length)])
            node = case.cluster.hosts[int(at[k] // length)].name
            return violated(
                name,
                f"at {at[k] % length} s the jobs on {node} ask for {level[k]} of {capacity} "
                f"{resource}",
            )
    return proved(name, f"{len(case.cluster.hosts)} nodes, demand never above capacity")
