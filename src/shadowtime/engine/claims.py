"""What a policy claims on a given workload, for check to prove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shadowtime.policy import Policy
from shadowtime.schedule.check import rules as claims
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site


def claims_of(policy: Policy, workload: Workload, *, contended: bool = False) -> tuple[str, ...]:
    """The claims of a policy: no more than what holds on every workload like this one.

    Rules
    -----
    ``contended``: jobs slow each other down, so that any of them may run until its limit.
    Every claim is about the order of submission, so a policy with another order makes none, and
    neither does one that restricts where jobs may go.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[5], procs=[1], request=[9])
    >>> claims_of(parse_policy("pv-easy"), jobs)[2:]
    ('strictly-fair', 'sunny-absorbing', 'no-reservation-violation')
    >>> claims_of(parse_policy("sjf"), jobs)
    ()
    """
    if policy.backfill.selects:
        return tuple(_claims_of_choice(policy, workload))
    if policy.place.caps:
        # A measured demand may differ from the real one: only a declared demand is a limit that
        # holds.
        declared = not policy.estimate.by_tag
        shared = (claims.WITHIN_SHARED,) if declared and "bandwidth" in workload.extra else ()
        return (claims.QUEUE_BY_ARRIVAL, *shared) if policy.order.by_arrival else shared
    if policy.place.plans and policy.reserve.first == 1 and policy.reserve.fixed == "no":
        return tuple(_claims_of_one_plan(policy, workload))
    # Permanent promises are kept wherever they were planned.
    anywhere = policy.place.neutral or (policy.place.plans and policy.reserve.kept)
    in_arrival_order = policy.order.by_arrival and anywhere and not policy.partition.restricts
    return tuple(_claims(policy, workload, contended)) if in_arrival_order else ()


def _claims_of_choice(policy: Policy, workload: Workload) -> Iterator[str]:
    """What a choosing function claims, as far as the rest of the policy permits."""
    claimed = set(policy.backfill.claims)  # type: ignore[attr-defined]
    by_arrival = {
        claims.QUEUE_BY_ARRIVAL,
        claims.HEAD_NEVER_IDLE,
        claims.ARRIVAL_ORDER,
        claims.NO_RESERVATION_VIOLATION,
    }
    bounded = policy.estimate.bounds and workload.within_request
    for claim in claims.CLAIMS:
        needs_order = claim in by_arrival and not policy.order.by_arrival
        needs_bound = (
            claim in (claims.PROMISES_KEPT, claims.NO_RESERVATION_VIOLATION) and not bounded
        )
        if claim in claimed and not needs_order and not needs_bound:
            yield claim


def _claims_of_one_plan(policy: Policy, workload: Workload) -> Iterator[str]:
    """One planned reservation on nodes: its start never moves later, whatever slows down.

    The table holds every job until its limit, stretched or not, and there it is killed; jobs
    that overtake are placed around the reservation. So promises hold where limits are no longer
    than what is planned. A reservation that is only counted may be met by a stretched limit.
    """
    if not policy.order.by_arrival:
        return
    yield claims.QUEUE_BY_ARRIVAL
    planned = not policy.place.counts or not policy.place.stretches
    if planned and bool((workload.limit <= workload.request).all()):
        yield claims.PROMISES_KEPT


def _claims(policy: Policy, workload: Workload, contended: bool) -> Iterator[str]:
    yield claims.QUEUE_BY_ARRIVAL
    # Promises to later jobs may keep the first waiting one from what is free.
    if not policy.reserve.kept:
        yield claims.HEAD_NEVER_IDLE
    if not policy.backfill.phases:
        yield claims.ARRIVAL_ORDER
    kept = keeps_promises(policy, workload, contended=contended)
    if kept:
        yield claims.PROMISES_KEPT
    fair = policy.preempt.stops
    if fair:
        yield claims.STRICTLY_FAIR
        yield claims.SUNNY_ABSORBING
    # A broken promise is needed for a violation; and a policy that may stop all later jobs is not
    # kept by any of them, whatever had been predicted.
    if kept or fair:
        yield claims.NO_RESERVATION_VIOLATION


def keeps_promises(policy: Policy, workload: Workload, *, contended: bool = False) -> bool:
    """A promise holds if no job outlives its estimate and none is let in at its expense.

    That is so for a reservation that backfilling respects exactly, for promises made for good,
    and for one that counts on stopping the jobs in the way.
    """
    careful = policy.estimate.bounds and (
        bool((workload.limit <= workload.request).all()) if contended else workload.within_request
    )
    if policy.reserve.sunny:
        return careful and policy.preempt.stops
    planned = policy.reserve.kept or bool(policy.reserve.first)
    return careful and policy.backfill.exact and policy.backfill.respects and planned


def site_claims(policy: Policy, workload: Workload, site: Site) -> tuple[str, ...]:
    """Permanent promises are kept where no node fails and no limit can forbid a start.

    The other claims are about pools: they count processors.
    """
    quiet = not site.outages and not any(one.known_at for one in site.reservations)
    unbound = "limits" not in site.enforce
    kept = policy.keeps_promises and keeps_promises(policy, workload)
    return (claims.PROMISES_KEPT,) if kept and quiet and unbound else ()
