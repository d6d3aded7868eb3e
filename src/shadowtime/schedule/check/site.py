"""Every proof about a schedule on a site."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.limits import NODES, Bucket, bounded_shape, buckets_of, job_allowed
from shadowtime.schedule.check.attempts import attempts_consistent
from shadowtime.schedule.check.identity import agrees_with_trace, each_job_once, not_before_submit
from shadowtime.schedule.check.limits import limits_kept
from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.check.site_case import SiteCase
from shadowtime.schedule.check.site_nodes import (
    alone,
    as_asked,
    each_node,
    in_classes,
    in_partitions,
    with_features,
)
from shadowtime.schedule.check.site_time import (
    after_others,
    eligible,
    in_reservations,
    no_outage,
    throttled,
)
from shadowtime.schedule.check.work import work_conserved

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.cluster.site import Site
    from shadowtime.schedule.check.case import Case
    from shadowtime.types import AnyArray
    from shadowtime.workload.request import Requests


NAME = "site-limits"


def within_limits(case: SiteCase) -> Proof:
    """No bound on running jobs, resources in use, or a job alone is passed.

    A job that may have run in one of several partitions, whose limits differ, is left out.
    Time bounds that add up over the run (minutes, wall) are not looked at here.
    """
    site = case.site
    if "limits" not in site.enforce and not site.licences:
        return not_made(NAME, "the site enforces no limits")
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
            return violated(NAME, f"{case.case.name(row)} ran, though a bound on each job forbids")
        bounded = bounded_shape(site, request, partition, shape, case.user(row))
        on_a_node = [node for _, node in case.amounts(row)]
        if not shape.exclusive and (
            bounded is None or any(node[0] > bounded.cpus(bounded.per_node) for node in on_a_node)
        ):
            return violated(NAME, f"{case.case.name(row)} has more on a node than a bound allows")
        if enforced and not case.may_have_been_elsewhere(row):
            for bucket in buckets_of(site, request, partition, case.user(row)):
                shared.setdefault(bucket, []).append(row)
    used = _used(case)
    for bucket, members in shared.items():
        detail = _passed(case, bucket, members, used)
        if detail:
            return violated(NAME, detail)
    for name, most in site.licences.items():
        weight = {row: dict(case.request(row).licences).get(name, 0) for row in rows}
        at = _first_over(case, rows, weight, most)
        if at is not None:
            return violated(NAME, f"at {at} s more than {most} licences of {name} are in use")
    return proved(NAME, f"{len(shared)} sets of limits, none passed")


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
    in_partitions,
    with_features,
    as_asked,
    each_node,
    alone,
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
        why = "the schedule does not say on which nodes jobs ran"
        proofs.append(not_made("site-capacity", why))
        proofs.append(eligible(trial))
        proofs.append(after_others(trial))
        proofs.append(throttled(trial))
        return proofs
    first = in_partitions(trial)
    proofs.append(first)
    if first.verdict != "violated":
        proofs += [prove(trial) for prove in PROOFS[1:]]
        proofs += [proof for proof in [in_classes(trial)] if proof is not None]
    cut = _cut(trial)
    proofs.append(limits_kept(_without(trial, cut)))
    kept = work_conserved(case, unfinished=cut | ~trial.ran)
    if kept is not None:
        proofs.append(kept)
    waiting = (case.schedule.kills > 0) & ~trial.ran
    if waiting.any():
        proofs.append(not_made("attempts-consistent", "requeued jobs never ran again"))
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
