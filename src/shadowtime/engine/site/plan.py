"""From a policy's parts to the pass that carries them out on a site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.plan import order_of, phases_of, refuse_nonsense
from shadowtime.errors import PolicyError
from shadowtime.kernel.site import fields as f
from shadowtime.policy import backfill, order, place, preempt, reserve
from shadowtime.policy.partition import ByClass
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.cluster.site import Site
    from shadowtime.engine.custom import Own
    from shadowtime.engine.site.tables import Ground
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload

RULES: dict[type[place.Place], int] = {
    place.BestFit: f.BEST_FIT,
    place.FirstFit: f.FIRST_FIT,
    place.Pack: f.PACK,
    place.Spread: f.SPREAD,
    place.Consecutive: f.SLURM,
}


class Prepared(NamedTuple):
    """The pass that carries out a policy on a site."""

    run: Callable[..., int]
    decide_once: Callable[..., int]
    """One pass over (state, ground, *arguments)."""
    arguments: Callable[[Ground], tuple[Any, ...]]
    rule: int
    own: Own | None
    """What the policy's own functions work with."""
    keeps: int
    """0: plans are dropped after the pass; 1: promises, compressed; 2: promises, not moved."""
    plans: int
    """How many jobs hold plans at once, at most."""
    unfinished: Callable[[tuple[Any, ...]], bool] = lambda arguments: False
    """Whether the pass with these arguments left a sweep unfinished."""


def prepare(policy: Policy, site: Site, workload: Workload, *, effort: int = 0) -> Prepared:
    """The right pass for this policy, with room for the jobs."""
    rule = rule_of(policy)
    if isinstance(policy.reserve, reserve.Sunny):
        raise PolicyError(f"{policy.name}: a single decision on a site cannot stop jobs")
    if isinstance(policy.reserve, reserve.Kept):
        return prepare_kept(policy, rule, len(workload), effort)
    return prepare_frame(policy, site, rule, workload)


def rule_of(policy: Policy) -> int:
    """The number of a policy's place rule, once the policy has a meaning on a site."""
    refuse_on_site(policy)
    return RULES[type(policy.place)]


def prepare_frame(policy: Policy, site: Site, rule: int, workload: Workload) -> Prepared:
    """The general pass."""
    n = len(workload)
    from shadowtime.engine.custom import own_of
    from shadowtime.engine.site import frame
    from shadowtime.kernel.balance import common_scale

    kind, weight = order_of(policy.order)
    depth = policy.reserve.jobs if isinstance(policy.reserve, reserve.Depth) else 0
    phases = phases_of(policy.backfill)
    weighing = policy.backfill.weighs
    totals = tuple(site.total.values())
    scale = common_scale(totals) if weighing else np.zeros(len(totals) + 1, np.int64)
    own = own_of(policy, workload)

    def arguments(ground: Ground) -> tuple[Any, ...]:
        made = frame.make_frame(
            n=n,
            order=kind,
            weight=weight,
            depth=depth,
            phase=phases[0] if phases else None,
            scale=scale,
            widest=int(ground.job[:, f.WIDTH].max(initial=1)),
            own=own,
        )
        return (made, own.pointer)

    return Prepared(
        frame.run, frame.decide_once, arguments, rule, own, keeps=0, plans=min(depth, 64)
    )


def prepare_kept(policy: Policy, rule: int, n: int, effort: int) -> Prepared:
    """Promises that outlive the pass."""
    from shadowtime.engine.site import kept

    assert isinstance(policy.reserve, reserve.Kept)
    compress = policy.reserve.compress

    def arguments(ground: Ground) -> tuple[Any, ...]:
        return (kept.make_kept(n=n, compress=compress, effort=effort),)

    return Prepared(
        kept.run,
        kept.decide_once,
        arguments,
        rule,
        None,
        keeps=1 if compress else 2,
        plans=64,
        unfinished=lambda arguments: bool(arguments[0].par[kept.UNFINISHED]),
    )


def refuse_on_site(policy: Policy) -> None:
    """Refuse what has no meaning on a site, with the reason."""
    if type(policy.place) not in RULES:
        raise PolicyError(
            f"{policy.name}: place={policy.place.name} is not defined on a site; "
            "use first-fit, best-fit, pack, spread or slurm"
        )
    if isinstance(policy.place, place.NodePlace) and policy.place != place.FirstFit():
        raise PolicyError(f"{policy.name}: on a site place=first-fit takes no options")
    stops = isinstance(policy.preempt, preempt.ShadowLoad)
    if stops and not isinstance(policy.reserve, reserve.Sunny):
        raise PolicyError(f"{policy.name}: on a site preempt=shadow-load needs reserve=sunny")
    if isinstance(policy.partition, ByClass):
        raise PolicyError(
            f"{policy.name}: partition=by-class is for hosts; write the classes down as "
            "partitions of the site"
        )
    for part in policy.parts.values():
        if isinstance(part, Written) and not isinstance(part, order.Custom):
            raise PolicyError(
                f"{policy.name}: on a site the order alone can be a function of your own, not the "
                f"{part.slot}; use a pool or hosts"
            )
        if isinstance(part, order.Custom) and part.learners:
            raise PolicyError(
                f"{policy.name}: on a site the order cannot learn yet; use a pool or hosts"
            )
    if isinstance(policy.backfill, backfill.LeastPenalty):
        raise PolicyError(f"{policy.name}: nobody slows anybody down on a site; use easy-sjbf")
    from shadowtime.cluster import Cluster

    # What is left follows a pool's rules: a site without nodes to choose is one.
    refuse_nonsense(policy.replace(place=place.BestFit()), Cluster.pool(2, memory=1))


__all__ = ["Prepared", "prepare"]
