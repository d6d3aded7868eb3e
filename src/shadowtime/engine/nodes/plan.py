"""From a policy's parts to the parameters of the pass on nodes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shadowtime.errors import PolicyError
from shadowtime.kernel.nodes import fields as f
from shadowtime.policy import backfill, estimate, order, partition, place, preempt, reserve

if TYPE_CHECKING:
    from shadowtime.kernel.nodes.table import Table
    from shadowtime.policy import Policy

Loop = Callable[[Any, Any, Any], int]
"""Runs the event loop on (state, world, rates) until it is done."""


def loop_of(policy: Policy, table: Table) -> Loop:
    """The event loop with the right pass: one reservation at most, or one for everybody.

    Passes are imported here, when they are needed: each takes its time to compile.
    """
    if isinstance(policy.reserve, reserve.Kept):
        return conservative_loop(table, compress=policy.reserve.compress)
    from shadowtime.engine.nodes import passes

    return lambda state, world, rates: passes.run(state, world, table, rates, passes.UNITS)


def conservative_loop(table: Table, *, compress: bool) -> Loop:
    """The loop of promises that outlive the pass; their ledger grows when there is no room."""
    from shadowtime.engine.events import ROOM_NEEDED
    from shadowtime.engine.nodes import conservative
    from shadowtime.kernel.nodes.ledger import make_ledger, with_more_room

    par = table.par

    def run(state: Any, world: Any, rates: Any) -> int:
        ledger = make_ledger(
            n=len(table.job),
            nodes=int(par[f.NODES]),
            cores=int(par[f.CORES]),
            hinges=int(par[f.HINGES]),
            compress=compress,
            costed=bool(par[f.SEARCH] != f.FIRST_FIT or par[f.STRETCHED]),
        )
        units = conservative.UNITS
        done = conservative.run(state, world, table, rates, ledger, units)
        while done == ROOM_NEEDED:
            ledger = with_more_room(ledger, len(ledger.room))
            done = conservative.run(state, world, table, rates, ledger, units)
        return done

    return run


def parameters(policy: Policy) -> dict[int, int]:
    """Values of the table's registers for a policy; what has no meaning on nodes is refused.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> parameters(parse_policy("rua"))[f.SEARCH] == f.THRESHOLD
    True
    """
    refuse_nonsense(policy)
    part = policy.place
    kind = f.FIRST_FIT
    if isinstance(part, place.LeastSlowdown) or (
        isinstance(part, place.LessConsume) and part.threshold > 0
    ):
        kind = f.THRESHOLD
    elif isinstance(part, place.LessConsume):
        kind = f.CHEAPEST
    return {
        f.SEARCH: kind,
        f.STRETCHED: int(isinstance(part, place.NodePlace) and part.limit == "pf"),
        f.COUNTED: int(not isinstance(part, place.NodePlace) or part.resv == "counts"),
        f.RESERVES: int(isinstance(policy.reserve, reserve.Depth)),
        f.BACKFILL: backfill_of(policy),
        f.BY_LOAD: int(isinstance(part, place.LeastSlowdown) and part.by == "load"),
    }


def backfill_of(policy: Policy) -> int:
    """Who may overtake, as the kernels call it."""
    part = policy.backfill
    if isinstance(part, backfill.Never):
        return f.NEVER_BACKFILL
    if isinstance(part, backfill.LeastPenalty):
        return f.LEAST_PENALTY
    return f.SHORTEST if isinstance(part, backfill.ShortestFirst) else f.IN_ORDER


def thresholds(part: place.Place) -> tuple[Fraction, ...]:
    """The penalty factors a place part accepts, ascending."""
    if isinstance(part, place.LeastSlowdown):
        return part.factors()
    if isinstance(part, place.LessConsume) and part.threshold > 0:
        return (Fraction(str(part.threshold)),)  # 1.15 as it was written
    return ()


def refuse_nonsense(policy: Policy) -> None:
    """Refuse parts that have no meaning on nodes."""
    name = policy.name
    if not isinstance(policy.order, order.Fcfs):
        raise PolicyError(f"{name}: on nodes the queue is in arrival order: use order=fcfs")
    if isinstance(policy.estimate, estimate.ByTag):
        raise PolicyError(f"{name}: estimate=by-tag goes with place=capped")
    if isinstance(policy.estimate, estimate.Last):
        raise PolicyError(
            f"{name}: on nodes a prediction is made once, at submission: use last-two or requested"
        )
    if not isinstance(policy.preempt, preempt.NoPreemption):
        raise PolicyError(f"{name}: nobody is preempted on nodes: use preempt=never")
    if not isinstance(policy.partition, partition.Anywhere):
        raise PolicyError(f"{name}: nodes have no partitions: use partition=anywhere")
    one = isinstance(policy.reserve, reserve.Depth) and policy.reserve == reserve.Depth()
    if isinstance(policy.reserve, reserve.Kept):
        refuse_unkept(policy)
        return
    if not one and not isinstance(policy.reserve, reserve.Nobody):
        raise PolicyError(
            f"{name}: reserve={policy.reserve} is not defined on nodes: use reserve=1, kept or none"
        )
    parts = (backfill.Never, backfill.InOrder, backfill.ShortestFirst, backfill.Anybody)
    if not isinstance(policy.backfill, parts) or not getattr(policy.backfill, "extra_update", True):
        raise PolicyError(f"{name}: backfill={policy.backfill} is not defined on nodes")
    if one == isinstance(policy.backfill, backfill.Anybody):
        raise PolicyError(
            f"{name}: backfill={policy.backfill} and reserve={policy.reserve} do not go together"
        )


def refuse_unkept(policy: Policy) -> None:
    """Refuse parts with which a promise for good has no meaning."""
    if not isinstance(policy.backfill, backfill.InOrder) or not policy.backfill.extra_update:
        raise PolicyError(
            f"{policy.name}: reserve=kept promises in submission order; use backfill=in-order"
        )
    part = policy.place
    if isinstance(part, place.NodePlace) and (part.limit, part.resv) == ("pf", "counts"):
        raise PolicyError(
            f"{policy.name}: a limit stretched by the planned penalty (limit=pf) needs a planned "
            "place, which reserve=kept with resv=counts does not have; use resv=placed or limit=req"
        )
