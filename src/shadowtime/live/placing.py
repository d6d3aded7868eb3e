"""From a number of processors to hosts: the placement of a start on a pool, if it has any.

First fit over the cluster's order of hosts: the rule can also be applied to a simulated schedule,
so that the hosts can be compared. A job that does not fit on the empty hosts has no place at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.policy.snapshot import NO_HOST

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.live_pass import Decision, Place, RunningJob, Snapshot, Start, WaitingJob
    from shadowtime.engine.live_pass.outcome import Shape


Free = dict[str, list[int]]
"""What is free on each host, per resource."""


def free_of(state: Snapshot) -> Free:
    """What is free on every host of the cluster now.

    A running job's other resources are distributed by its processors if the job does not specify
    it.
    """
    free = {host.name: list(host.capacity) for host in state.cluster.hosts}
    for job in state.running:
        for host, amounts in held_by(job):
            if host in free:
                for k, amount in enumerate(amounts):
                    free[host][k] -= amount
    return free


def held_by(job: RunningJob) -> list[tuple[str, tuple[int, ...]]]:
    """What a running job holds on each of its hosts; a suspended one has no processors."""
    held = list(job.held)
    if not held:
        procs = sum(count for _, count in job.place) or 1
        held = [
            (host, (count, *(-(-amount * count // procs) for amount in job.need[1:])))
            for host, count in job.place
        ]
    return [(host, (0, *amounts[1:])) for host, amounts in held] if job.suspended else held


def lacking(place: Place, free: Free) -> str:
    """The first host whose processors do not suffice for a job to continue; empty if all do."""
    short = (host for host, count in place if host not in free or free[host][0] < count)
    return next(short, "")


def kept_whole(running: Iterable[RunningJob]) -> set[str]:
    """The hosts on which no exclusive job starts: an exclusive one is suspended there.

    So has Slurm it. A job that shares its nodes starts above one that is suspended.
    """
    return {host for job in running if job.suspended and job.alone for host, _ in job.place}


def avoiding(job: WaitingJob, barred: Collection[str], cluster: Cluster) -> WaitingJob:
    """A job that may use all hosts but these, if it is an exclusive one."""
    if not job.alone or not barred:
        return job
    names = job.only or tuple(host.name for host in cluster.hosts)
    return replace(job, only=tuple(name for name in names if name not in barred) or (NO_HOST,))


def first_fit(job: WaitingJob, free: Free, capacity: Free) -> Place:
    """The first hosts with room, in order; empty if there is no room.

    Rules
    -----
    A job that requests a number of nodes gets an equal share on each; others fill one host after
    the other. An exclusive job takes whole empty hosts.

    Examples
    --------
    >>> from shadowtime.engine.live_pass import WaitingJob
    >>> free = {"n1": [1], "n2": [4], "n3": [4]}
    >>> whole = {"n1": [4], "n2": [4], "n3": [4]}
    >>> first_fit(WaitingJob(id="1", submit=0, need=(6,), request=9), free, whole)
    (('n1', 1), ('n2', 4), ('n3', 1))
    >>> first_fit(WaitingJob(id="1", submit=0, need=(6,), request=9, nodes=2), free, whole)
    (('n2', 3), ('n3', 3))
    >>> first_fit(WaitingJob(id="1", submit=0, need=(2,), request=9, alone=True), free, whole)
    (('n2', 2),)
    """
    procs = job.need[0]
    names = [name for name in free if not job.only or name in job.only]
    if job.alone:
        names = [name for name in names if free[name] == capacity[name]]
    if job.nodes > 0:
        share = -(-procs // (job.nodes * job.chunk)) * job.chunk
        most = (share, *portion(job, min(share, procs))[1:])
        roomy = [name for name in names if room(free[name], most)][: job.nodes]
        if len(roomy) < job.nodes:
            return ()
        counts = [min(share, procs - share * k) for k in range(job.nodes)]
        return tuple((name, max(1, count)) for name, count in zip(roomy, counts, strict=True))
    place: list[tuple[str, int]] = []
    left = procs
    for name in names:
        count = min(left, free[name][0]) // job.chunk * job.chunk
        while count > 0 and not room(free[name], portion(job, count)):
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


def portion(job: WaitingJob, count: int) -> tuple[int, ...]:
    """The share of a job's needs that belongs to some of its processors on one host.

    Examples
    --------
    >>> from shadowtime.engine.live_pass import WaitingJob
    >>> portion(WaitingJob(id="1", submit=0, need=(4, 8000), request=9), 1)
    (1, 2000)
    >>> portion(WaitingJob(id="1", submit=0, need=(4, 8000), request=9, each=(0, 8000)), 1)
    (1, 8000)
    """
    shares = (-(-amount * count // job.need[0]) for amount in job.need[1:])
    if not job.each:
        return (count, *shares)
    return (count, *(own or share for own, share in zip(job.each[1:], shares, strict=True)))


def again(job: RunningJob) -> WaitingJob:
    """A job that was stopped in this pass, as it will wait."""
    from shadowtime.engine.live_pass import WaitingJob

    return WaitingJob(
        id=job.id, submit=job.submit, need=job.need, request=job.request, alone=job.alone
    )


def with_start(job: WaitingJob, start: Start, cluster: Cluster) -> WaitingJob:
    """A job with everything that its start needs: exclusive nodes, another size, the bandwidth
    found under its tag.

    That bandwidth is passed to Slurm with the start, which then enforces it like any other request.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.engine.live_pass import Start, WaitingJob
    >>> job = WaitingJob(id="1", submit=0, need=(6, 0), request=9, chunk=3, tag="cg", bandwidth=900)
    >>> with_start(job, Start(job="1", bandwidth=1000), node_cluster(2, bandwidth=1300)).need
    (6, 2000)
    >>> wide = WaitingJob(id="1", submit=0, need=(8,), request=9, nodes=2, alone=True)
    >>> bigger = with_start(wide, Start(job="1", procs=12), node_cluster(4))
    >>> bigger.nodes, bigger.need
    (3, (12,))
    """
    if start.procs:
        nodes = max(1, job.nodes) * start.procs // job.procs
        sized = tuple(-(-amount * start.procs // job.procs) for amount in job.need)
        return replace(job, nodes=nodes, need=sized)
    if start.alone and not job.alone:
        return replace(job, alone=True)
    shared = cluster.options.get("contention", {}).get("shared", ())
    if start.alone or start.bandwidth <= 0 or not job.tag or not shared:
        return job
    need = list(job.need)
    need[cluster.resources.index(shared[0])] = start.bandwidth * -(-job.need[0] // job.chunk)
    return replace(job, need=tuple(need))


def holds(place: Place, job: WaitingJob, free: Free, capacity: Free) -> bool:
    """True if hosts have room for a job's share on each."""
    return all(
        host in free and room(free[host], capacity[host] if job.alone else portion(job, count))
        for host, count in place
    )


def together(decisions: Sequence[Decision]) -> Iterator[list[Decision]]:
    """Stops with the start they make room for, which follows them; everything else by itself.

    Examples
    --------
    >>> from shadowtime.engine.live_pass import Start, Stop
    >>> a, b, c = Start(job="a"), Start(job="b"), Start(job="c")
    >>> made = together([a, Stop(job="x"), Stop(job="y"), b, c, Stop(job="z")])
    >>> [[decision.job for decision in group] for group in made]
    [['a'], ['x', 'y', 'b'], ['c'], ['z']]
    """
    from shadowtime.engine.live_pass import Continue, Start

    stops: list[Decision] = []
    for decision in decisions:
        if isinstance(decision, Start | Continue):
            yield [*stops, decision]
            stops = []
        else:
            stops.append(decision)
    for stop in stops:
        yield [stop]


def keeps(run: RunningJob, procs: int) -> Place:
    """The hosts that a running job keeps when it shrinks: its first ones, as Slurm has it.

    Examples
    --------
    >>> from shadowtime.engine.live_pass import RunningJob
    >>> place = (("n1", 4), ("n2", 4), ("n3", 4))
    >>> keeps(RunningJob(id="1", submit=0, need=(12,), request=9, start=0, place=place), 8)
    (('n1', 4), ('n2', 4))
    """
    kept: list[tuple[str, int]] = []
    for host, count in run.place:
        if sum(held for _, held in kept) >= procs:
            break
        kept.append((host, count))
    return tuple(kept)


def given_up(run: RunningJob, decision: Decision) -> list[tuple[str, tuple[int, ...]]]:
    """What a running job releases when it stops, goes on with fewer hosts or is suspended.

    Examples
    --------
    >>> from shadowtime.engine.live_pass import Resize, RunningJob, Stop, Suspend
    >>> place = (("n1", 4), ("n2", 4))
    >>> run = RunningJob(id="1", submit=0, need=(8, 600), request=9, start=0, place=place)
    >>> given_up(run, Resize("1", 4, place[:1])), given_up(run, Suspend("1"))
    ([('n2', (4, 300))], [('n1', (4, 0)), ('n2', (4, 0))])
    """
    from shadowtime.engine.live_pass import Resize, Suspend

    if isinstance(decision, Suspend):
        return [(host, (amounts[0], *(0 for _ in amounts[1:]))) for host, amounts in held_by(run)]
    kept = {host for host, _ in decision.place} if isinstance(decision, Resize) else ()
    return [(host, amounts) for host, amounts in held_by(run) if host not in kept]


def placed(decisions: Sequence[Decision], state: Snapshot) -> list[Decision]:
    """The same decisions with hosts for every start; a start that finds none has none.

    Hosts that a pass names are used if they have room for everything the job needs: a pass that
    plans without memory may name others, and then the first with room are used. Decisions take
    effect one after the other: what a stopped job releases is available to the next.
    """
    from shadowtime.engine.live_pass import Continue, Resize, Start, Suspend

    free = free_of(state)
    barred = kept_whole(state.running)
    capacity = {host.name: list(host.capacity) for host in state.cluster.hosts}
    waiting = {job.id: job for job in state.waiting}
    running = {job.id: job for job in state.running}
    found: list[Decision] = []
    for decision in decisions:
        if not isinstance(decision, Start):
            run = running.get(decision.job)
            if isinstance(decision, Continue) and run is not None:
                fits = not lacking(run.place, free)
                for host, count in run.place if fits else ():
                    free[host][0] -= count
                found.append(replace(decision, place=run.place if fits else ()))
                continue
            if isinstance(decision, Resize) and run is not None:
                decision = replace(decision, place=keeps(run, decision.procs))
            if isinstance(decision, Suspend) and run is not None:
                barred |= kept_whole([replace(run, suspended=True)])
            for host, amounts in given_up(run, decision) if run is not None else ():
                for k, amount in enumerate(amounts if host in free else ()):
                    free[host][k] += amount
            found.append(decision)
            continue
        job = waiting.get(decision.job) or again(running[decision.job])
        job = avoiding(with_start(job, decision, state.cluster), barred, state.cluster)
        place = decision.place
        if not place or not holds(place, job, free, capacity):
            place = first_fit(job, free, capacity)
        for host, count in place:
            taken = capacity[host] if job.alone else portion(job, count)
            for k, amount in enumerate(taken):
                free[host][k] -= amount
        found.append(replace(decision, place=place))
    return found


NOWHERE = "no usable host has what it asks for"
TOO_BIG = "the hosts that can be used now could not hold it even if they were empty"
CLOSED = "no host can be used now"
NOWHERE_ON_SITE = (
    "no usable nodes of its partitions could hold it even if they were empty, or the bounds of "
    "its partitions, QOS or account forbid it"
)
FITS_NOWHERE = (NOWHERE, TOO_BIG, CLOSED, NOWHERE_ON_SITE)


class Empty:
    """The usable hosts as if they were empty, counted by what they have: few kinds of many hosts.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import WaitingJob
    >>> two = Empty(Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,)))))
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(8,), request=9))
    ''
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(8,), request=9, nodes=4))
    'the hosts that can be used now could not hold it even if they were empty'
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(1,), request=9, only=("n3",)))
    'no usable host has what it asks for'
    """

    def __init__(self, cluster: Cluster, *, shape: Shape = "pool") -> None:
        self._one_host = shape == "hosts"  # a job without a number of nodes has one
        self._has = {host.name: host.capacity for host in cluster.hosts if host.name != NO_HOST}
        self._kinds: dict[tuple[str, ...], Mapping[tuple[int, ...], int]] = {}
        self._known: dict[object, str] = {}

    def why_nowhere(self, job: WaitingJob) -> str:
        """Why a job fits on no set of hosts; nothing if it fits."""
        asked = (job.need, job.nodes, job.alone, job.only, job.chunk, job.each)
        if asked not in self._known:
            self._known[asked] = self._why(job)
        return self._known[asked]

    def _why(self, job: WaitingJob) -> str:
        if not self._has:
            return CLOSED
        if job.only not in self._kinds:
            self._kinds[job.only] = self._count(job.only or self._has)
        kinds = self._kinds[job.only]
        if not kinds:
            return NOWHERE
        nodes = max(job.nodes, 1) if self._one_host else job.nodes
        return "" if _fits(job, nodes, kinds) else TOO_BIG

    def _count(self, names: Iterable[str]) -> dict[tuple[int, ...], int]:
        kinds: dict[tuple[int, ...], int] = {}
        for name in names:
            if name in self._has:
                kinds[self._has[name]] = kinds.get(self._has[name], 0) + 1
        return kinds


def _fits(job: WaitingJob, nodes: int, kinds: Mapping[tuple[int, ...], int]) -> bool:
    """As :func:`shadowtime.live.placing.first_fit` would find room."""
    procs = job.need[0]
    if nodes > 0:
        share = -(-procs // (nodes * job.chunk)) * job.chunk
        most = (share, *portion(job, min(share, procs))[1:])
        return sum(count for has, count in kinds.items() if room(has, most)) >= nodes
    held = 0
    for has, count in kinds.items():
        each = min(procs, has[0]) // job.chunk * job.chunk
        while each > 0 and not room(has, portion(job, each)):
            each -= job.chunk
        held += each * count
    return held >= procs
