"""All proofs about a schedule that can be made: ``check``.

The last one: the same schedule comes out when the policy is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.schedule.check import capacity, identity, limits, order
from shadowtime.schedule.check import rules as known
from shadowtime.schedule.check.attempts import attempts_consistent, work_conserved
from shadowtime.schedule.check.case import Case
from shadowtime.schedule.check.contention import contention_recomputed
from shadowtime.schedule.check.report import (
    Proof,
    Report,
    Verdict,
    not_claimed,
    not_proved,
    proved,
    such,
    violated,
)
from shadowtime.schedule.check.reservation import no_reservation_violation, reservation_respected
from shadowtime.schedule.check.rules import CLAIMS, known_claims
from shadowtime.schedule.match import match
from shadowtime.schedule.runs import row_of
from shadowtime.schedule.schedule import Schedule
from shadowtime.types import UNKNOWN, Ints, Reason
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.schedule.check.rules import Rules


__all__ = ["CLAIMS", "Proof", "Report", "Verdict", "check"]

ALWAYS: tuple[Callable[[Case], Proof | None], ...] = (
    identity.each_job_once,
    identity.agrees_with_trace,
    identity.not_before_submit,
    capacity.whole_machine,
    capacity.within_bounds,
    capacity.each_host,
    capacity.dedicated_alone,
    capacity.class_eligible,
    order.starts_at_events,
    reservation_respected,
    limits.limits_recomputed,
    limits.limits_kept,
    contention_recomputed,
    attempts_consistent,
    work_conserved,
    order.reasons_consistent,
)
"""Tried on every schedule; None means that there is nothing to prove on this machine."""

CLAIMED: tuple[tuple[str, Callable[[Case], Proof]], ...] = (
    (known.ARRIVAL_ORDER, order.arrival_order),
    (known.HEAD_NEVER_IDLE, order.head_never_idle),
    (known.PROMISES_KEPT, order.promises_kept),
    (known.STRICTLY_FAIR, order.strictly_fair),
    (known.SUNNY_ABSORBING, order.sunny_absorbing),
    (known.NO_RESERVATION_VIOLATION, no_reservation_violation),
    (known.WITHIN_SHARED, capacity.within_shared),
)
"""Tried where the policy claims it; the proof has the claim's name."""


def check(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster | Site,
    *,
    claims: Iterable[str] | None = None,
    rules: Rules | None = None,
    again: Schedule | None = None,
) -> Report:
    """Every proof that can be made of a schedule; the rest is listed with the reason.

    Parameters
    ----------
    schedule : a schedule from anywhere; unknown rows, lacking columns and repeated jobs are
        judged, not rejected.
    workload, cluster : what it is a schedule of.
    claims : what the policy claims (see CLAIMS); by default the claims of the schedule itself.
    rules : what the policy means for each job of the workload (engine.rules.rules_of).
    again : what the policy gives when it is run again: every difference is then a violation.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[5, 5], procs=[3, 2], recorded_start=[0, 2])
    >>> report = check(Schedule.recorded(w), w, Cluster.pool(4))
    >>> report.ok, report.first_violation.detail
    (False, 'at 2 s 5 of 4 procs are in use: job 2, started at 2 s, takes 2')
    """
    held = known_claims(schedule.claims if claims is None else claims)
    found = match(schedule, workload)
    if rules is not None and len(found.workload) != len(workload):
        rules = rules.take(np.isin(workload.job_id, found.workload.job_id))
    follow: tuple[Proof, ...] = ()
    if len(workload.follows):
        found, rows, came = identity.after_others(found)
        follow, rules = (came,), rules and rules.take(rows)
    if isinstance(cluster, Site):
        # The proofs of the case that look at the machine do not apply to a site.
        on_site = Case(found, cast("Any", cluster), held, rules)
        repeated = () if again is None else (same_again(on_site, again),)
        return Report((*follow, *_on_site(on_site, cluster), *repeated))
    sizes = limits.sizes_allowed(found, cluster)
    if sizes is not None:
        found, rules = limits.at_started_sizes(found, rules)
    case = Case(found, cluster, held, rules)
    proofs = [*follow, *(proof for prove in ALWAYS if (proof := prove(case)) is not None)]
    if sizes is not None:
        proofs.append(sizes)
    for claim, prove in CLAIMED:
        proofs.append(prove(case) if claim in held else not_claimed(claim))
    if again is not None:
        proofs.append(same_again(case, again))
    return Report(tuple(proofs))


def _on_site(case: Case, site: Site) -> list[Proof]:
    """The proofs on a site; of the claims only promises can be judged without counting."""
    from shadowtime.schedule.check.site import site_proofs
    from shadowtime.workload.site_requests import requests_of

    proofs = site_proofs(case, site, requests_of(case.match.workload, site))
    if (bounded := capacity.within_bounds(case)) is not None:
        proofs.append(bounded)
    for claim, prove in CLAIMED:
        if claim != known.PROMISES_KEPT or claim not in case.claims:
            proofs.append(not_claimed(claim))
        else:
            proofs.append(prove(case))
    return proofs


RECOMPUTED = "recomputed"
COLUMNS = (
    "start",
    "end",
    "reason",
    "kills",
    "killed",
    "promised",
    "blocked_at",
    "limit",
    "penalised",
)


def same_again(case: Case, again: Schedule) -> Proof:
    """Every column and every attempt equal those of ``again``; the first difference by name.

    Columns that the schedule does not have are not compared, and named.
    """
    s = case.schedule
    other = match(again, case.workload).schedule
    if len(other) != len(s):
        return not_proved(RECOMPUTED, "the jobs of the schedule are not those of the trace")
    when = np.minimum(s.start, other.start)
    skipped = []
    found: list[tuple[int, int, str]] = []
    for number, name in enumerate(COLUMNS):
        mine, true = getattr(s, name), getattr(other, name)
        if mine is None or true is None or name in s.missing:
            skipped.append(name)
            continue
        rows = np.flatnonzero(mine != true)
        if len(rows):
            row = int(rows[np.argmin(when[rows])])
            shown = [_shown(name, int(column[row])) for column in (mine, true)]
            what = f"{case.name(row)} has {name} {shown[0]}, and the policy gives {shown[1]}"
            found.append((int(when[row]), number, what + such(len(rows), "jobs")))
    if s.place is None or other.place is None:
        skipped.append("place")
    else:
        places = [k for k, (a, b) in enumerate(zip(s.place, other.place, strict=True)) if a != b]
        if places:
            row = min(places, key=lambda k: int(when[k]))
            what = f"{case.name(row)} has place {s.place[row]}, and the policy gives "
            found.append(
                (
                    int(when[row]),
                    len(COLUMNS),
                    what + other.place[row] + such(len(places), "jobs"),
                )
            )
    if found:
        return violated(RECOMPUTED, min(found)[2])
    mine, true = _attempts(s), _attempts(other)
    if mine != true:
        first = min(set(mine) ^ set(true), default=None)
        if first is None:
            return violated(RECOMPUTED, "an attempt is listed more than once")
        start, job, end, _ = first
        whose = "the policy makes no such attempt" if first in mine else "the file lacks it"
        return violated(RECOMPUTED, f"job {job}, attempt from {start} to {end} s: {whose}")
    lacking = f"; not compared: {', '.join(skipped)}" if skipped else ""
    return proved(RECOMPUTED, f"the policy, run again, gives the same {len(s)} rows{lacking}")


def _shown(column: str, value: int) -> str:
    if column != "reason":
        return str(value)
    return Reason(value).label if value in list(Reason) else str(value)


def _attempts(schedule: Schedule) -> list[tuple[Any, ...]]:
    """The attempts of the jobs at hand, in order."""
    a = schedule.attempts
    mine: Ints = row_of(schedule, a.job_id) != UNKNOWN
    rows = zip(a.start[mine], a.job_id[mine], a.end[mine], a.killed[mine], strict=True)
    return sorted(tuple(int(value) for value in row) for row in rows)
