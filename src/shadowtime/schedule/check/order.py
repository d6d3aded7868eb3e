"""Claims about the order of starts and about promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def promises_kept(case: Case) -> Proof:
    """No job starts later than it was first promised."""
    name, s = "promises-kept", case.schedule
    if s.promised is None:
        return not_made(name, "the schedule has no column promised")
    given = started(s) & (s.promised != UNKNOWN)
    late = np.flatnonzero(given & (s.start > s.promised))
    if len(late):
        row = int(late[0])
        return violated(
            name,
            f"{case.name(row)} was promised {s.promised[row]} s and started at {s.start[row]} s "
            f"({len(late)} of {int(given.sum())} promises broken)",
        )
    return proved(name, f"{int(given.sum())} promises, all kept")


def arrival_order(case: Case) -> Proof:
    """Starts follow (submit, id)."""
    name, s = "arrival-order", case.schedule
    rows = np.flatnonzero(started(s))
    start = s.start[rows]
    sooner = np.flatnonzero(start[1:] < start[:-1])
    if len(sooner):
        first, second = int(rows[sooner[0]]), int(rows[sooner[0] + 1])
        return violated(
            name,
            f"{case.name(second)} starts at {s.start[second]} s, before {case.name(first)}, which "
            f"is ahead of it and starts at {s.start[first]} s",
        )
    return proved(name, f"{len(rows)} starts in the order of submission")


def head_never_idle(case: Case) -> Proof:
    """At no instant does the first waiting job by (submit, id) fit in what is free."""
    name = "head-never-idle"
    if case.cluster.shape != "pool":
        return not_made(name, "it is proved on a pool only")
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    at = np.flatnonzero(case.blocked)
    head = case.head[at]
    free = case.capacity - case.used[at]
    fits = np.flatnonzero((case.demand[head] <= free).all(axis=1))
    if len(fits):
        k = int(fits[0])
        row = int(head[k])
        return violated(
            name,
            f"at {case.at[at[k]]} s {case.name(row)} waits first in line for "
            f"{case.demand[row, 0]} processors while {free[k, 0]} are free",
        )
    return proved(name, f"{len(at)} instants with a queue, its first job never fits")


NAME = "starts-at-events"


def starts_at_events(case: Case) -> Proof | None:
    """Every start is at a moment at which a job is submitted or a run ends.

    Policies decide only then, unless they keep promises for good or correct predictions as time
    goes by: of those there is nothing to say.
    """
    if case.rules is None or not case.rules.starts_at_events:
        return None
    if case.lost_are_missing:
        return not_made(NAME, "jobs were preempted, and the file of their attempts is missing")
    runs = case.runs
    known = np.isin(runs.since, np.concatenate([case.workload.submit, runs.until]))
    wrong = np.flatnonzero(~known)
    if len(wrong):
        first = wrong[np.argmin(runs.since[wrong])]
        return violated(
            NAME,
            f"{case.name(int(runs.row[first]))} starts at {runs.since[first]} s, when no job was "
            f"submitted and none ended{such(len(wrong), 'starts')}",
        )
    return proved(NAME, f"{len(runs)} starts, each at a submission or an end")
