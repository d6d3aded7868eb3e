"""A policy written in Python on a site: the same event loop, one pass at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.python_policy import carry_out, decisions_of, view_of
from shadowtime.engine.site import steps
from shadowtime.engine.site.simulate import as_site_schedule, prepared_run, with_more_room
from shadowtime.policy.estimate import Requested

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.engine.site.tables import Ground
    from shadowtime.kernel.state import State, World
    from shadowtime.policy.view import View
    from shadowtime.schedule import Schedule
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


@dataclass(frozen=True)
class OnSite:
    """How decisions are carried out on a site: a start is placed by the site's rule."""

    state: State
    world: World
    ground: Ground

    def begin(self, place: int, reason: int) -> bool:
        """Start a job now; False if no nodes hold it or a limit forbids it."""
        return bool(steps.begin_job(self.state, self.ground, place, reason) == steps.STARTED)

    def stop(self, place: int) -> None:
        """Stop a running job."""
        steps.stop_job(self.state, self.world, self.ground, place)


def simulate_object(workload: Workload, site: Site, policy: Any) -> Schedule:
    """Run a workload through an object with ``decide(view)`` on a site.

    Rules
    -----
    ``fits`` of a waiting job says whether it could start now by itself: nodes, partitions, closings
    and limits considered. Where it goes is the place rule's affair (the object's ``place``, default
    best-fit). A job that the policy never starts is left unstarted, as with any policy on a site.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.policy.view import Start
    >>> from shadowtime.workload import Workload
    >>> class Eager:
    ...     def decide(self, view):
    ...         return [Start(job.id, optional=True) for job in view.waiting]
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> simulate_object(jobs, site, Eager()).start.tolist()
    [0, 9, 2]
    """
    name = str(getattr(policy, "name", type(policy).__name__))
    estimate = getattr(policy, "estimate", Requested())
    rule = rule_of(policy, name)
    made = prepared_run(workload, site, estimate, rule=rule, keeps=0, plans=0)
    state, world, ground, events = made.state, made.world, made.ground, made.events
    index = {int(job_id): row for row, job_id in enumerate(workload.job_id)}
    while True:
        code = steps.go_to_pass(state, world, ground, events)
        if code == ROOM_NEEDED:
            state, ground = with_more_room(state, ground)
            continue
        if code != PASS_DUE:
            break
        if made.volatile:
            steps.update_expected(state, ground)
        view = with_fits(view_of(state, workload), state, ground, index)
        decisions = decisions_of(policy, view, name)
        carry_out(state, decisions, index, name, OnSite(state, world, ground))
        steps.finish_pass(state, world, ground, events)
    claims = tuple(getattr(policy, "claims", ()))
    return as_site_schedule(
        workload, site, name, claims, state, world, ground, made.asks, made.node_at
    )


def rule_of(policy: Any, name: str) -> int:
    """The place rule that an object asks for; best-fit if it says nothing."""
    from shadowtime.errors import PolicyError
    from shadowtime.kernel.site import fields
    from shadowtime.policy.place import NAMED

    wanted = getattr(policy, "place", "best-fit")
    known = {part.name: part.on_site for part in NAMED.values() if part.on_site}
    if wanted not in known:
        raise PolicyError(f"{name}: place={wanted} is none of {', '.join(known)}")
    return int(getattr(fields, known[wanted]))


def with_fits(view: View, state: State, ground: Ground, index: dict[int, int]) -> View:
    """The view with what could start now."""
    rows: Ints = np.array([index[job.id] for job in view.waiting], np.int64)
    fits = np.zeros(len(rows), np.int8)
    steps.fits_now(state, ground, rows, fits)
    jobs = zip(view.waiting, fits.tolist(), strict=True)
    return replace(view, waiting=tuple(replace(job, fits=bool(can)) for job, can in jobs))
