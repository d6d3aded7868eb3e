"""Pieces of jobs that change fit together, their sizes are allowed, and their work adds up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.schedule import Schedule
from shadowtime.schedule.check.report import Proof, proved, such, violated
from shadowtime.schedule.runs import row_of
from shadowtime.types import MILLION, UNKNOWN, AnyArray, Ints
from shadowtime.workload.speedup import changing_of

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


class Pieces(NamedTuple):
    """The pieces job by job in time order."""

    row: Ints
    start: Ints
    end: Ints
    stopped: AnyArray
    overhead: Ints
    procs: Ints
    speed: Ints
    work: Ints
    first: AnyArray
    """True for the first piece of each job."""
    last: AnyArray


def pieces_of(schedule: Schedule) -> Pieces:
    """The pieces of a schedule that has some."""
    a = schedule.attempts
    assert a.procs is not None and a.speed is not None
    assert a.work is not None and a.overhead is not None
    found = row_of(schedule, a.job_id)
    order = np.lexsort((a.end, a.start, found))
    order = order[found[order] != UNKNOWN]
    row = found[order]
    first = np.ones(len(row), bool)
    first[1:] = row[1:] != row[:-1]
    of = [each[order] for each in (a.start, a.end, a.overhead, a.procs, a.speed, a.work)]
    start, end, overhead, procs, speed, work = of
    return Pieces(
        row, start, end, a.killed[order] == 1, overhead, procs, speed, work, first,
        np.append(first[1:], True)[: len(row)],
    )  # fmt: skip


def changed(schedule: Schedule) -> AnyArray:
    """Mask of the rows that have pieces."""
    found = np.zeros(len(schedule), bool)
    if schedule.attempts.procs is not None:
        row = row_of(schedule, schedule.attempts.job_id)
        found[row[row != UNKNOWN]] = True
    return found


def pieces_consistent(case: Case, name: str) -> Proof:
    """Pieces follow each other without a gap unless the job was stopped; sizes are allowed."""
    s, p = case.schedule, pieces_of(case.schedule)
    changing = changing_of(case.workload, int(case.capacity[0]))
    before_stopped = np.append(False, p.stopped[:-1])
    begins = p.first | before_stopped
    run = np.maximum.accumulate(np.where(begins, np.arange(len(p.row)), 0))
    following, halted = np.append(p.start[1:], 0), p.speed == 0
    low, high = changing.least[p.row], changing.most[p.row]
    wrong = _first(case, p, (
        (p.end < p.start, "ends before it starts"),
        (~p.last & (p.end > following), "overlaps the next"),
        (~p.last & ~p.stopped & (p.end != following), "ends without a stop and is not continued"),
        (p.last & p.stopped, "was stopped, yet no later one follows"),
        (p.last & (p.end != s.end[p.row]), "is the last and does not end with the job"),
        (p.last & (p.start[run] != s.start[p.row]), "ends a run that is not the schedule's own"),
        (
            ~halted & ((p.procs < low) | (p.procs > high)),
            "has a size beyond the job's bounds",
        ),
        (halted & (p.procs != 0), "is suspended and has processors"),
        (halted & (begins | p.last), "is suspended where a run begins or ends"),
    ))  # fmt: skip
    if wrong:
        return violated(name, wrong)
    lost = np.bincount(p.row[p.stopped], minlength=len(s))
    odd = np.flatnonzero(lost != s.kills)
    if len(odd):
        row = int(odd[0])
        return violated(
            name, f"{case.name(row)} has kills = {s.kills[row]}, and was stopped {lost[row]} times"
        )
    jobs = int(p.first.sum())
    return proved(name, f"{len(p.row)} pieces of {jobs} jobs, {int(p.stopped.sum())} stops")


def pieces_conserve_work(case: Case, name: str) -> Proof:
    """Rate times seconds, less the costs that are due and what stops lose, is each job's work."""
    p = pieces_of(case.schedule)
    changing = changing_of(case.workload, int(case.capacity[0]))
    index, row, halted = np.arange(len(p.row)), p.row, p.speed == 0
    # A suspended job has no processors, and goes on with those that it had at no cost.
    size = p.procs[np.maximum.accumulate(np.where(halted, 0, index))]
    resized = ~p.first & (np.append(False, p.stopped[:-1]) | (size != np.roll(size, 1)))
    began = np.maximum.accumulate(np.where(p.first | resized, index, 0))
    active = np.where(halted, 0, p.end - p.start)
    upto = np.cumsum(active) - active
    cost = np.where(resized, changing.cost[row], 0)[began]
    due = np.clip(cost - (upto - upto[began]), 0, active)
    rate = changing.rates(row, np.maximum(size, 1), np.maximum(p.speed, 1))
    done = rate * (active - p.overhead)
    upto = np.cumsum(p.work) - p.work
    before = upto - upto[np.maximum.accumulate(np.where(p.first, index, 0))]
    needs = MILLION * np.minimum(case.workload.run, case.limit)[row]
    every = np.maximum(MILLION * changing.checkpoint[row], 1)
    safe = np.maximum(0, (before + done) // every * every - before)
    wrong = _first(case, p, (
        (p.overhead != due, "does not begin with the cost of its change"),
        (~p.last & ~p.stopped & (p.work != done), "has other work than its rate gives"),
        (p.stopped & (p.work != safe), "was stopped and keeps other work than is safe then"),
        (~p.last & (before + done >= needs), "goes on though the work is done"),
        (p.last & (before + p.work != needs), "is the last, and the work is not the job's"),
        (
            p.last & ((done < p.work) | (done - p.work >= rate)),
            "does not end when the work is done",
        ),
    ))  # fmt: skip
    if wrong:
        return violated(name, wrong)
    return proved(
        name,
        f"{len(row)} pieces of {int(p.first.sum())} jobs: {int(p.work.sum()) // MILLION} s of "
        f"work at own sizes, {int(p.overhead.sum())} s of changing",
    )


def _first(case: Case, p: Pieces, rules: Iterable[tuple[AnyArray, str]]) -> str:
    """The sentence about the first piece that breaks a rule; empty if none does."""
    for wrong, what in rules:
        found = np.flatnonzero(wrong)
        if len(found):
            k = int(found[0])
            return (
                f"{case.name(int(p.row[k]))}: the piece from {p.start[k]} to {p.end[k]} s on "
                f"{p.procs[k]} processors at speed {p.speed[k]} {what}{such(len(found), 'pieces')}"
            )
    return ""
