"""From a policy's parts to the pass that carries them out on a site."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.plan import order_of, phases_of, refuse_loose_easy
from shadowtime.engine.site.asks import SiteClasses
from shadowtime.errors import PolicyError
from shadowtime.kernel.site import fields as f
from shadowtime.policy import Policy
from shadowtime.policy.order import Fcfs
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own


class Prepared(NamedTuple):
    """What a policy needs of a site's tables, and the pass that carries it out there."""

    rule: int
    """The number of its place rule."""
    own: Own
    """What the policy's own functions work with."""
    keeps: int = 0
    """0: plans are dropped after the pass; 1: promises, compressed; 2: promises, not moved."""
    plans: int = 0
    """How many jobs hold plans at once, at most."""
    classes: SiteClasses | None = None
    """Which nodes each class of jobs may use and reserve."""
    run: Any = None
    """The event loop with the pass; None where passes are made in Python."""
    decide_once: Any = None
    """One pass over (state, ground, *arguments)."""
    arguments: Any = None
    """Makes them, of the ground."""
    unfinished: Callable[[tuple[Any, ...]], bool] = lambda arguments: False
    """Whether the pass with these arguments left a sweep unfinished."""


def prepare(policy: Policy, site: Site, workload: Workload, *, effort: int = 0) -> Prepared:
    """The right pass for this policy, with room for the jobs."""
    made = in_python(policy, site, workload)
    if policy.reserve.sunny:
        raise PolicyError(f"{policy.name}: a single decision on a site cannot stop jobs")
    if policy.keeps_promises:
        return prepare_conservative(made, policy, len(workload), effort)
    return prepare_general(made, policy, site, workload)


def in_python(policy: Policy, site: Site, workload: Workload) -> Prepared:
    """What the tables need where passes are made in Python: some parts count all the same."""
    from shadowtime.engine.custom import own_of

    rule, own = rule_of(policy), own_of(policy, workload)
    return Prepared(rule, own.on_nodes(len(site.nodes)) if rule == f.SCORE else own)


def rule_of(policy: Policy) -> int:
    """The number of a policy's place rule, once the policy has a meaning on a site."""
    policy.refuse_nonsense("site")
    refuse_loose_easy(policy)
    return int(getattr(f, policy.place.on_site))


def prepare_general(base: Prepared, policy: Policy, site: Site, workload: Workload) -> Prepared:
    """The general pass."""
    n = len(workload)
    from shadowtime.engine.site import general
    from shadowtime.engine.site.classes import site_classes
    from shadowtime.kernel.balance import common_scale

    kind, weight = order_of(policy.order)
    classes = site_classes(policy, site, workload)
    # The caps of the classes bound the plans, not the depth.
    depth = policy.reserve.depth(n) if classes is None else n
    phases = phases_of(policy.backfill)
    weighing = policy.backfill.weighs
    totals = tuple(site.total.values())
    scale = common_scale(totals) if weighing else np.zeros(len(totals) + 1, np.int64)

    def arguments(ground: f.Ground) -> tuple[Any, ...]:
        widest = int(ground.job[:, f.WIDTH].max(initial=1))
        nodes = min(min(depth, n) * widest, 1 << 40)
        if classes is not None:
            nodes = min(nodes, classes.most_planned + classes.reservations * widest)
        made = general.make_general(
            n=n,
            order=kind,
            weight=weight,
            depth=depth,
            phase=phases[0] if phases else None,
            scale=scale,
            plan_nodes=nodes,
            own=base.own,
        )
        return (made, base.own.pointer)

    return base._replace(
        plans=min(depth, 64),
        classes=classes,
        run=general.run,
        decide_once=general.decide_once,
        arguments=arguments,
    )


def prepare_conservative(base: Prepared, policy: Policy, n: int, effort: int) -> Prepared:
    """Promises that outlive the pass."""
    from shadowtime.engine.site import conservative
    from shadowtime.engine.site.promises import UNFINISHED

    # Priorities from outside are written into the tiers (by_priority.py).
    kind, weight = order_of(Fcfs() if policy.order.by_usage else policy.order)
    in_order = policy.backfill.promises_all
    compress = policy.reserve.compresses or in_order

    def arguments(ground: f.Ground) -> tuple[Any, ...]:
        made = conservative.make_conservative(
            n=n,
            compress=compress,
            own=base.own,
            order=kind,
            weight=weight,
            every_pass=in_order,
            effort=effort,
        )
        return (made, base.own.pointer)

    return base._replace(
        keeps=1 if compress else 2,
        plans=64,
        run=conservative.run,
        decide_once=conservative.decide_once,
        arguments=arguments,
        unfinished=lambda arguments: bool(arguments[0].par[UNFINISHED]),
    )
