"""A policy written in Python on a site: the same event loop, one pass at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.failures import refuse_failed
from shadowtime.engine.python_policy import Observer, carry_out, estimate_of, jobs_of, policy_parts
from shadowtime.engine.saved import reading
from shadowtime.engine.site import steps
from shadowtime.engine.site.plan import in_python
from shadowtime.engine.site.run_tables import as_site_schedule, prepared_run, with_more_room
from shadowtime.engine.watch import Watch
from shadowtime.kernel.site.fields import Ground
from shadowtime.kernel.state import State, World
from shadowtime.policy.snapshot import ask_policy, name_of
from shadowtime.schedule import Schedule
from shadowtime.types import Ints
from shadowtime.workload import Workload


@dataclass(frozen=True)
class OnSite:
    """How decisions are carried out on a site: a start is placed by the site's rule."""

    state: State
    world: World
    ground: Ground
    stopped: dict[int, int] = field(default_factory=dict)
    """Jobs that were stopped, each with the job that was started next, -1 if none was."""

    def begin(self, row: int, reason: int) -> bool:
        """Start a job now; False if no nodes hold it or a limit forbids it."""
        if steps.begin_job(self.state, self.ground, row, reason) != steps.STARTED:
            return False
        for victim in [one for one, by in self.stopped.items() if by < 0]:
            self.stopped[victim] = row
        return True

    def stop(self, row: int) -> None:
        """Stop a running job."""
        steps.stop_job(self.state, self.world, self.ground, row)
        self.stopped[row] = -1


def simulate_object(
    workload: Workload, site: Site, policy: Any, *, watch: Watch | None = None
) -> Schedule:
    """Run a workload through an object with ``decide(snapshot)`` on a site.

    Rules
    -----
    ``fits`` of a waiting job is whether it could start now by itself: nodes, partitions, closings
    and limits considered. Its nodes are chosen by the place rule (the object's ``place``, default
    best-fit). A job that the policy never starts is left unstarted, as with any policy on a site.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.policy.snapshot import Start
    >>> from shadowtime.workload import Workload
    >>> class Eager:
    ...     def decide(self, snapshot):
    ...         return [Start(job.id, optional=True) for job in snapshot.waiting]
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> simulate_object(jobs, site, Eager()).start.tolist()
    [0, 9, 2]
    """
    name = name_of(policy)
    parts = policy_parts(policy)
    chosen = in_python(parts, site, workload)
    made = prepared_run(workload, site, estimate_of(policy), chosen)
    state, world, ground, events = made.state, made.world, made.ground, made.events
    index = {int(job_id): row for row, job_id in enumerate(workload.job_id)}
    observer = Observer(site.as_nodes(), jobs_of(workload, state))
    with reading(watch, workload, state.reg):
        while True:
            code = steps.go_to_pass(state, world, ground, events)
            if code == ROOM_NEEDED:
                state, ground = with_more_room(state, ground)
                continue
            if code != PASS_DUE:
                break
            if made.volatile:
                steps.update_expected(state, ground)
            seen = observer.snapshot(state, fits=fits_of(state, ground))
            carry_out(state, ask_policy(policy, seen), index, name, OnSite(state, world, ground))
            steps.finish_pass(state, world, ground, events)
    refuse_failed(parts, state, chosen.own, workload)
    claims = tuple(getattr(policy, "claims", ()))
    return as_site_schedule(
        workload, site, name, claims, state, world, ground, made.asks, made.node_at
    )


def fits_of(state: State, ground: Ground) -> Callable[[Ints], list[int]]:
    """Reports of waiting jobs, by row, whether each could start now by itself."""

    def fits(rows: Ints) -> list[int]:
        found = np.zeros(len(rows), np.int8)
        steps.fits_now(state, ground, rows, found)
        able: list[int] = (found > 0).tolist()
        return able

    return fits
