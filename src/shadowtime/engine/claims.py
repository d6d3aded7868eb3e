"""What a policy says of itself on a given workload, for check to prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.policy import backfill, estimate, order, partition, place, preempt, reserve
from shadowtime.schedule.check.claims import (
    ARRIVAL_ORDER,
    HEAD_NEVER_IDLE,
    NO_RESERVATION_VIOLATION,
    PROMISES_KEPT,
    QUEUE_BY_ARRIVAL,
    STRICTLY_FAIR,
    SUNNY_ABSORBING,
    WITHIN_SHARED,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


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
    if isinstance(policy.place, place.Capped):
        # What is measured is not what is drawn: only a declared demand is a limit that holds.
        declared = not isinstance(policy.estimate, estimate.ByTag)
        shared = (WITHIN_SHARED,) if declared and "bandwidth" in workload.extra else ()
        return (QUEUE_BY_ARRIVAL, *shared) if isinstance(policy.order, order.Fcfs) else shared
    if isinstance(policy.place, place.NodePlace) and policy.reserve == reserve.Depth():
        return tuple(_claims_of_one_plan(policy, workload))
    anywhere = isinstance(policy.place, place.BestFit) or (
        # Promises for good are kept wherever they were planned.
        isinstance(policy.place, place.NodePlace) and isinstance(policy.reserve, reserve.Kept)
    )
    in_arrival_order = (
        isinstance(policy.order, order.Fcfs)
        and anywhere
        and isinstance(policy.partition, partition.Anywhere)
    )
    return tuple(_claims(policy, workload, contended)) if in_arrival_order else ()


def _claims_of_one_plan(policy: Policy, workload: Workload) -> Iterator[str]:
    """One planned reservation on nodes: its start never moves later, whoever slows whom down.

    The table holds every job until its limit, stretched or not, and there it is killed; who
    overtakes is placed around the reservation. So promises hold where limits are no longer than
    what is planned. A reservation that is only counted may be met by a stretched limit.
    """
    if not isinstance(policy.order, order.Fcfs):
        return
    yield QUEUE_BY_ARRIVAL
    assert isinstance(policy.place, place.NodePlace)
    planned = policy.place.resv == "placed" or policy.place.limit == "req"
    if planned and bool((workload.limit <= workload.request).all()):
        yield PROMISES_KEPT


def _claims(policy: Policy, workload: Workload, contended: bool) -> Iterator[str]:
    yield QUEUE_BY_ARRIVAL
    # Promises to later jobs may keep the first waiting one from what is free.
    if not isinstance(policy.reserve, reserve.Kept):
        yield HEAD_NEVER_IDLE
    if isinstance(policy.backfill, backfill.Never):
        yield ARRIVAL_ORDER
    kept = keeps_promises(policy, workload, contended=contended)
    if kept:
        yield PROMISES_KEPT
    fair = isinstance(policy.preempt, preempt.ShadowLoad)
    if fair:
        yield STRICTLY_FAIR
        yield SUNNY_ABSORBING
    # A broken promise is needed for a violation; and whoever may stop all later jobs is not
    # kept by any of them, whatever had been predicted.
    if kept or fair:
        yield NO_RESERVATION_VIOLATION


def keeps_promises(policy: Policy, workload: Workload, *, contended: bool = False) -> bool:
    """A promise holds if nobody outlives its estimate and nobody is let in at its expense.

    That is so for a reservation that backfilling respects exactly, for promises made for good,
    and for one that counts on stopping whoever stands in the way.
    """
    longest = workload.limit if contended else workload.effective_run
    careful = isinstance(policy.estimate, estimate.Requested | estimate.Actual) and bool(
        (longest <= workload.request).all()
    )
    if isinstance(policy.reserve, reserve.Sunny):
        return careful and isinstance(policy.preempt, preempt.ShadowLoad)
    exact = getattr(policy.backfill, "extra_update", True)
    respected = not isinstance(policy.backfill, backfill.Anybody)
    return (
        careful and exact and respected and isinstance(policy.reserve, reserve.Depth | reserve.Kept)
    )
