"""From a number of processors to hosts: where a start on a pool goes.

First fit over the cluster's order of hosts: a rule a simulated schedule can be walked through too,
so that the hosts can be compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.engine.once import Decision, Place, Running, State, Waiting

Free = dict[str, list[int]]
"""What is free on each host, per resource."""


def free_of(state: State) -> Free:
    """What is free on every host of the cluster now.

    A running job's further resources are shared out by its processors where it does not say.
    """
    free = {host.name: list(host.capacity) for host in state.cluster.hosts}
    for job in state.running:
        for host, amounts in held_by(job):
            if host in free:
                for k, amount in enumerate(amounts):
                    free[host][k] -= amount
    return free


def held_by(job: Running) -> list[tuple[str, tuple[int, ...]]]:
    """What a running job holds on each of its hosts."""
    if job.held:
        return list(job.held)
    procs = sum(count for _, count in job.place) or 1
    return [
        (host, (count, *(-(-amount * count // procs) for amount in job.need[1:])))
        for host, count in job.place
    ]


def first_fit(job: Waiting, free: Free, capacity: Free) -> Place:
    """The first hosts with room, in order; empty if there is no room.

    Rules
    -----
    A job that wants a number of nodes gets an equal share on each; others fill up one host after
    the other. Who shares with nobody takes empty hosts, whole.

    Examples
    --------
    >>> from shadowtime.engine.once import Waiting
    >>> free = {"n1": [1], "n2": [4], "n3": [4]}
    >>> whole = {"n1": [4], "n2": [4], "n3": [4]}
    >>> first_fit(Waiting(id="1", submit=0, need=(6,), request=9), free, whole)
    (('n1', 1), ('n2', 4), ('n3', 1))
    >>> first_fit(Waiting(id="1", submit=0, need=(6,), request=9, nodes=2), free, whole)
    (('n2', 3), ('n3', 3))
    >>> first_fit(Waiting(id="1", submit=0, need=(2,), request=9, alone=True), free, whole)
    (('n2', 2),)
    """
    procs = job.need[0]
    names = [name for name in free if not job.only or name in job.only]
    if job.alone:
        names = [name for name in names if free[name] == capacity[name]]
    if job.nodes > 0:
        share = -(-procs // (job.nodes * job.chunk)) * job.chunk
        others = [-(-amount // job.nodes) for amount in job.need[1:]]
        roomy = [name for name in names if room(free[name], (share, *others))][: job.nodes]
        if len(roomy) < job.nodes:
            return ()
        counts = [min(share, procs - share * k) for k in range(job.nodes)]
        return tuple((name, max(1, count)) for name, count in zip(roomy, counts, strict=True))
    place: list[tuple[str, int]] = []
    left = procs
    for name in names:
        count = min(left, free[name][0]) // job.chunk * job.chunk
        while count > 0 and not room(free[name], portion(job.need, count)):
            count -= job.chunk
        if count > 0:
            place.append((name, count))
            left -= count
        if left == 0:
            return tuple(place)
    return ()


def room(free: Sequence[int], need: Sequence[int]) -> bool:
    """True if needs fit."""
    return all(have >= want for have, want in zip(free, need, strict=True))


def portion(need: Sequence[int], count: int) -> tuple[int, ...]:
    """The share of a job's needs that goes with some of its processors."""
    return (count, *(-(-amount * count // need[0]) for amount in need[1:]))


def again(job: Running) -> Waiting:
    """A job that was stopped in this pass, as it will wait."""
    from shadowtime.engine.once import Waiting

    return Waiting(
        id=job.id, submit=job.submit, need=job.need, request=job.request, alone=job.alone
    )


def placed(decisions: Sequence[Decision], state: State) -> list[Decision]:
    """The same decisions with hosts for every start; a start that finds none keeps none.

    Decisions take effect one after the other: what a stopped job gives up is there for the next.
    """
    from shadowtime.engine.once import Start

    free = free_of(state)
    capacity = {host.name: list(host.capacity) for host in state.cluster.hosts}
    waiting = {job.id: job for job in state.waiting}
    running = {job.id: job for job in state.running}
    found: list[Decision] = []
    for decision in decisions:
        if not isinstance(decision, Start):
            for host, amounts in held_by(running[decision.job]) if decision.job in running else ():
                for k, amount in enumerate(amounts if host in free else ()):
                    free[host][k] += amount
            found.append(decision)
            continue
        job = waiting.get(decision.job) or again(running[decision.job])
        if decision.alone and not job.alone:
            job = replace(job, alone=True)
        place = decision.place or first_fit(job, free, capacity)
        for host, count in place:
            taken = capacity[host] if job.alone else portion(job.need, count)
            for k, amount in enumerate(taken):
                free[host][k] -= amount
        found.append(replace(decision, place=place))
    return found
