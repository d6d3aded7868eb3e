"""What a policy says of itself on a given workload, for check to prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.policy import backfill, estimate, order, preempt, reserve

if TYPE_CHECKING:
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload

PROMISES_KEPT = "promises-kept"
STRICTLY_FAIR = "strictly-fair"
ARRIVAL_ORDER = "arrival-order"
"""Nobody starts before a job submitted earlier."""


def claims_of(policy: Policy, workload: Workload) -> tuple[str, ...]:
    """The claims of a policy.

    A promise is kept if nobody outlives its estimate and nobody is let in at the promise's
    expense: a reservation for the head in submission order, or promises for good.
    """
    claims = []
    careful = isinstance(policy.estimate, estimate.Requested | estimate.Actual) and bool(
        (workload.effective_run <= workload.request).all()
    )
    in_arrival_order = isinstance(policy.order, order.Fcfs)
    promising = isinstance(policy.reserve, reserve.Depth | reserve.Kept)
    exact = getattr(policy.backfill, "extra_update", True)
    if careful and in_arrival_order and promising and exact:
        claims.append(PROMISES_KEPT)
    if isinstance(policy.preempt, preempt.ShadowLoad) and in_arrival_order:
        claims.append(STRICTLY_FAIR)
    if in_arrival_order and isinstance(policy.backfill, backfill.Never):
        claims.append(ARRIVAL_ORDER)
    return tuple(claims)
