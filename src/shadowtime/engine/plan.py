"""From a policy's parts to the pass that carries them out.

A combination of parts without a defined meaning is rejected here, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import PolicyError
from shadowtime.policy import Policy, backfill, order

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own
    from shadowtime.kernel.ahead import Ahead
    from shadowtime.kernel.general import General
    from shadowtime.kernel.shortest import Shortest

Loop = Callable[..., int]
"""Runs the event loop on (state, world, arguments of the pass) until it is done or needs room."""


SAFE, BOLD = ("by-shadow", "shortest", 0), ("fits", "order", 0)
"""The two phases of PV-EASY's backfilling: test, key, at most."""


class Prepared(NamedTuple):
    """The pass that carries out a policy: its module in passes/, and the arguments it takes."""

    name: str
    arguments: tuple[Any, ...]


def loop_of(
    policy: Policy,
    cluster: Cluster,
    n: int,
    own: Own | None = None,
    ahead: Ahead | None = None,
) -> tuple[Loop, tuple[Any, ...]]:
    """The event loop with the right pass for this policy on this machine, and its arguments.

    Passes are imported here, when they are needed: each costs seconds to compile the first time.
    """
    made = prepare(policy, cluster, n, own, ahead)
    run: Loop = import_module(f"shadowtime.engine.passes.{made.name}").run
    return run, made.arguments


def prepare(
    policy: Policy,
    cluster: Cluster,
    n: int,
    own: Own | None = None,
    ahead: Ahead | None = None,
) -> Prepared:
    """The right pass for this policy on this machine, with room for ``n`` jobs.

    ``own`` is what the policy's own functions work with (custom.own_of); without it they get
    nothing but what the state's table holds of a job. ``ahead``: bounds that change, with which the
    pass for K resources alone plans.
    """
    policy.refuse_nonsense(cluster.shape)
    plain = is_plain_easy(policy, cluster)
    if not plain:
        refuse_loose_easy(policy)
    if policy.backfill.selects:
        return plan_select(policy, cluster, n, own)
    if policy.reserve.kept:
        return plan_conservative(policy, cluster, n)
    if plain:
        return plan_easy(policy, cluster, n)
    if is_pool_of_resources(policy, cluster):
        return plan_pool(policy, cluster, n, ahead)
    if is_priority_order(policy, cluster):
        return plan_priority(policy, cluster, n)
    if is_venture(policy, cluster):
        return plan_venture(policy, cluster, n)
    return plan_general(policy, cluster, n, own)


def is_plain_easy(policy: Policy, cluster: Cluster) -> bool:
    """True where EASY's fast pass makes the same decisions as the general one."""
    return (
        (policy.reserve.first == 0 or (policy.reserve.first == 1 and in_one_sweep(policy)))
        and cluster.shape == "pool"
        and len(cluster.resources) == 1
        and policy.order.by_arrival
        and not policy.preempt.stops
        and not policy.estimate.written
    )


def in_one_sweep(policy: Policy) -> bool:
    """True if jobs overtake around the reservation, in queue order or the shortest first."""
    keys = ("order", "shortest", "least-penalty")
    sweeps = [phase.test == "around" and phase.key in keys for phase in policy.backfill.phases]
    return sweeps == [True] and not policy.backfill.written


def is_pool_of_resources(policy: Policy, cluster: Cluster) -> bool:
    """True where the pass for one reservation on K resources decides as the general one does."""
    part = policy.backfill
    known = part.weighs or not part.phases or in_one_sweep(policy)
    return (
        (policy.reserve.first == 0 or (policy.reserve.first == 1 and known))
        and cluster.shape == "pool"
        and (part.weighs or len(cluster.resources) > 1)
        and policy.order.by_arrival
        and not policy.preempt.stops
        and not policy.estimate.written
    )


def is_priority_order(policy: Policy, cluster: Cluster) -> bool:
    """True where jobs of equal estimate and needs come in order of arrival: passes/priority.py."""
    expansion, wait, _ = policy.order.weights
    return (
        cluster.shape in ("pool", "hosts")
        and (policy.reserve.first or 0) > 0
        and policy.backfill.in_order
        and not policy.order.written
        and min(expansion, wait) >= 0
        and not policy.preempt.stops
        and not policy.estimate.written
        and not policy.estimate.changes
    )


def is_venture(policy: Policy, cluster: Cluster) -> bool:
    """True where PV-EASY's fast pass makes the same decisions as the general one."""
    phases = [(phase.test, phase.key, phase.at_most) for phase in policy.backfill.phases]
    return (
        policy.reserve.sunny
        and phases in ([SAFE], [SAFE, BOLD])
        and not policy.backfill.written
        and cluster.shape == "pool"
        and len(cluster.resources) == 1
        and policy.order.by_arrival
        and not policy.estimate.written
        and not policy.preempt.written
    )


def plan_easy(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """EASY on a pool of processors."""
    from shadowtime.engine.passes import easy
    from shadowtime.kernel.shortest import make_shortest

    phases = policy.backfill.phases
    rule = easy.CAREFUL if policy.backfill.respects else easy.ANYBODY
    shortest_first = [phase.key for phase in phases] in (["shortest"], ["least-penalty"])
    parameters = np.array(
        [
            shortest_first,
            not policy.backfill.exact,
            easy.FIXED[policy.reserve.fixed],
            rule if phases else easy.NONE_OVERTAKES,
        ],
        dtype=np.int64,
    )
    if shortest_first:
        return Prepared("easy", (parameters, make_shortest(n=n, procs=cluster.procs, used=True)))
    return Prepared("easy", (parameters, _no_index()._replace(found=np.empty(n + 1, np.int64))))


@cache
def _no_index() -> Shortest:
    """An index that is never asked and so never written: all runs may share it."""
    from shadowtime.kernel.shortest import make_shortest

    return make_shortest(n=0, procs=1, used=False)


def plan_pool(policy: Policy, cluster: Cluster, n: int, ahead: Ahead | None = None) -> Prepared:
    """One reservation, or none, on a pool of K resources."""
    from shadowtime.engine.passes import pool
    from shadowtime.kernel.balance import common_scale

    phases = policy.backfill.phases
    made = pool.make_pool(
        n=n,
        resources=len(cluster.resources),
        rule=rule_of(policy.backfill),
        reserves=policy.reserve.first != 0,
        at_most=phases[0].at_most if phases else 0,
        scale=common_scale(cluster.hosts[0].capacity) if policy.backfill.weighs else None,
        ahead=ahead,
    )
    return Prepared("pool", (made,))


def rule_of(part: backfill.Backfill) -> int:
    """The rule of a backfill part in the pass for K resources."""
    from shadowtime.engine.passes import pool as p

    if not part.phases:
        return p.NONE_OVERTAKES
    [phase] = part.phases
    by_test = {
        "not-worse": p.NOT_WORSE,
        "not-worse-frozen": p.NOT_WORSE_FROZEN,
        "literal": p.LITERAL,
    }
    by_key = {
        "order": p.IN_ORDER,
        "shortest": p.SHORTEST,
        "least-penalty": p.SHORTEST,  # no job is penalised on a pool
        "balance": p.BALANCE,
        "least-used": p.LEAST_USED,
    }
    return by_test[phase.test] if phase.test in by_test else by_key[phase.key]


def plan_general(policy: Policy, cluster: Cluster, n: int, own: Own | None) -> Prepared:
    """The general pass."""
    from shadowtime.engine.custom import own_of

    own = own_of(policy, None) if own is None else own
    return Prepared("general", (parameters_of(policy, cluster, n, own), own.pointer))


def parameters_of(policy: Policy, cluster: Cluster, n: int, own: Own | None) -> General:
    """A policy's parts as the general pass takes them."""
    from shadowtime.engine.passes.phases import make_general
    from shadowtime.kernel.balance import common_scale

    kind, weight = order_of(policy.order)
    scale = common_scale(cluster.hosts[0].capacity) if policy.backfill.weighs else None
    depth = policy.reserve.depth(n)
    tables = None
    if policy.partition.classes is not None:
        from shadowtime.engine.partitions import tables_of

        tables = tables_of(policy.partition.classes, cluster)
    if tables is not None:
        depth = n  # the caps bound the reservations
    return make_general(
        n=n,
        capacity=np.array([host.capacity for host in cluster.hosts], np.int64),
        order=kind,
        weight=weight,
        depth=depth,
        sunny_only=policy.reserve.sunny,
        preempt=policy.preempt.stops,
        prune=policy.preempt.spares,
        phases=phases_of(policy.backfill),
        scale=scale,
        tables=tables,
        own=own,
    )


def plan_priority(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """A priority order with reservations, over queues of jobs that are alike."""
    from shadowtime.kernel.alike import make_alike

    kind, weight = order_of(policy.order)
    apart = policy.partition.classes is not None  # its caps refuse kinds, not lines
    made = parameters_of(policy, cluster, n, None)
    steps = made.profile.time.shape[1]
    queues = make_alike(n=n, order=kind, weight=weight, apart=apart, steps=steps)
    return Prepared("priority", (made, queues))


def plan_select(policy: Policy, cluster: Cluster, n: int, own: Own | None) -> Prepared:
    """A function chooses from the whole queue."""
    from shadowtime.engine.custom import own_of
    from shadowtime.engine.passes.phases import make_general
    from shadowtime.kernel.choice import make_choice

    kind, weight = order_of(policy.order)
    own = own_of(policy, None) if own is None else own
    made = make_general(
        n=n,
        capacity=np.array([host.capacity for host in cluster.hosts], np.int64),
        order=kind,
        weight=weight,
        depth=n,  # room for a plan of every waiting job
        own=own,
    )
    asked = own.chooser
    choice = make_choice(
        n, len(cluster.resources), made.profile, asked.values, more=len(asked.columns)
    )
    pointer = asked.attach(choice, made.profile)
    return Prepared("select", (made, choice, own.pointer, pointer))


def plan_venture(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """PV-EASY on a pool of processors."""
    from shadowtime.kernel.shortest import make_shortest

    preempt, ventures = policy.preempt, len(policy.backfill.phases) > 1
    parameters = np.array([preempt.stops, 0, preempt.spares, ventures], dtype=np.int64)
    index = make_shortest(n=n, procs=cluster.procs, used=True, changes=True)
    return Prepared("venture", (parameters, index))


def plan_conservative(policy: Policy, cluster: Cluster, n: int) -> Prepared:
    """Promises that outlive the pass."""
    from shadowtime.engine.passes import conservative

    made = conservative.make_availability(
        n=n,
        capacity=np.array([host.capacity for host in cluster.hosts], np.int64),
        compress=policy.reserve.compresses,
    )
    return Prepared("conservative", (made,))


def order_of(part: order.Order) -> tuple[int, tuple[float, float, float]]:
    """Kind and weights of an order for the kernels."""
    from shadowtime.kernel import order as kinds

    return getattr(kinds, part.kind), part.weights


def phases_of(part: backfill.Backfill) -> tuple[tuple[int, int, int], ...]:
    """The phases of a backfill part: (test, key, at most)."""
    from shadowtime.engine.passes import phases as p

    tests = {
        "fits": p.FITS,
        "around": p.AROUND,
        "by-shadow": p.BY_SHADOW,
        "not-worse": p.NOT_WORSE,
        "not-worse-frozen": p.NOT_WORSE_FROZEN,
        "literal": p.LITERAL,
    }
    keys = {
        "order": p.ORDER,
        "shortest": p.SHORTEST,
        "least-penalty": p.SHORTEST,  # no job is penalised where none slows another down
        "balance": p.BALANCE,
        "least-used": p.LEAST_USED,
        "own": p.OWN,
    }
    return tuple((tests[phase.test], keys[phase.key], phase.at_most) for phase in part.phases)


def refuse_functions_on_nodes(policy: Policy) -> None:
    """Reject a user's own functions where the passes on nodes never call them."""
    for part in policy.parts.values():
        if part.written and part.slot != "order":
            raise PolicyError(
                f"{policy.name}: {part.slot}={part} is a function of your own, which passes on "
                f"nodes never ask; use a {'site' if part.slot == 'place' else 'pool or hosts'}"
            )


def refuse_loose_easy(policy: Policy) -> None:
    """Reject the readings of EASY that only its own pass knows."""
    if not policy.backfill.exact or policy.reserve.fixed != "no":
        raise PolicyError(
            f"{policy.name}: extra_update=no and fixed_reservation are defined for EASY on a "
            "pool of processors (order=fcfs, reserve=1) only"
        )
