"""simulate(workload, cluster, policy) -> Schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.cluster import Cluster
from shadowtime.engine import plan
from shadowtime.engine.claims import claims_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.run_tables import (
    as_schedule,
    keep_work,
    leaves_the_queue,
    mark_classes,
    places_of,
    refuse_unfit,
    seen_by_instants,
    with_more_room,
)
from shadowtime.engine.saved import reading
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.state import build
from shadowtime.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.series import bounded_amounts

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.workload.site_requests import Counted


def simulate(
    workload: Workload,
    cluster: Cluster | Site,
    policy: Policy | Any,
    *,
    watch: Watch | None = None,
) -> Schedule:
    """Run a workload through a policy on a machine.

    Rules
    -----
    Every job must fit on the machine (``workload.clean.fit`` drops or rejects those that do not).
    ``policy`` is a Policy, any object with ``decide`` (engine/python_policy.py): slower, same
    result; or a whole scheduler with ``simulate`` (shadowtime.slurm.policy). ``watch`` sees how
    far the run is, and has the checkpoint to continue from (engine/watch.py).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> simulate(jobs, Cluster.pool(4), parse_policy("easy")).start.tolist()
    [0, 9, 2]
    """
    if len(workload.follows):
        from shadowtime.engine.following import simulate_following

        return simulate_following(workload, cluster, policy, watch=watch)
    bounded = bounded_amounts(workload)
    if bounded and (hasattr(policy, "simulate") or cluster.shape not in ("pool", "site")):
        raise PolicyError(
            f"the series {bounded[0]} is a bound that changes over time, which only policies made "
            "of parts can keep, on pools and sites: leave it out, or give it another name"
        )
    if hasattr(policy, "simulate"):  # a whole scheduler, such as Slurm's own
        seen = {} if watch is None else {"watch": watch}
        return policy.simulate(workload, cluster, **seen)  # type: ignore[no-any-return]
    if not isinstance(cluster, Cluster):  # a site, whose types most runs do not need
        from shadowtime.engine.site import simulate_site

        return simulate_site(workload, cluster, policy, watch=watch)
    if cluster.shape == "nodes":
        from shadowtime.engine.nodes import simulate_nodes

        if not hasattr(policy, "decide"):
            plan.refuse_functions_on_nodes(policy)
        return simulate_nodes(workload, cluster, policy, watch=watch)
    own_code = hasattr(policy, "decide")
    by_usage = not own_code and policy.order.by_usage
    begins = not own_code and policy.order.begins
    as_site = by_usage or begins or leaves_the_queue(workload) or bool(bounded)
    if bounded and own_code:
        raise PolicyError(
            f"the series {bounded[0]} is a bound that changes over time, which a policy written as "
            "a Python class can keep on a site only: describe the machine as one, or leave it out"
        )
    if cluster.shape == "pool" and not own_code and as_site:
        from shadowtime.engine.site import simulate_site
        from shadowtime.workload.site_requests import pool_as_site, pool_with_bounds

        if bounded and not by_usage and not leaves_the_queue(workload) and not policy.written:
            counted = pool_with_bounds(workload, cluster)
            if counted is not None and keeps_bounds(policy, counted):
                made = _compiled(*counted[:2], policy, watch=watch, counted=counted)
                if made is not None:
                    return made
                watch = None  # what was saved of this run is of no use for the other one
        asked, site = pool_as_site(workload, cluster)
        return simulate_site(asked, site, policy, watch=watch).replace(place=None)
    refuse_unfit(workload, cluster)
    if not own_code and policy.backfill.changes:
        from shadowtime.engine.changing import simulate_changing

        return simulate_changing(workload, cluster, policy, watch=watch)
    if hasattr(policy, "decide"):
        from shadowtime.engine.python_policy import simulate_object

        return simulate_object(workload, cluster, policy, watch=watch)
    made = _compiled(workload, cluster, policy, watch=watch)
    assert made is not None
    return made


def keeps_bounds(policy: Policy, counted: Counted) -> bool:
    """True where the pass for K resources plans with these bounds as those of a site do.

    Not with estimates that jobs outlive: the two plan on from there differently.
    """
    if policy.estimate.expires:
        return False
    changes = len(counted.time) > 0
    simple = not (policy.backfill.weighs or policy.order.by_event) and plan.in_one_sweep(policy)
    return plan.is_pool_of_resources(policy, counted.pool) and (simple or not changes)


def _compiled(
    workload: Workload,
    cluster: Cluster,
    policy: Policy,
    *,
    watch: Watch | None,
    counted: Counted | None = None,
) -> Schedule | None:
    """Run a compiled pass on a pool or hosts; None if bounds that change never let a job start."""
    known = known_at_submission(policy.estimate, workload)
    state, world = build(
        workload, cluster, estimate=known.estimate, learner=known.learner, compiled=True
    )
    mark_classes(state, workload, cluster, policy)
    state.reg[r.VOLATILE] = not known.safe
    state.reg[r.CLAMPED] = known.clamped
    keep_work(state, policy)
    state.reg[r.BY_EVENT] = policy.order.by_event
    own = None
    if policy.written:
        from shadowtime.engine.custom import own_of

        own = own_of(policy, workload)
    ahead = None
    if counted is not None and len(counted.time):
        from shadowtime.kernel.ahead import make_ahead

        ahead = make_ahead(
            time=counted.time, drop=counted.missing, room=len(state.running),
            longest=int(known.estimate.max(initial=0)),
        )  # fmt: skip
    run, arguments = plan.loop_of(policy, cluster, len(workload), own, ahead)
    from shadowtime.engine.events import DONE, NEVER_FITS, ROOM_NEEDED

    saves = not policy.backfill.selects  # its tables hold addresses
    with reading(watch, workload, state.reg, saves=saves) as pauses:
        (state, world, arguments), _ = pauses.continued((state, world, arguments))
        while (code := int(run(state, world, *arguments))) == ROOM_NEEDED:
            if not pauses.paused((state, world, arguments)):
                state = with_more_room(state)
    if code == NEVER_FITS:
        return None
    if code != DONE:
        from shadowtime.engine.failures import raise_failure

        raise_failure(policy, code, state, own, lambda job: str(workload.job_id[job]))
    if policy.backfill.selects and (state.job[:, f.START] < 0).any():
        stuck = int(workload.job_id[state.job[:, f.START] < 0][0])
        raise PolicyError(f"{policy.name} never starts job {stuck}: nothing is left to wait for")
    claims = claims_of(policy, workload)
    limit = workload.limit  # none of these passes changes it
    made = as_schedule(workload, state, world, name=policy.name, claims=claims, limit=limit)
    if policy.order.by_event:
        made = seen_by_instants(made)
    return made.replace(place=places_of(state, cluster)) if cluster.shape == "hosts" else made
