"""EASY's own rule, pass by pass: which jobs may overtake, and which must be admitted."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import (
    BY_TIME,
    NO_ATTEMPTS,
    Proof,
    not_proved,
    proved,
    violated,
)
from shadowtime.schedule.runs import running_at, started
from shadowtime.types import UNKNOWN, Ints

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


NAME = "reservation-respected"


def reservation_respected(case: Case) -> Proof | None:
    """The head's reservation is recomputed after every pass at which it stays blocked.

    Rules
    -----
    The reservation is the first moment at which enough is free if all running jobs end by
    their estimates. A job that overtook at this pass must not have moved it. What the head was
    promised is the reservation of the pass at which it was first blocked. Where the policy lets
    in every job that delays nothing, none may be left waiting that fits now and either ends by the
    reservation or takes no more than is spare then.

    References
    ----------
    A. W. Mu'alem and D. G. Feitelson 2001, section 2.
    """
    rule = None if case.rules is None else case.rules.easy
    if rule is None or case.cluster.shape != "pool":
        return None
    if case.lost_are_missing or (case.used > case.capacity).any():
        return not_proved(NAME, "it needs capacity to be proved")
    if case.bounds:
        return not_proved(NAME, BY_TIME)
    if (case.runs.since == case.runs.until).any():
        return not_proved(NAME, "jobs with a run time of 0 s cause several passes at one instant")
    s, estimate = case.schedule, rule.estimate
    seen = np.zeros(len(s), bool)
    passes = 0
    for now, head, running, waiting in _passes(case):
        passes += 1
        since = s.start[running]
        ends = np.maximum(since + estimate[running], now + 1)
        demand, need = case.demand[running], case.demand[head]
        free = case.capacity - demand.sum(axis=0)
        before = ~((since == now) & (running > head))
        planned, _ = _reservation(ends[before], demand[before], free + demand[~before].sum(0), need)
        due, spare = _reservation(ends, demand, free, need)
        planned, due = max(planned, now), max(due, now)
        if due > planned:
            late = running[~before & (ends > planned)]
            return violated(
                NAME,
                f"at {now} s {case.name(int(late[-1]))} overtakes {case.name(head)} and would keep "
                f"it from its reservation at {planned} s",
            )
        if not seen[head] and s.promised is not None and s.promised[head] != planned:
            return violated(
                NAME,
                f"{case.name(head)}, first blocked at {now} s, has promised {s.promised[head]} s, "
                f"and its reservation is at {planned} s",
            )
        seen[head] = True
        if rule.greedy and len(waiting) > 1 and free[0] > 0:  # every job takes a processor
            others = np.array([row for row in waiting if row != head], np.int64)
            fits = (case.demand[others] <= free).all(axis=1)
            harmless = (now + estimate[others] <= due) | (case.demand[others] <= spare).all(axis=1)
            left = others[fits & harmless]
            if len(left):
                return violated(
                    NAME,
                    f"at {now} s {case.name(int(left[0]))} is left waiting, though it fits and "
                    f"would not delay {case.name(head)}, which has its reservation at {due} s",
                )
    return proved(NAME, f"{passes} passes with a blocked head, its reservation respected at each")


def _reservation(ends: Ints, demand: Ints, free: Ints, need: Ints) -> tuple[int, Ints]:
    """(when enough is free, what is spare then); the caller knows what is free now."""
    if (need <= free).all():
        return 0, free - need
    order = np.argsort(ends, kind="stable")
    there = free + np.cumsum(demand[order], axis=0)
    enough = (need <= there).all(axis=1)
    if not enough.any():
        return 1 << 60, free - need
    when = int(ends[order[int(np.argmax(enough))]])
    last = int(np.searchsorted(ends[order], when, side="right")) - 1
    return when, there[last] - need


def _passes(case: Case) -> Iterator[tuple[int, int, Ints, list[int]]]:
    """(now, head, rows running, rows waiting) after every pass at which a job waits."""
    changes: list[tuple[int, int, int, int]] = []
    for kind, spans in ((0, case.runs), (1, case.waits)):
        for row, since, until in zip(
            spans.row.tolist(), spans.since.tolist(), spans.until.tolist(), strict=True
        ):
            if until > since:
                changes += [(since, 1, kind, row), (until, 0, kind, row)]
    changes.sort()
    running: list[int] = []
    waiting: list[int] = []
    k = 0
    for now, head in zip(case.at.tolist(), case.head.tolist(), strict=True):
        while k < len(changes) and changes[k][0] == now:
            _, comes, kind, row = changes[k]
            rows = waiting if kind else running
            if comes:
                insort(rows, row)
            else:
                del rows[bisect_left(rows, row)]
            k += 1
        if head != case.no_job:
            yield now, head, np.array(running, np.int64), waiting


def no_reservation_violation(case: Case) -> Proof:
    """A job that starts after its promise could not have started at it without the later jobs.

    At the promised moment the free processors, together with those of the later jobs that
    started since the job was blocked, must be too few for it: then earlier jobs kept it, which is
    benign. The paper counts only the later jobs that were predicted to be gone by then; a
    schedule does not tell predictions, so all of them count and the proof asks for more.

    References
    ----------
    Yuan et al. 2010, section 3.2, figure 1 (b) and (c), table 2.
    """
    name, s, runs = "no-reservation-violation", case.schedule, case.runs
    if s.promised is None or s.blocked_at is None:
        return not_proved(name, "the schedule lacks the column promised or blocked_at")
    if case.cluster.shape != "pool":
        return not_proved(name, "it is defined on a pool only")
    if case.lost_are_missing:
        return not_proved(name, NO_ATTEMPTS)
    given = started(s) & (s.promised != UNKNOWN) & (s.blocked_at != UNKNOWN)
    late = np.flatnonzero(given & (s.start > s.promised))
    for k, found in running_at(runs, s.promised[late]):
        job = int(late[k])
        blocked, promised = int(s.blocked_at[job]), int(s.promised[job])
        # The state before the pass at the promised moment: jobs that start then do not count.
        there = found[runs.since[found] < promised]
        culprit = (runs.row[there] > job) & (runs.since[there] >= blocked)
        kept = case.demand[runs.row[there[~culprit]]].sum(axis=0)
        if (case.demand[job] <= case.capacity - kept).all():
            later = runs.row[there[culprit]]
            who = f" such as {case.name(int(later.max()))}" if len(later) else ""
            return violated(
                name,
                f"{case.name(job)}, blocked at {blocked} s and promised {promised} s, started at "
                f"{s.start[job]} s: without the later jobs let in meanwhile{who} its "
                f"{case.demand[job, 0]} processors were free at the promised moment",
            )
    return proved(
        name,
        f"{int(given.sum())} promises, {len(late)} missed, none because of jobs let in later",
    )
