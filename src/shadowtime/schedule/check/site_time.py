"""When each job ran: outages, reservations, begin times, cancellations, dependencies, throttles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, proved, violated
from shadowtime.types import NO_LIMIT

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase

FAILED, CANCELLED = 0, 5


def no_outage(case: SiteCase) -> Proof:
    """No job starts on a node that is out, and none runs past a failure."""
    name, s = "site-outages", case.case.schedule
    row, node, _ = case.entries
    for one in case.site.outages:
        begin = case.clock(one.begin)
        end = NO_LIMIT if one.end >= NO_LIMIT else case.clock(one.end)
        here = row[node == case.shapes.index.get(one.node, -1)]
        inside = (s.start[here] >= begin) & (s.start[here] < end)
        through = (s.start[here] < begin) & (s.end[here] > begin) & (not one.drain)
        for mask, what in ((inside, "started"), (through, "ran on")):
            if mask.any():
                job = int(here[mask][0])
                return violated(
                    name,
                    f"{case.case.name(job)} {what} on node {one.node}, which was out from {begin} "
                    f"to {'ever' if end >= NO_LIMIT else f'{end} s'}",
                )
    return proved(name, f"{len(case.site.outages)} outages, no job started during one")


def in_reservations(case: SiteCase) -> Proof:
    """A job that names a reservation runs inside it; others start on none of its nodes then."""
    name, s = "site-reservations", case.case.schedule
    row, node, _ = case.entries
    named = {one.name: one for one in case.site.reservations}
    for one in case.site.reservations:
        members = {case.shapes.index[n] for n in one.nodes if n in case.shapes.index}
        begin, end = case.clock(one.begin), case.clock(one.end)
        there = np.isin(node, list(members)) & (s.start[row] >= begin) & (s.start[row] < end)
        for job in row[there].tolist():
            if case.request(job).reservation != one.name:
                return violated(
                    name,
                    f"{case.case.name(job)} started at {s.start[job]} s on a node of reservation "
                    f"{one.name}, which it does not name",
                )
    for job in sorted(set(row.tolist())):
        asked = case.request(job)
        if not asked.reservation:
            continue
        one = named[asked.reservation]
        begin, end = case.clock(one.begin), case.clock(one.end)
        if not begin <= s.start[job] < end:
            return violated(
                name,
                f"{case.case.name(job)} started at {s.start[job]} s, outside its reservation "
                f"{one.name} ({begin} to {end} s)",
            )
        closed = bool(one.users or one.accounts)
        if closed and case.user(job) not in one.users and asked.account not in one.accounts:
            return violated(name, f"{case.case.name(job)} may not use its reservation {one.name}")
    return proved(name, f"{len(case.site.reservations)} reservations kept")


def eligible(case: SiteCase) -> Proof:
    """No job starts before its begin time, or from when it was cancelled in the queue."""
    name, s, asked = "site-eligible", case.case.schedule, case.requests
    runs = case.case.runs
    early = np.flatnonzero(runs.since < asked.begin[runs.row])
    if len(early):
        row = int(runs.row[early[0]])
        return violated(
            name,
            f"{case.case.name(row)} started at {s.start[row]} s, before its begin time "
            f"{asked.begin[row]} s",
        )
    gone = (asked.cancel_at >= 0) & case.ran & (s.kills == 0) & (s.start >= asked.cancel_at)
    if gone.any():
        row = int(np.flatnonzero(gone)[0])
        return violated(
            name,
            f"{case.case.name(row)} started at {s.start[row]} s, after it was cancelled at "
            f"{asked.cancel_at[row]} s",
        )
    return proved(name, f"{len(runs)} starts, each of a job that was eligible")


def after_others(case: SiteCase) -> Proof:
    """Every dependency was met when the job started."""
    name, s, w = "site-dependencies", case.case.schedule, case.workload
    rows = {number: i for i, number in enumerate(w.job_id.tolist())}
    one_of: dict[int, list[bool]] = {}
    why: dict[int, str] = {}
    for one in case.requests.dependencies:
        if not case.ran[one.job]:
            continue
        others = [rows[number] for number in one.on if number in rows]
        if one.kind == "singleton":
            same = (w.user == w.user[one.job]) & (w.executable == w.executable[one.job])
            others = np.flatnonzero(same[: one.job]).tolist()
        bad = [other for other in others if not _met(case, one.kind, one.job, other)]
        if bad:
            why[one.job] = (
                f"{case.case.name(one.job)} started at {s.start[one.job]} s, but its dependency "
                f"{one.kind} on {case.case.name(bad[0])} was not met then"
            )
        if one.any_of:
            one_of.setdefault(one.job, []).append(not bad)
        elif bad:
            return violated(name, why[one.job])
    for job, verdicts in one_of.items():
        if not any(verdicts):
            return violated(name, why[job])
    return proved(name, f"{len(case.requests.dependencies)} dependencies met")


def _met(case: SiteCase, kind: str, job: int, other: int) -> bool:
    s, w = case.case.schedule, case.workload
    start = s.start[job]
    if not case.ran[other]:  # gone, if it is: then it went unstarted
        cancelled = case.requests.cancel_at[other]
        gone = 0 <= cancelled <= start
        return bool(gone and kind not in ("afterok", "aftercorr"))
    if kind == "after":
        began = s.start[other]
        attempts = s.attempts
        mine = attempts.start[attempts.job_id == w.job_id[other]]
        return bool(min([began, *mine.tolist()]) <= start)
    if s.end[other] > start:
        return False
    stopped = s.end[other] - s.start[other] < min(w.run[other], w.limit[other])
    well = (
        not stopped
        and w.run[other] <= w.limit[other]
        and int(w.status[other]) not in (FAILED, CANCELLED)
    )
    if kind in ("afterok", "aftercorr"):
        return bool(well)
    return kind != "afternotok" or not well


def throttled(case: SiteCase) -> Proof:
    """No array runs more tasks at once than its throttle."""
    name, asked = "site-throttles", case.requests
    runs = case.case.runs
    bound = (asked.array >= 0) & (asked.throttle > 0)
    count = 0
    for array in np.unique(asked.array[bound]).tolist():
        count += 1
        mine = np.flatnonzero((asked.array[runs.row] == array) & (runs.until > runs.since))
        most = int(asked.throttle[asked.array == array].max())
        time = np.concatenate([runs.since[mine], runs.until[mine]])
        sign = np.concatenate([np.ones(len(mine)), -np.ones(len(mine))])
        order = np.lexsort((sign, time))
        level = np.cumsum(sign[order])
        over = np.flatnonzero(level > most)
        if len(over):
            return violated(
                name,
                f"at {time[order][over[0]]} s {int(level[over[0]])} tasks of array {array} run, "
                f"more than its throttle of {most}",
            )
    return proved(name, f"{count} arrays within their throttles")
