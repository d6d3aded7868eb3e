"""From a policy's parts to the pass that carries them out.

A combination of parts without a defined meaning is refused here, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.partitions import tables_of
from shadowtime.errors import PolicyError
from shadowtime.policy import backfill, estimate, order, place, preempt, reserve
from shadowtime.policy.partition import ByClass
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.custom import Own
    from shadowtime.policy import Policy

Loop = Callable[[Any, Any], int]
"""Runs the event loop on (state, world) until it is done or needs room."""


class Prepared(NamedTuple):
    """The pass that carries out a policy: its module in passes/, and the arguments it takes."""

    name: str
    arguments: tuple[Any, ...]


def plan(policy: Policy, cluster: Cluster, n: int, own: Own | None = None) -> Loop:
    """The event loop with the right pass for this policy on this machine.

    Passes are imported here, when they are needed: each costs seconds to compile the first time.
    """
    made = prepare(policy, cluster, n, own)
    run = import_module(f"shadowtime.engine.passes.{made.name}").run
    return lambda state, world: int(run(state, world, *made.arguments))


def prepare(policy: Policy, cluster: Cluster, n: int, own: Own | None = None) -> Prepared:
    """The right pass for this policy on this machine, with room for ``n`` jobs.

    ``own`` is what the policy's own functions work with (custom.own_of); without it they are told
    nothing but what the state's table holds of a job.
    """
    refuse_nonsense(policy, cluster)
    if isinstance(policy.reserve, reserve.Kept):
        return plan_conservative(policy, cluster, n)
    if is_plain_easy(policy, cluster):
        return plan_easy(policy, n)
    if is_pool_of_resources(policy, cluster):
        return plan_pool(policy, cluster, n)
    return plan_frame(policy, cluster, n, own)


def is_plain_easy(policy: Policy, cluster: Cluster) -> bool:
    """True where EASY's fast pass makes the same decisions as the general one."""
    if isinstance(policy.reserve, reserve.Depth) and policy.reserve.jobs == 1:
        known = isinstance(policy.backfill, backfill.InOrder | backfill.ShortestFirst)
    else:
        known = isinstance(policy.reserve, reserve.Nobody)
    return (
        known
        and cluster.shape == "pool"
        and len(cluster.resources) == 1
        and isinstance(policy.order, order.Fcfs)
        and isinstance(policy.preempt, preempt.NoPreemption)
        and not isinstance(policy.estimate, estimate.Predicted)
    )


def is_pool_of_resources(policy: Policy, cluster: Cluster) -> bool:
    """True where the pass for one reservation on K resources decides as the general one does."""
    weighing = isinstance(policy.backfill, backfill.WEIGHING)
    if isinstance(policy.reserve, reserve.Depth) and policy.reserve.jobs == 1:
        careful = backfill.Never | backfill.InOrder | backfill.ShortestFirst
        known = weighing or isinstance(policy.backfill, careful)
    else:
        known = isinstance(policy.reserve, reserve.Nobody)
    return (
        known
        and cluster.shape == "pool"
        and (weighing or len(cluster.resources) > 1)
        and isinstance(policy.order, order.Fcfs)
        and isinstance(policy.preempt, preempt.NoPreemption)
        and not isinstance(policy.estimate, estimate.Predicted)
    )


def plan_easy(policy: Policy, n: int) -> Prepared:
    """EASY on a pool of processors."""
    from shadowtime.engine.passes import easy

    rules = {backfill.Never: easy.NOBODY, backfill.Anybody: easy.ANYBODY}
    parameters = np.array(
        [
            isinstance(policy.backfill, backfill.ShortestFirst),
            not getattr(policy.backfill, "extra_update", True),
            easy.FIXED[getattr(policy.reserve, "fixed_reservation", "no")],
            rules.get(type(policy.backfill), easy.CAREFUL),
        ],
        dtype=np.int64,
    )
    found = np.empty(n + 1, np.int64)
    return Prepared("easy", (parameters, found))


def plan_pool(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """One reservation, or none, on a pool of K resources."""
    from shadowtime.engine.passes import pool
    from shadowtime.kernel.balance import common_scale

    weighing = isinstance(policy.backfill, backfill.WEIGHING)
    made = pool.make_pool(
        n=n,
        resources=len(cluster.resources),
        rule=rule_of(policy.backfill),
        reserves=isinstance(policy.reserve, reserve.Depth),
        at_most=int(getattr(policy.backfill, "per_pass", "") == "one"),
        scale=common_scale(cluster.hosts[0].capacity) if weighing else None,
    )
    return Prepared("pool", (made,))


def rule_of(part: backfill.Backfill) -> int:
    """The rule of a backfill part in the pass for K resources."""
    from shadowtime.engine.passes import pool as p

    if isinstance(part, backfill.NotWorse):
        readings = {"live": p.NOT_WORSE, "frozen": p.NOT_WORSE_FROZEN, "literal": p.LITERAL}
        return readings[part.threshold]
    table: dict[type[backfill.Backfill], int] = {
        backfill.Never: p.NOBODY,
        backfill.Anybody: p.IN_ORDER,
        backfill.InOrder: p.IN_ORDER,
        backfill.ShortestFirst: p.SHORTEST,
        backfill.LeastPenalty: p.SHORTEST,  # nobody is penalised on a pool
        backfill.Balanced: p.BALANCE,
        backfill.LeastUsed: p.LEAST_USED,
    }
    return table[type(part)]


def plan_frame(policy: Policy, cluster: Cluster, n: int, own: Own | None) -> Prepared:
    """The general pass."""
    from shadowtime.engine.custom import own_of
    from shadowtime.engine.passes import frame
    from shadowtime.kernel.balance import common_scale

    kind, weight = order_of(policy.order)
    weighing = isinstance(policy.backfill, backfill.WEIGHING)
    scale = common_scale(cluster.hosts[0].capacity) if weighing else None
    sunny = isinstance(policy.reserve, reserve.Sunny)
    depth = policy.reserve.jobs if isinstance(policy.reserve, reserve.Depth) else int(sunny)
    if isinstance(policy.reserve, reserve.Chosen):
        depth = n  # its function bounds the reservations
    elif isinstance(policy.reserve, reserve.Planned):
        depth = 1
    own = own_of(policy, None) if own is None else own
    tables = tables_of(policy.partition, cluster) if isinstance(policy.partition, ByClass) else None
    if tables is not None:
        depth = n  # the caps bound the reservations
    made = frame.make_frame(
        n=n,
        capacity=np.array([host.capacity for host in cluster.hosts], np.int64),
        order=kind,
        weight=weight,
        depth=depth,
        sunny_only=sunny,
        preempt=isinstance(policy.preempt, preempt.ShadowLoad),
        prune=isinstance(policy.preempt, preempt.ShadowLoad) and policy.preempt.prune,
        phases=phases_of(policy.backfill),
        scale=scale,
        tables=tables,
        own=own,
    )
    return Prepared("frame", (made, own.pointer))


def plan_conservative(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """Promises that outlive the pass."""
    from shadowtime.engine.passes import conservative

    assert isinstance(policy.reserve, reserve.Kept)
    made = conservative.make_book(
        n=n,
        capacity=np.array([host.capacity for host in cluster.hosts], np.int64),
        compress=policy.reserve.compress,
    )
    return Prepared("conservative", (made,))


def order_of(part: order.Order) -> tuple[int, tuple[float, float, float]]:
    """Kind and weights of an order for the kernels."""
    from shadowtime.kernel import order as kinds

    if isinstance(part, order.Weighted):
        return kinds.WEIGHTED, (part.expansion, part.wait, part.procs)
    table: dict[type[order.Order], int] = {
        order.Fcfs: kinds.FCFS,
        order.Sjf: kinds.SJF,
        order.Lxf: kinds.LXF,
        order.Custom: kinds.CUSTOM,
    }
    return table[type(part)], (0.0, 0.0, 0.0)


def phases_of(part: backfill.Backfill) -> tuple[tuple[int, int, int], ...]:
    """The phases of a backfill part: (test, key, at most)."""
    from shadowtime.engine.passes import phases as p

    if isinstance(part, backfill.Never):
        return ()
    if isinstance(part, backfill.ByKey):
        return ((p.AROUND, p.OWN, 0),)
    if isinstance(part, backfill.InOrder | backfill.ByTest):
        return ((p.AROUND, p.ORDER, 0),)
    if isinstance(part, backfill.ShortestFirst):
        return ((p.AROUND, p.SHORTEST, 0),)
    if isinstance(part, backfill.Anybody):
        return ((p.FITS, p.ORDER, 0),)
    if isinstance(part, backfill.Venture):
        safe = (p.BY_SHADOW, p.SHORTEST, 0)
        return (safe, (p.FITS, p.ORDER, 0)) if part.venture else (safe,)
    if isinstance(part, backfill.Balanced):
        return ((p.AROUND, p.BALANCE, int(part.per_pass == "one")),)
    if isinstance(part, backfill.LeastUsed):
        return ((p.AROUND, p.LEAST_USED, int(part.per_pass == "one")),)
    if isinstance(part, backfill.NotWorse):
        tests = {"live": p.NOT_WORSE, "frozen": p.NOT_WORSE_FROZEN, "literal": p.LITERAL}
        return ((tests[part.threshold], p.ORDER, 0),)
    raise PolicyError(f"the engine does not know the backfill part {part}")


def refuse_functions_on_nodes(policy: Policy) -> None:
    """Refuse functions of the user's own where the passes on nodes never ask them."""
    for part in policy.parts.values():
        if isinstance(part, Written) and not isinstance(part, order.Custom):
            raise PolicyError(
                f"{policy.name}: {part.slot}={part} is a function of your own, which passes on "
                "nodes never ask; use a pool or hosts"
            )


def refuse_nonsense(policy: Policy, cluster: Cluster) -> None:
    """Refuse parts that do not go together."""
    if isinstance(policy.place, place.Filled) and policy.place.seconds() != 0:
        raise PolicyError(
            f"{policy.name}: grace={policy.place.grace} is defined on nodes; elsewhere a job "
            "ends at its limit"
        )
    rank_is_arrival = isinstance(policy.order, order.Fcfs)
    if isinstance(policy.preempt, preempt.ShadowLoad):
        if not rank_is_arrival:
            raise PolicyError(
                f"{policy.name}: preempt=shadow-load ranks jobs by submission; use order=fcfs"
            )
        if cluster.shape != "pool":
            raise PolicyError(f"{policy.name}: preempt=shadow-load is defined on a pool only")
        if isinstance(policy.reserve, reserve.Kept):
            raise PolicyError(f"{policy.name}: promises for good and preemption contradict")
    if isinstance(policy.reserve, reserve.Kept):
        if not rank_is_arrival or not isinstance(policy.backfill, backfill.InOrder):
            raise PolicyError(
                f"{policy.name}: reserve=kept promises in submission order; "
                "use order=fcfs and backfill=in-order"
            )
        if cluster.shape != "pool":
            raise PolicyError(f"{policy.name}: reserve=kept is defined on a pool only")
        if isinstance(policy.estimate, estimate.Predicted):
            raise PolicyError(
                f"{policy.name}: reserve=kept does not go with a prediction of your own yet; use "
                "reserve=all, which plans anew at every pass"
            )
        if isinstance(policy.estimate, estimate.Last):
            raise PolicyError(
                f"{policy.name}: a promise needs an estimate that stays while the job waits; "
                "estimate=last changes, use last-two or requested"
            )
    if isinstance(policy.reserve, reserve.Sunny):
        if not rank_is_arrival or cluster.shape != "pool":
            raise PolicyError(f"{policy.name}: reserve=sunny needs order=fcfs and a pool")
        if not isinstance(policy.backfill, backfill.Venture | backfill.Anybody | backfill.Never):
            raise PolicyError(f"{policy.name}: reserve=sunny goes with backfill=venture")
    if isinstance(policy.reserve, reserve.Nobody) and not isinstance(
        policy.backfill, backfill.Never | backfill.Anybody
    ):
        raise PolicyError(
            f"{policy.name}: backfill={policy.backfill} respects reservations, but reserve=none "
            "makes none; use backfill=anybody or never"
        )
    if isinstance(policy.backfill, backfill.Venture) and not isinstance(
        policy.reserve, reserve.Sunny
    ):
        raise PolicyError(f"{policy.name}: backfill=venture needs reserve=sunny")
    if isinstance(policy.backfill, backfill.WEIGHING) and (
        cluster.shape != "pool" or not isinstance(policy.reserve, reserve.Depth)
    ):
        raise PolicyError(
            f"{policy.name}: backfill={policy.backfill} weighs the resources of a pool around a "
            "reservation; use a pool and reserve=1"
        )
    if isinstance(policy.partition, ByClass) and (
        cluster.shape != "hosts"
        or not isinstance(policy.reserve, reserve.Depth)
        or not isinstance(policy.backfill, backfill.InOrder)
    ):
        raise PolicyError(
            f"{policy.name}: partition=by-class needs a cluster of hosts, reservations planned at "
            "every pass (reserve=K) and backfill=in-order"
        )
    if isinstance(policy.backfill, backfill.ByKey) and isinstance(policy.reserve, reserve.Chosen):
        raise PolicyError(
            f"{policy.name}: with reserve={policy.reserve} every job is tried in queue order, so "
            "a backfill key would do nothing; use reserve=K or a backfill test"
        )
    loose = not getattr(policy.backfill, "extra_update", True)
    fixed = getattr(policy.reserve, "fixed_reservation", "no") != "no"
    if (loose or fixed) and not is_plain_easy(policy, cluster):
        raise PolicyError(
            f"{policy.name}: extra_update=no and fixed_reservation are defined for EASY on a "
            "pool of processors (order=fcfs, reserve=1) only"
        )
