"""From a policy's parts to the parameters of the pass on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shadowtime.engine.nodes import fields as f
from shadowtime.engine.nodes.running_table import Table
from shadowtime.policy import Policy

if TYPE_CHECKING:
    from shadowtime.engine.nodes.rua.timeline import Plan

Loop = Callable[..., int]
"""Runs the event loop on (state, world, table, rates, plan if any, units) until it is done."""


def loop_of(policy: Policy, table: Table) -> tuple[Loop, tuple[Plan, ...], Any]:
    """The event loop with the right pass, its timeline of promises if any, and what it calls.

    Passes are imported here, when they are needed: each takes its time to compile.
    """
    if not policy.reserve.kept:
        from shadowtime.engine.nodes.rua import passes

        return passes.run, (), passes.UNITS
    from shadowtime.engine.nodes.rua import conservative
    from shadowtime.engine.nodes.rua.timeline import make_plan

    par = table.par
    plan = make_plan(
        n=len(table.job),
        nodes=int(par["nodes"][0]),
        cores=int(par["cores"][0]),
        hinges=len(table.hinge),
        compress=policy.reserve.compresses,
        costed=bool(par["search"][0] != f.FIRST_FIT or par["stretched"][0]),
    )
    return conservative.run, (plan,), conservative.UNITS


def parameters(policy: Policy) -> dict[str, int]:
    """Values of the table's registers for a policy; what has no meaning on nodes is rejected.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> parameters(parse_policy("rua"))["search"] == f.THRESHOLD
    True
    """
    refuse_nonsense(policy)
    part = policy.place
    kinds = {"first-fit": f.FIRST_FIT, "cheapest": f.CHEAPEST, "threshold": f.THRESHOLD}
    return {
        "search": kinds[part.search],
        "stretched": int(part.stretches),
        "counted": int(part.counts),
        "reserves": int(bool(policy.reserve.first)),
        "backfill": backfill_of(policy),
        "by_load": int(part.by_load),
    }


def backfill_of(policy: Policy) -> int:
    """Which jobs may overtake, as the kernels number it."""
    if not policy.backfill.phases:
        return f.NEVER_BACKFILL
    codes = {"order": f.IN_ORDER, "shortest": f.SHORTEST_FIRST, "least-penalty": f.LEAST_PENALTY}
    return codes[policy.backfill.phases[0].key]


def refuse_nonsense(policy: Policy) -> None:
    """Reject parts that have no meaning on nodes."""
    policy.refuse_nonsense("nodes")
