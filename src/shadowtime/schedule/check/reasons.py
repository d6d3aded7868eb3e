"""The reason of every start, as far as a schedule alone can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.claims import QUEUE_BY_ARRIVAL
from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.schedule.check.case import Case
    from shadowtime.types import AnyArray

NAME = "reasons-consistent"


def reasons_consistent(case: Case) -> Proof:
    """Backfilled jobs overtook a job, heads were never blocked, preempting jobs stopped others.

    Where the policy claims that its queue is ordered by (submit, id), the reason of every start
    and the first moment at which a job was blocked follow from the schedule and are compared.
    """
    s = case.schedule
    stated = started(s) & (s.reason != Reason.RECORDED)
    if not stated.any():
        return not_made(NAME, "the schedule does not say why jobs started")
    if case.lost_are_missing:
        return not_made(NAME, "jobs were preempted, and the file of their attempts is missing")
    in_order = QUEUE_BY_ARRIVAL in case.claims
    for wrong, what in (*_blocked(case), *_overtaking(case, in_order=in_order)):
        rows = np.flatnonzero(stated & wrong)
        if len(rows):
            row = int(rows[np.argmin(s.start[rows])])
            reason = Reason(int(s.reason[row])).label
            blocked = "" if s.blocked_at is None else f" (blocked at {s.blocked_at[row]} s)"
            return violated(
                NAME, f"{case.name(row)} started at {s.start[row]} s as {reason}{blocked} {what}"
            )
    parts = ["the order of the queue"] * (not in_order) + ["blocked_at"] * (s.blocked_at is None)
    limits = f"; not known: {', '.join(parts)}" if parts else ""
    counts = ", ".join(
        f"{int((s.reason[stated] == reason).sum())} {reason.label}" for reason in list(Reason)[1:]
    )
    return proved(NAME, f"{counts}{limits}")


def _blocked(case: Case) -> Iterator[tuple[AnyArray, str]]:
    """What the column blocked_at must agree with."""
    s = case.schedule
    if s.blocked_at is None:
        return
    ever = s.blocked_at != UNKNOWN
    yield (s.reason == Reason.HEAD) & ever, "although it had been held up"
    yield (s.reason == Reason.RESERVED) & ~ever, "although it was never held up"
    yield ever & (s.blocked_at >= s.start), "but was held up only then or later"
    yield ever & (s.blocked_at < case.workload.submit), "but was held up before its submission"


def _overtaking(case: Case, *, in_order: bool) -> Iterator[tuple[AnyArray, str]]:
    """What the jobs that go on waiting, and those that were stopped, say about a start."""
    s, rows = case.schedule, np.arange(len(case.schedule))
    if len(case.at) == 0:
        return
    head = case.head[case.place_in_time(s.start)]
    backfilled = s.reason == Reason.BACKFILLED
    yield backfilled & (head == case.no_job), "while no job was waiting"
    killing = s.reason == Reason.PREEMPTING
    yield killing & ~np.isin(s.start, case.lost.until), "but no job was stopped then"
    if not in_order:
        return
    yield backfilled & (head > rows), "while no earlier job was waiting"
    yield ~backfilled & (head < rows), "while an earlier job was waiting"
    if s.blocked_at is not None:
        yield s.blocked_at != _first_blocked(case), "which is not when it first stood blocked"


def _first_blocked(case: Case) -> AnyArray:
    """The first instant at which each job was first in the queue, -1 where it never was."""
    first = np.full(case.no_job + 1, UNKNOWN, np.int64)
    # Written from the last instant backwards, the first one stays.
    first[case.head[::-1]] = case.at[::-1]
    return first[:-1]
