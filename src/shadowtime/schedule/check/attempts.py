"""The attempts of preempted jobs fit together and with the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated
from shadowtime.schedule.check.work import worked
from shadowtime.schedule.runs import row_of
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "attempts-consistent"


def attempts_consistent(case: Case) -> Proof:
    """kills = number of preempted attempts; they do not overlap; the last one is the schedule's.

    A preempted attempt had not done all of the job's run: else it would have ended by itself.
    """
    s, attempts = case.schedule, case.schedule.attempts
    if "kills" in s.missing:
        return not_made(NAME, "the schedule has no column kills")
    if case.lost_are_missing:
        first, jobs = int(np.argmax(s.kills > 0)), int((s.kills > 0).sum())
        return violated(
            NAME,
            f"{case.name(first)} has kills = {s.kills[first]}, and no attempts account for that: "
            f"keep the file of attempts beside the schedule{such(jobs, 'jobs')}",
        )
    if case.rules is not None and not case.rules.preempts and (s.kills > 0).any():
        first = int(np.argmax(s.kills > 0))
        return violated(
            NAME, f"{case.name(first)} was preempted, and {case.rules.policy} never preempts"
        )
    row = row_of(s, attempts.job_id)
    strange = np.flatnonzero(row == UNKNOWN)
    if len(strange):
        return violated(NAME, f"job {attempts.job_id[strange[0]]} has attempts but no row")
    lost = np.bincount(row[attempts.killed == 1], minlength=len(s))
    wrong = np.flatnonzero(lost != s.kills)
    if len(wrong):
        first = int(wrong[0])
        return violated(
            NAME,
            f"{case.name(first)} has kills = {s.kills[first]} and {lost[first]} preempted attempts",
        )
    detail = _first_misfit(case)
    if detail:
        return violated(NAME, detail)
    jobs = int((s.kills > 0).sum())
    return proved(NAME, f"{jobs} jobs preempted {int(s.kills.sum())} times")


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
