"""Starts that a later reservation forbids: a scheduler uses time limits, not predictions.

A policy that predicts run times may place a job on a node whose reservation begins after the
predicted end and before the job's time limit. In a simulation that is a start like any other; Slurm
leaves the job waiting until the reservation is over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.engine.live_pass import Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.engine.live_pass import Decision, Snapshot, WaitingJob


def closing_for(job: WaitingJob, state: Snapshot) -> frozenset[str]:
    """The nodes that a reservation other than the job's own closes before its time limit.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.cluster.site import Node, Reservation, Site
    >>> from shadowtime.engine.live_pass import Snapshot, WaitingJob
    >>> course = Reservation(name="course", nodes=("n1",), begin=50, end=90)
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), reservations=(course,))
    >>> one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(now=10, cluster=one, site=site)
    >>> long = WaitingJob(id="7", submit=0, need=(1,), request=60)
    >>> sorted(closing_for(long, state)), sorted(closing_for(replace(long, request=40), state))
    (['n1'], [])
    """
    named = job.ask.reservation if job.ask is not None else ""
    return frozenset(
        node
        for one in (state.site.reservations if state.site is not None else ())
        if one.name != named and state.now < one.begin < state.now + job.request
        for node in one.nodes
    )


def reaches_a_closing(decisions: Sequence[Decision], state: Snapshot) -> bool:
    """Whether a start lies on a node that closes before the job's time limit."""
    if state.site is None or not any(one.begin > state.now for one in state.site.reservations):
        return False
    waiting = {job.id: job for job in state.waiting}
    return any(
        not closing_for(waiting[start.job], state).isdisjoint(host for host, _ in start.place)
        for start in decisions
        if isinstance(start, Start) and start.job in waiting
    )


def kept_clear(state: Snapshot) -> Snapshot:
    """The state in which no job accepts a node that closes before its time limit."""
    return state.replace(waiting=tuple(_clear_of(job, state) for job in state.waiting))


def _clear_of(job: WaitingJob, state: Snapshot) -> WaitingJob:
    closing = closing_for(job, state)
    if job.ask is None or closing <= set(job.ask.excluded):
        return job
    excluded = tuple(sorted({*job.ask.excluded, *closing}))
    return replace(job, ask=replace(job.ask, excluded=excluded))
