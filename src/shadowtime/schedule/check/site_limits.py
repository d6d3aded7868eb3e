"""Limits of QOS, accounts and licences at every instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.limits import NODES, Bucket, bounded_shape, buckets_of, job_allowed
from shadowtime.schedule.check.report import Proof, not_made, proved, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase

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
