"""Every proof about a schedule on a site.

Here: when each job ran (outages, reservations, begin times, cancellations, dependencies, throttles)
and the limits of QOS and accounts. Where each job ran is in site_nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import kind_of
from shadowtime.cluster.limits import NODES, Bucket, bounded_shape, buckets_of, job_allowed
from shadowtime.cluster.site import Site
from shadowtime.schedule.check import site_nodes
from shadowtime.schedule.check.attempts import attempts_consistent, work_conserved
from shadowtime.schedule.check.identity import agrees_with_trace, each_job_once, not_before_submit
from shadowtime.schedule.check.limits import limits_kept
from shadowtime.schedule.check.report import Proof, not_proved, proved, violated
from shadowtime.schedule.check.site_case import SiteCase
from shadowtime.types import NO_LIMIT, AnyArray
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


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
        when = int(s.start[one.job])
        bad = [other for other in others if not dependency_met(case, one.kind, when, other)]
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


def dependency_met(case: SiteCase, kind: str, start: int, other: int) -> bool:
    """True if another job has done what a kind of dependency asks by an instant."""
    s, w = case.case.schedule, case.workload
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


WITHIN_LIMITS = "site-limits"


def within_limits(case: SiteCase) -> Proof:
    """No bound on running jobs, resources in use, or a job alone is passed.

    A job that may have run in one of several partitions, whose limits differ, is left out.
    Time bounds that add up over the run (minutes, wall) are not looked at here.
    """
    site = case.site
    if "limits" not in site.enforce and not site.amounts:
        return not_proved(WITHIN_LIMITS, "the site enforces no limits")
    rows = np.flatnonzero(case.ran).tolist()
    shared: dict[Bucket, list[int]] = {}
    enforced = "limits" in site.enforce
    for row in rows:
        shape = case.shape(row)
        if shape is None:
            continue
        request, partition = case.request(row), case.shapes.partitions[case.partition[row]]
        seconds = max(1, int(case.workload.request[row]))
        if not job_allowed(site, request, partition, shape, seconds, case.user(row)):
            return violated(
                WITHIN_LIMITS, f"{case.case.name(row)} ran, though a bound on each job forbids"
            )
        bounded = bounded_shape(site, request, partition, shape, case.user(row))
        on_a_node = [node for _, node in case.amounts(row)]
        if not shape.exclusive and (
            bounded is None or any(node[0] > bounded.cpus(bounded.per_node) for node in on_a_node)
        ):
            return violated(
                WITHIN_LIMITS, f"{case.case.name(row)} has more on a node than a bound allows"
            )
        if enforced and not case.may_have_been_elsewhere(row):
            for bucket in buckets_of(site, request, partition, case.user(row)):
                shared.setdefault(bucket, []).append(row)
    used = _used(case)
    for bucket, members in shared.items():
        detail = _passed(case, bucket, members, used)
        if detail:
            return violated(WITHIN_LIMITS, detail)
    for name, most in site.amounts.items():
        weight = {row: dict(case.request(row).amounts).get(name, 0) for row in rows}
        at = _first_over(case, rows, weight, most)
        if at is not None:
            title, bound = kind_of(name).title(name), kind_of(name).count(str(most))
            return violated(WITHIN_LIMITS, f"at {at} s more of {title} is in use than {bound}")
    counted = f" and {len(site.amounts)} amounts of the site" if site.amounts else ""
    return proved(WITHIN_LIMITS, f"{len(shared)} sets of limits{counted}, none passed")


def _used(case: SiteCase) -> dict[int, dict[str, int]]:
    """What every job was allocated in all, by name."""
    found: dict[int, dict[str, int]] = {}
    for row in np.flatnonzero(case.ran).tolist():
        amounts = case.amounts(row)
        totals = [sum(column) for column in zip(*(taken for _, taken in amounts), strict=True)]
        found[row] = dict(zip(case.site.resources, totals, strict=False)) | {NODES: len(amounts)}
    return found


def _passed(
    case: SiteCase, bucket: Bucket, members: list[int], used: dict[int, dict[str, int]]
) -> str:
    who = " ".join(word for word in bucket.who if word)
    if bucket.jobs is not None:
        at = _first_over(case, members, dict.fromkeys(members, 1), bucket.jobs)
        if at is not None:
            return f"at {at} s more than {bucket.jobs} jobs of {who} run"
    for name, most in bucket.amounts:
        weight = {row: used[row].get(name, 0) for row in members}
        at = _first_over(case, members, weight, most)
        if at is not None:
            return f"at {at} s more than {most} {name} of {who} are in use"
    return ""


def _first_over(
    case: SiteCase, members: list[int], weight: dict[int, int], most: int
) -> int | None:
    """The first instant at which the members' weights add up to more than a bound."""
    s = case.case.schedule
    changes = sorted(
        change
        for row in members
        if s.end[row] > s.start[row]
        for change in (
            (int(s.start[row]), 1, weight[row]),
            (int(s.end[row]), 0, -weight[row]),
        )
    )
    level = 0
    for time, _, amount in changes:
        level += amount
        if level > most:
            return time
    return None


PROOFS: tuple[Callable[[SiteCase], Proof], ...] = (
    site_nodes.in_partitions,
    site_nodes.with_features,
    site_nodes.as_asked,
    site_nodes.each_node,
    site_nodes.alone,
    no_outage,
    in_reservations,
    eligible,
    after_others,
    throttled,
    within_limits,
)


def site_proofs(case: Case, site: Site, requests: Requests) -> list[Proof]:
    """The proofs that every schedule on a site is tried for."""
    proofs = [each_job_once(case), agrees_with_trace(case), not_before_submit(case)]
    trial = SiteCase(case, site, requests)
    if case.schedule.place is None:
        why = "the schedule has no column place"
        proofs.append(not_proved("site-capacity", why))
        proofs.append(eligible(trial))
        proofs.append(after_others(trial))
        proofs.append(throttled(trial))
        return proofs
    first = site_nodes.in_partitions(trial)
    proofs.append(first)
    if first.verdict != "violated":
        proofs += [prove(trial) for prove in PROOFS[1:]]
        proofs += [proof for proof in [site_nodes.in_classes(trial)] if proof is not None]
    cut = _cut(trial)
    proofs.append(limits_kept(_without(trial, cut)))
    kept = work_conserved(case, unfinished=cut | ~trial.ran)
    if kept is not None:
        proofs.append(kept)
    waiting = (case.schedule.kills > 0) & ~trial.ran
    if waiting.any():
        proofs.append(not_proved("attempts-consistent", "requeued jobs never ran again"))
    else:
        proofs.append(attempts_consistent(case))
    return proofs


def _cut(trial: SiteCase) -> AnyArray:
    """Jobs whose last run a failure of one of its nodes ended."""
    s = trial.case.schedule
    failures = {(one.node, trial.clock(one.begin)) for one in trial.site.outages if not one.drain}
    lost = np.zeros(len(s), bool)
    if failures:
        for row in np.flatnonzero(trial.ran).tolist():
            end = int(s.end[row])
            lost[row] = any((name, end) in failures for name, _ in trial.places[row])
    cut: AnyArray = lost & (s.worked < np.minimum(trial.workload.run, trial.workload.limit))
    return cut


def _without(trial: SiteCase, cut: AnyArray) -> Case:
    """The case without some last runs."""
    s = trial.case.schedule
    start = np.where(cut, -1, s.start)
    match = replace(trial.case.match, schedule=s.replace(start=start))
    return replace(trial.case, match=match)
