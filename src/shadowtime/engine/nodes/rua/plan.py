"""From a policy's parts to the parameters of the pass on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shadowtime.engine.nodes import fields as f

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table
    from shadowtime.policy import Policy

Loop = Callable[[Any, Any, Any], int]
"""Runs the event loop on (state, world, rates) until it is done."""


def loop_of(policy: Policy, table: Table) -> Loop:
    """The event loop with the right pass: one reservation at most, or one for every job.

    Passes are imported here, when they are needed: each takes its time to compile.
    """
    if policy.reserve.kept:
        return conservative_loop(table, compress=policy.reserve.compresses)
    from shadowtime.engine.nodes.rua import passes

    return lambda state, world, rates: passes.run(state, world, table, rates, passes.UNITS)


def conservative_loop(table: Table, *, compress: bool) -> Loop:
    """The loop of promises that outlive the pass; their timeline grows when there is no room."""
    from shadowtime.engine.events import ROOM_NEEDED
    from shadowtime.engine.nodes.rua import conservative
    from shadowtime.engine.nodes.rua.timeline import make_plan, with_more_room

    par = table.par

    def run(state: Any, world: Any, rates: Any) -> int:
        plan = make_plan(
            n=len(table.job),
            nodes=int(par[f.NODES]),
            cores=int(par[f.CORES]),
            hinges=int(par[f.HINGES]),
            compress=compress,
            costed=bool(par[f.SEARCH] != f.FIRST_FIT or par[f.STRETCHED]),
        )
        units = conservative.UNITS
        done = conservative.run(state, world, table, rates, plan, units)
        while done == ROOM_NEEDED:
            plan = with_more_room(plan, len(plan.room))
            done = conservative.run(state, world, table, rates, plan, units)
        return done

    return run


def parameters(policy: Policy) -> dict[int, int]:
    """Values of the table's registers for a policy; what has no meaning on nodes is rejected.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> parameters(parse_policy("rua"))[f.SEARCH] == f.THRESHOLD
    True
    """
    refuse_nonsense(policy)
    part = policy.place
    kinds = {"first-fit": f.FIRST_FIT, "cheapest": f.CHEAPEST, "threshold": f.THRESHOLD}
    return {
        f.SEARCH: kinds[part.search],
        f.STRETCHED: int(part.stretches),
        f.COUNTED: int(part.counts),
        f.RESERVES: int(bool(policy.reserve.first)),
        f.BACKFILL: backfill_of(policy),
        f.BY_LOAD: int(part.by_load),
    }


def backfill_of(policy: Policy) -> int:
    """Which jobs may overtake, as the kernels number it."""
    if not policy.backfill.phases:
        return f.NEVER_BACKFILL
    codes = {"order": f.IN_ORDER, "shortest": f.SHORTEST, "least-penalty": f.LEAST_PENALTY}
    return codes[policy.backfill.phases[0].key]


def refuse_nonsense(policy: Policy) -> None:
    """Reject parts that have no meaning on nodes."""
    policy.refuse_nonsense("nodes")
