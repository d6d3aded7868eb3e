"""The rules of a policy for single jobs, for check to hold against a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import contention_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.nodes.run_tables import believed
from shadowtime.engine.partitions import CLASS_NAMES, RUN, classes_of, tables_of
from shadowtime.engine.plan import in_one_sweep
from shadowtime.engine.run_tables import leaves_the_queue
from shadowtime.kernel.estimates import FIXED
from shadowtime.policy.backfill import Selected
from shadowtime.policy.policy import Policy
from shadowtime.schedule.check.rules import NO_RESERVATION_VIOLATION, Classes, Easy, Rules, Stretch
from shadowtime.types import NO_LIMIT, Ints
from shadowtime.workload import Workload
from shadowtime.workload.draws import demand_of

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site


def rules_of(policy: Policy | Any, workload: Workload, cluster: Cluster | Site) -> Rules | None:
    """What a policy means for each job of a workload.

    Rules
    -----
    The limit is the trace's. Slurm's policies on nodes add the grace to the request, and places
    with ``limit=pf`` the planned penalty. For a whole scheduler only the resolution of its times is
    known, if it declares one; None otherwise. On a site only class partitioning adds rules for a
    job to those of the site.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[5], procs=[1], request=[9])
    >>> rules_of(parse_policy("consres(grace=30)"), jobs, node_cluster(2)).limit.tolist()
    [39]
    """
    if hasattr(policy, "simulate"):
        grain = getattr(policy, "grain", None)
        if grain is None:
            return None
        return Rules(policy=_name(policy), limit=workload.limit, preempts=True, grain=grain)
    if not isinstance(cluster, Cluster):
        return _on_site(policy, workload, cluster)
    if not isinstance(policy, Policy):  # written in Python: it starts and stops jobs, no more
        return Rules(policy=_name(policy), limit=workload.limit, preempts=True)
    on_nodes = cluster.shape == "nodes"
    stretched = on_nodes and policy.place.stretches
    return Rules(
        policy=policy.name,
        limit=_limit(policy, workload) if on_nodes else workload.limit,
        preempts=policy.preempt.stops or policy.backfill.changes,
        save_every=policy.preempt.save_every,
        restart_s=policy.preempt.restart_s,
        stretched=stretched,
        stretch=_stretch(policy, workload, cluster) if stretched else None,
        classes=_classes(policy, workload, cluster),
        # A job cancelled in the queue may make room for others at any time.
        starts_at_events=not leaves_the_queue(workload)
        and not policy.reserve.kept
        and not plans_freely(policy)
        and not policy.estimate.expires,
        easy=_easy(policy, workload, cluster),
    )


def plans_freely(policy: Policy) -> bool:
    """True if a function chooses what starts and claims nothing about the head's reservation."""
    part = policy.backfill
    return isinstance(part, Selected) and NO_RESERVATION_VIOLATION not in part.claims


def _name(policy: Any) -> str:
    return str(getattr(policy, "name", None) or type(policy).__name__)


def _limit(policy: Policy, workload: Workload) -> Ints:
    """How long each job may run on nodes before any stretch."""
    if not policy.place.fills:
        return workload.limit
    grace = policy.place.seconds()
    if grace is None:
        return np.full(len(workload), NO_LIMIT, np.int64)
    return np.maximum(workload.request, 1) + grace


def _stretch(policy: Policy, workload: Workload, cluster: Cluster) -> Stretch | None:
    """What a stretched limit is made of; None where the schedule does not show it.

    Promises for good plan a limit long before the start, and predictions change with time.
    """
    contention = contention_of(cluster)
    known = known_at_submission(policy.estimate, workload)
    if contention is None or known.learner != FIXED or policy.reserve.kept:
        return None
    request = np.maximum(workload.request, 1)
    return Stretch(
        demand=believed(demand_of(workload, contention), contention, policy.estimate),
        span=np.minimum(known.estimate, request),
        request=request,
    )


def _easy(policy: Policy, workload: Workload, cluster: Cluster) -> Easy | None:
    """EASY's rule where it is the policy's, in submit order and with estimates that hold."""
    in_order = policy.order.by_arrival and cluster.shape == "pool"
    anywhere = policy.place.neutral and not policy.partition.restricts
    head_alone = policy.reserve.first == 1 and policy.reserve.fixed == "no"
    one = head_alone and not policy.preempt.stops
    known = known_at_submission(policy.estimate, workload)
    steady = known.safe and not leaves_the_queue(workload)
    exact = policy.backfill.exact and policy.backfill.respects
    per_event = policy.order.by_event  # overtaking jobs ignore what ends at that instant
    if (
        not (in_order and anywhere and one and exact and steady)
        or plans_freely(policy)
        or per_event
    ):
        return None
    greedy = in_one_sweep(policy)
    return Easy(estimate=known.estimate, greedy=greedy)


def _on_site(policy: Policy | Any, workload: Workload, site: Site) -> Rules | None:
    if not isinstance(policy, Policy) or not policy.partition.restricts:
        return None
    from shadowtime.engine.site.classes import site_classes

    made = site_classes(policy, site, workload)
    assert made is not None, "the only partition part that restricts"
    allowed = np.array([[of in dict(order) for of in made.group] for order in made.order], bool)
    classes = Classes(kind=made.kind, names=CLASS_NAMES, allowed=allowed, group=made.group)
    return Rules(policy=policy.name, limit=workload.limit, preempts=False, classes=classes)


def _classes(policy: Policy, workload: Workload, cluster: Cluster) -> Classes | None:
    part = policy.partition.classes
    if part is None or cluster.shape != "hosts":
        return None
    allowed = tables_of(part, cluster).tier[RUN] >= 0
    return Classes(kind=classes_of(part, workload), names=CLASS_NAMES, allowed=allowed)
