"""The order of starts: their reasons, promises, and strict fairness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import (
    BY_TIME,
    NO_ATTEMPTS,
    Proof,
    not_proved,
    proved,
    such,
    violated,
)
from shadowtime.schedule.check.rules import QUEUE_BY_ARRIVAL
from shadowtime.schedule.runs import started
from shadowtime.schedule.timeline import totals_between
from shadowtime.types import UNKNOWN, AnyArray, Ints, Reason
from shadowtime.workload.site_requests import cancelled_at

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def promises_kept(case: Case) -> Proof:
    """No job starts later than it was first promised, or never."""
    name, s = "promises-kept", case.schedule
    if s.promised is None:
        return not_proved(name, "the schedule has no column promised")
    gone = cancelled_at(case.workload)
    never = s.unstarted & ((gone < 0) | (s.promised < gone))
    given = (started(s) | never) & (s.promised != UNKNOWN)
    late = np.flatnonzero(given & (never | (s.start > s.promised)))
    if len(late):
        row = int(late[0])
        did = "never started" if never[row] else f"started at {s.start[row]} s"
        return violated(
            name,
            f"{case.name(row)} was promised {s.promised[row]} s and {did} "
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
        return not_proved(name, "it can be proved on a pool only")
    if case.lost_are_missing:
        return not_proved(name, NO_ATTEMPTS)
    if case.bounds:
        return not_proved(name, BY_TIME)
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


AT_EVENTS = "starts-at-events"


def starts_at_events(case: Case) -> Proof | None:
    """Every start is at a moment at which a job is submitted or a run ends.

    Policies decide only then, unless they keep promises for good or correct predictions as time
    goes by: of those there is nothing to say.
    """
    if case.rules is None or not case.rules.starts_at_events:
        return None
    if case.lost_are_missing:
        return not_proved(AT_EVENTS, NO_ATTEMPTS)
    runs = case.runs
    changes = [one.time for one in case.bounds.values()]
    known = np.isin(runs.since, np.concatenate([case.workload.submit, runs.until, *changes]))
    wrong = np.flatnonzero(~known)
    if len(wrong):
        first = wrong[np.argmin(runs.since[wrong])]
        return violated(
            AT_EVENTS,
            f"{case.name(int(runs.row[first]))} starts at {runs.since[first]} s, when no job was "
            f"submitted and none ended{such(len(wrong), 'starts')}",
        )
    return proved(AT_EVENTS, f"{len(runs)} starts, each at a submission or an end")


def strictly_fair(case: Case) -> Proof:
    """After every pass, free and shadow processors together are less than the head needs.

    The head is the first waiting job by (submit, id). A running job is shadow while the head
    came before it, sunny otherwise. With several resources the head must be short of at least
    one of them even if every shadow job were gone. A sunny job that is preempted and goes back
    into the queue was delayed by later jobs too, which is a violation in itself.

    References
    ----------
    Yuan et al. 2010, sections 3.1 and 4.2.
    """
    name = "strictly-fair"
    if case.cluster.shape != "pool":
        return not_proved(name, "it is defined on a pool only")
    if case.bounds:
        return not_proved(name, BY_TIME)
    if case.lost_are_missing:
        return not_proved(name, NO_ATTEMPTS)
    back = going_back(case)
    if back:
        return violated(name, back)
    at = np.flatnonzero(case.blocked)
    head = case.head[at]
    left = case.capacity - sunny(case)[at]
    unfair = np.flatnonzero((case.demand[head] <= left).all(axis=1))
    if len(unfair):
        k, row = int(unfair[0]), int(head[unfair[0]])
        free = case.capacity - case.used[at[k]]
        return violated(
            name,
            f"at {case.at[at[k]]} s {case.name(row)} waits for {case.demand[row, 0]} processors "
            f"with {free[0]} free and {left[k, 0] - free[0]} held by later jobs"
            f"{_such_as(case, int(case.at[at[k]]), row)}{such(len(unfair), 'instants')}",
        )
    return proved(name, f"{len(at)} instants with a queue, none unfair to its first job")


def filled_head(case: Case) -> Ints:
    """The head at each instant; where the queue is empty, the next job to be submitted."""
    submitted = np.searchsorted(case.workload.submit, case.at, side="right")
    return np.where(case.blocked, case.head, submitted)


def going_back(case: Case) -> str:
    """The first instant at which the head gives way to an earlier job, as a sentence; or nothing.

    Jobs come in order, so an earlier job can only come back from running: it was preempted
    though no job ahead of it was waiting.
    """
    head = filled_head(case)
    drop = np.flatnonzero(head[1:] < head[:-1])
    if len(drop) == 0:
        return ""
    k = int(drop[0])
    return (
        f"at {case.at[k + 1]} s {case.name(int(head[k + 1]))} is back in the queue, though at "
        f"{case.at[k]} s it was running and no earlier job was waiting"
    )


def sunny(case: Case) -> Ints:
    """What the jobs ahead of the head hold at each instant (where the queue is empty: all jobs).

    The head never gives way to an earlier job (checked before), so a run is sunny from the
    first instant at which the head is behind it until it ends.
    """
    head, runs = filled_head(case), case.runs
    since = np.searchsorted(head, runs.row, side="right")
    first = np.maximum(np.searchsorted(case.at, runs.since), since)
    last = np.searchsorted(case.at, runs.until)
    lit = first < last
    return totals_between(len(case.at), first[lit], last[lit], case.demand[runs.row[lit]])


def _such_as(case: Case, now: int, head: int) -> str:
    runs = case.runs
    shadow = runs.row[(runs.since <= now) & (now < runs.until) & (runs.row > head)]
    return f", such as {case.name(int(shadow.max()))}" if len(shadow) else ""


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
        return not_proved(name, NO_ATTEMPTS)
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


REASONS = "reasons-consistent"


def reasons_consistent(case: Case) -> Proof:
    """Backfilled jobs overtook a job, heads were never blocked, preempting jobs stopped others.

    Where the policy claims that its queue is ordered by (submit, id), the reason of every start
    and the first moment at which a job was blocked follow from the schedule and are compared.
    """
    s = case.schedule
    stated = started(s) & (s.reason != Reason.RECORDED)
    if not stated.any():
        return not_proved(REASONS, "the schedule has no column reason")
    if case.lost_are_missing:
        return not_proved(REASONS, NO_ATTEMPTS)
    in_order = QUEUE_BY_ARRIVAL in case.claims
    for wrong, what in (*_blocked(case), *_overtaking(case, in_order=in_order)):
        rows = np.flatnonzero(stated & wrong)
        if len(rows):
            row = int(rows[np.argmin(s.start[rows])])
            reason = Reason(int(s.reason[row])).label
            blocked = "" if s.blocked_at is None else f" (blocked at {s.blocked_at[row]} s)"
            return violated(
                REASONS, f"{case.name(row)} started at {s.start[row]} s as {reason}{blocked} {what}"
            )
    parts = ["the order of the queue"] * (not in_order) + ["blocked_at"] * (s.blocked_at is None)
    limits = f"; not known: {', '.join(parts)}" if parts else ""
    counts = ", ".join(
        f"{int((s.reason[stated] == reason).sum())} {reason.label}" for reason in list(Reason)[1:-1]
    )
    return proved(REASONS, f"{counts}{limits}")


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
