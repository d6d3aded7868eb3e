"""Each job exactly once, and the same job as in the trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_proved, proved, such, violated
from shadowtime.schedule.match import Match, take
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN, Ints, Reason
from shadowtime.workload.follows import as_submitted, follows_some, submissions

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def each_job_once(case: Case) -> Proof:
    """Every job of the trace has one row with a start, and no row is of another job."""
    name, match = "each-job-once", case.match
    for ids, what in (
        (match.missing, "of the trace is not in the schedule"),
        (match.unknown, "is not in the trace"),
        (match.repeated, "has more than one row"),
    ):
        if len(ids):
            return violated(name, f"job {ids[0]} {what}{such(len(ids), 'jobs')}")
    s, ran = case.schedule, started(case.schedule)
    idle = np.flatnonzero(~ran)
    known = (s.reason[idle] == Reason.RECORDED) | (s.unstarted[idle] & (s.start[idle] == UNKNOWN))
    if len(idle) and not known.all():
        row = int(idle[np.argmin(known)])
        start, end = s.start[row], s.end[row]
        return violated(name, f"{case.name(row)} never ran: its start is {start} and its end {end}")
    both = np.flatnonzero(ran & s.unstarted)
    if len(both):
        row = int(both[0])
        return violated(
            name, f"{case.name(row)} started at {s.start[row]} s, but its reason is unstarted"
        )
    never = np.flatnonzero(s.unstarted)
    if len(never):
        first = case.name(int(never[0]))
        return not_proved(
            name, f"{len(never)} of {len(s)} jobs never started, the first is {first}"
        )
    if len(idle):
        first = case.name(int(idle[0]))
        return not_proved(name, f"{len(idle)} jobs have no recorded start, the first is {first}")
    return proved(name, f"{len(case.workload)} jobs, each with one row")


def agrees_with_trace(case: Case) -> Proof:
    """Submit time and processors of every row are the trace's."""
    name = "agrees-with-trace"
    for column, unit in (("submit", "s"), ("procs", "processors")):
        says, true = getattr(case.schedule, column), getattr(case.workload, column)
        wrong = np.flatnonzero(says != true)
        if len(wrong):
            row = int(wrong[0])
            return violated(
                name,
                f"{case.name(row)} has {column} {says[row]} {unit} in the schedule and "
                f"{true[row]} in the trace{such(len(wrong), 'jobs')}",
            )
    return proved(name, "submit times and processors are those of the trace")


def not_before_submit(case: Case) -> Proof:
    """No run, lost ones included, begins before its job was submitted."""
    name, runs = "not-before-submit", case.runs
    early = np.flatnonzero(runs.since < case.workload.submit[runs.row])
    if len(early):
        first = early[np.argmin(runs.since[early])]
        row = int(runs.row[first])
        return violated(
            name,
            f"{case.name(row)} starts at {runs.since[first]} s, before its submission at "
            f"{case.workload.submit[row]} s{such(len(early), 'starts')}",
        )
    return proved(name, f"{len(runs)} starts, none before its job was submitted")


def after_others(found: Match) -> tuple[Match, Ints, Proof]:
    """No job starts before those that it follows have ended and its user has thought.

    Also the case in which every job was submitted just then, and its rows: what is left to prove.
    """
    name, jobs, s = "after-others", found.workload, found.schedule
    ran = started(s)
    due = np.where(ran, submissions(jobs, s), s.submit)
    settled, rows = as_submitted(jobs, due)
    match = replace(found, workload=settled, schedule=take(s, rows))
    early, other = np.flatnonzero(ran & (s.start < due)), np.flatnonzero(s.submit != due)
    if len(early):
        row = int(early[np.argmin(s.start[early])])
        why = (
            f"job {jobs.job_id[row]} starts at {s.start[row]} s, but those that it follows let it "
            f"come at {due[row]} s{such(len(early), 'jobs')}"
        )
        return match, rows, violated(name, why)
    if len(other):
        row = int(other[0])
        why = (
            f"job {jobs.job_id[row]} has submit {s.submit[row]} s in the schedule, but those that "
            f"it follows let it come at {due[row]} s{such(len(other), 'jobs')}"
        )
        return match, rows, violated(name, why)
    count = int(follows_some(jobs).sum())
    return match, rows, proved(name, f"{count} jobs, each submitted when those it follows ended")
