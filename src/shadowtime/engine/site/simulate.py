"""simulate(workload, site, policy): one run of a policy on a site."""

from __future__ import annotations

from typing import Any

from shadowtime.cluster.site import Site
from shadowtime.engine.claims import site_claims
from shadowtime.engine.events import ROOM_NEEDED
from shadowtime.engine.failures import refuse_failed
from shadowtime.engine.saved import reading
from shadowtime.engine.site.plan import in_python, prepare
from shadowtime.engine.site.run_tables import as_site_schedule, prepared_run, with_more_room
from shadowtime.engine.watch import Watch
from shadowtime.kernel.registers import COARSE
from shadowtime.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.series import with_bounds


def simulate_site(
    workload: Workload,
    site: Site,
    policy: Policy | Any,
    *,
    coarse_from: int = 0,
    watch: Watch | None = None,
) -> Schedule:
    """Run a workload through a policy on a site.

    ``coarse_from``: ends after that time are rounded by 3 % of how far they lie ahead of it at
    most, so that there are far fewer instants and passes; 0: none is.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> made = simulate_site(jobs, site, parse_policy("easy"))
    >>> made.start.tolist(), list(made.place)
    ([0, 9, 2], ['a:4', 'b:2 a:4', 'b:2'])
    """
    site = with_bounds(site, workload)
    if hasattr(policy, "decide"):
        from shadowtime.engine.site.python_policy import simulate_object

        return simulate_object(workload, site, policy, watch=watch)
    if policy.reserve.sunny:
        from shadowtime.engine.site.venture import run_venture

        chosen = in_python(policy, site, workload)
        made, state, ground = run_venture(workload, site, policy, chosen, watch)
        refuse_failed(policy, state, chosen.own, workload)
    else:
        chosen = prepare(policy, site, workload)
        made = prepared_run(workload, site, policy.estimate, chosen)
        if chosen.classes is not None:
            from shadowtime.engine.site.classes import reject_unplaceable

            reject_unplaceable(policy, chosen.classes, workload, site, made.asks)
        state, ground = made.state, made.ground
        state.reg[COARSE] = coarse_from
        if policy.order.by_usage:
            from shadowtime.engine.site.by_priority import run_by_priority

            with reading(watch, workload, state.reg, saves=True) as pauses:
                state, ground, counted = run_by_priority(
                    workload, site, policy, chosen, made, pauses
                )
            claims = site_claims(policy, workload, site)
            schedule = as_site_schedule(
                workload, site, policy.name, claims, state, made.world, ground, made.asks,
                made.node_at,
            )  # fmt: skip
            return schedule.replace(counters={**schedule.counters, **counted})
        arguments = chosen.arguments(ground)
        with reading(watch, workload, state.reg, saves=True) as pauses:
            held = state, made.world, ground, made.events, arguments
            (state, world, ground, events, arguments), _ = pauses.continued(held)
            while chosen.run(state, world, ground, events, *arguments) == ROOM_NEEDED:
                if not pauses.paused((state, world, ground, events, arguments)):
                    state, ground = with_more_room(state, ground)
        refuse_failed(policy, state, chosen.own, workload)
    claims = site_claims(policy, workload, site)
    return as_site_schedule(
        workload, site, policy.name, claims, state, made.world, ground, made.asks, made.node_at
    )
