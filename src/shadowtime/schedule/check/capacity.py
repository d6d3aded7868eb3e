"""No resource of the whole machine is used beyond what there is, at any instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def whole_machine(case: Case) -> Proof:
    """Capacity of every resource of the whole machine at every instant, lost runs counted."""
    name = "capacity"
    over = (case.used > case.capacity).any(axis=1)
    if over.any():
        return violated(name, _excess(case, int(np.argmax(over))))
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    peak = case.used.max(axis=0, initial=0)
    parts = [
        f"{most} of {there} {resource}"
        for most, there, resource in zip(peak, case.capacity, case.cluster.resources, strict=True)
        if resource not in case.silent
    ]
    silent = "".join(f"; the trace says nothing of {resource}" for resource in case.silent)
    return proved(name, f"at {len(case.at)} instants at most {', '.join(parts)} in use{silent}")


def _excess(case: Case, instant: int) -> str:
    """The sentence about the first instant with too much in use."""
    used, capacity = case.used[instant], case.capacity
    k = int(np.argmax(used > capacity))
    now = case.at[instant]
    there = np.flatnonzero((case.runs.since <= now) & (now < case.runs.until))
    # The last to start is the one that did not fit; among equals the last in order.
    last = there[np.lexsort((case.runs.row[there], case.runs.since[there]))[-1]]
    row = int(case.runs.row[last])
    resource = case.cluster.resources[k]
    return (
        f"at {now} s {used[k]} of {capacity[k]} {resource} are in use: {case.name(row)}, "
        f"started at {case.runs.since[last]} s, takes {case.demand[row, k]}"
    )
