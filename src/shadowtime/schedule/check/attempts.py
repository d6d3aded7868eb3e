"""The attempts of preempted jobs fit together and with the schedule, and their work adds up.

What a stopped job keeps of its work is not done again; nothing is done twice but what was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.schedule.check.pieces import pieces_conserve_work, pieces_consistent
from shadowtime.schedule.check.report import Proof, not_proved, proved, such, violated
from shadowtime.schedule.runs import row_of
from shadowtime.types import UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


WORK = "work-conserved"


class Worked(NamedTuple):
    """The attempts of preempted jobs, job by job in time order."""

    row: Ints
    start: Ints
    end: Ints
    stopped: AnyArray
    kept: Ints
    overhead: Ints
    again: AnyArray
    """True for every attempt of a job but its first."""
    before: Ints
    """Work of the job that was safe when the attempt began."""

    @property
    def done(self) -> Ints:
        """Work that the job had done when the attempt ended."""
        done: Ints = self.before + self.end - self.start - self.overhead
        return done


def worked(case: Case) -> Worked:
    """The attempts with their work; where a schedule does not say, all of it was lost."""
    s, attempts = case.schedule, case.schedule.attempts
    found = row_of(s, attempts.job_id)
    order = np.lexsort((attempts.end, attempts.start, found))
    order = order[found[order] != UNKNOWN]
    row, start, end = found[order], attempts.start[order], attempts.end[order]
    stopped = attempts.killed[order] == 1
    none = np.zeros(len(row), np.int64)
    overhead = none if attempts.overhead is None else attempts.overhead[order]
    kept = np.where(stopped, 0, end - start) if attempts.kept is None else attempts.kept[order]
    again = np.zeros(len(row), bool)
    again[1:] = row[1:] == row[:-1]
    return Worked(row, start, end, stopped, kept, overhead, again, attempts.before[order])


def work_conserved(case: Case, *, unfinished: AnyArray | None = None) -> Proof | None:
    """Starting again, work that counts and work that is lost make up every attempt.

    Rules
    -----
    The work that counts adds up to the run, cut at the limit; the last attempt loses nothing, and
    the first costs no start again. Where the policy is known, every later attempt begins with its
    overhead, and a stopped one keeps what was done by its last checkpoint, no more and no less.
    Jobs that are ``unfinished`` (a failure ended them, or they left the queue) have no last attempt
    in this sense.
    """
    attempts, rules = case.schedule.attempts, case.rules
    if attempts.procs is not None:
        return pieces_conserve_work(case, WORK)
    known = attempts.kept is not None and attempts.overhead is not None
    if not known and (rules is None or not rules.changes_runs or len(attempts) == 0):
        return None
    if not known:
        return violated(
            WORK, "the attempts do not say what they kept: give their columns kept and overhead"
        )
    w = worked(case)
    needs = np.minimum(case.workload.run, case.limit)
    for wrong, what in _wrong(case, w, needs, unfinished):
        found = np.flatnonzero(wrong)
        if len(found):
            k = int(found[0])
            return violated(
                WORK,
                f"{case.name(int(w.row[k]))}: the attempt from {w.start[k]} to {w.end[k]} s, with "
                f"{w.overhead[k]} s of starting again and {w.kept[k]} s of work that counts, "
                f"{what}{such(len(found), 'attempts')}",
            )
    lost = int((w.end - w.start - w.kept - w.overhead).sum())
    return proved(
        WORK,
        f"{len(w.row)} attempts of {len(np.unique(w.row))} jobs: {int(w.kept.sum())} s of work, "
        f"{int(w.overhead.sum())} s of starting again, {lost} s lost",
    )


def _wrong(
    case: Case, w: Worked, needs: Ints, unfinished: AnyArray | None
) -> Iterator[tuple[AnyArray, str]]:
    """Which attempts break a rule, and how a sentence about them goes on."""
    length = w.end - w.start
    last = ~np.append(w.again[1:], False)
    if unfinished is not None:
        last &= ~unfinished[w.row]
    total = np.bincount(w.row, weights=w.kept, minlength=len(needs)).astype(np.int64)
    yield (w.kept < 0) | (w.overhead < 0) | (w.kept + w.overhead > length), "is not as long as that"
    yield ~w.again & (w.overhead > 0), "is the first and has nothing to start again"
    yield last & (w.kept + w.overhead != length), "is the last and loses work"
    yield (
        last & (abs(total - needs) > case.slack)[w.row],
        "is the last, and all kept is not the job's run",
    )
    rules = case.rules
    if rules is None or rules.grain:
        return
    due = np.where(w.again, np.minimum(length, rules.restart_s), 0)
    yield w.overhead != due, f"does not start again in {rules.restart_s} s"
    every = rules.save_every
    safe = np.maximum(w.before, w.done // every * every) if every else np.zeros_like(w.before)
    rule = f"every {every} s" if every > 1 else ("at once" if every else "never")
    yield w.stopped & (w.before + w.kept != safe), f"was stopped, and work is saved {rule}"


CONSISTENT = "attempts-consistent"


def attempts_consistent(case: Case) -> Proof:
    """kills = number of preempted attempts; they do not overlap; the last one is the schedule's.

    A preempted attempt had not done all of the job's run: else it would have ended by itself.
    """
    s, attempts = case.schedule, case.schedule.attempts
    if "kills" in s.missing:
        return not_proved(CONSISTENT, "the schedule has no column kills")
    if case.lost_are_missing:
        first, jobs = int(np.argmax(s.kills > 0)), int((s.kills > 0).sum())
        return violated(
            CONSISTENT,
            f"{case.name(first)} has kills = {s.kills[first]}, and no attempts account for that: "
            f"keep the file of attempts beside the schedule{such(jobs, 'jobs')}",
        )
    if case.rules is not None and not case.rules.preempts and (s.kills > 0).any():
        first = int(np.argmax(s.kills > 0))
        return violated(
            CONSISTENT, f"{case.name(first)} was preempted, and {case.rules.policy} never preempts"
        )
    row = row_of(s, attempts.job_id)
    strange = np.flatnonzero(row == UNKNOWN)
    if len(strange):
        return violated(CONSISTENT, f"job {attempts.job_id[strange[0]]} has attempts but no row")
    if attempts.procs is not None:
        return pieces_consistent(case, CONSISTENT)
    lost = np.bincount(row[attempts.killed == 1], minlength=len(s))
    wrong = np.flatnonzero(lost != s.kills)
    if len(wrong):
        first = int(wrong[0])
        return violated(
            CONSISTENT,
            f"{case.name(first)} has kills = {s.kills[first]} and {lost[first]} preempted attempts",
        )
    detail = _first_misfit(case)
    if detail:
        return violated(CONSISTENT, detail)
    jobs = int((s.kills > 0).sum())
    return proved(CONSISTENT, f"{jobs} jobs preempted {int(s.kills.sum())} times")


def _first_misfit(case: Case) -> str:
    """What is wrong with the attempts of some job, taken in time order; empty if nothing."""
    s, attempts = case.schedule, case.schedule.attempts
    if len(attempts) == 0:
        return ""
    w = worked(case)
    row, start, end, lost = w.row, w.start, w.end, w.stopped
    last = ~np.append(w.again[1:], False)
    following = np.append(start[1:], 0)
    needs = np.minimum(case.workload.run, case.limit)
    for wrong, what in (
        (end < start, "ends before it starts"),
        (~last & (end > following), "overlaps the next"),
        (last & lost, "was preempted, yet no later one follows"),
        (~last & ~lost, "ended by itself, yet another follows"),
        (last & ((start != s.start[row]) | (end != s.end[row])), "is not the schedule's own"),
        (
            lost & (w.done - case.slack[row] >= needs[row] + (case.slack[row] > 0)),
            "was preempted when its run was already over",
        ),
    ):
        found = np.flatnonzero(wrong)
        if len(found):
            k = int(found[0])
            return f"{case.name(int(row[k]))}: the attempt from {start[k]} to {end[k]} s {what}"
    return ""
