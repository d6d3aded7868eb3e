"""What the jobs of a snapshot are counted with on nodes that share bandwidth.

That is what waiting jobs ask for, and what running jobs hold, as the scheduler's tables have it.

spec: algorithms 6.1, 6.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import contention_of
from shadowtime.engine.nodes.run_tables import shape_of
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.nodes.slurm.simulate import GRAIN, refuse_nonsense
from shadowtime.errors import ClusterError, PolicyError
from shadowtime.policy import Policy
from shadowtime.types import Ints, Rows

if TYPE_CHECKING:
    from shadowtime.engine.live_pass.memory import Memory
    from shadowtime.policy.snapshot import RunningJob, Snapshot, WaitingJob

COUNTED = "counted"
"""Under this name the memory holds what jobs were found to draw by their tags, in grains."""


class Counting(NamedTuple):
    """How a policy counts on a machine."""

    nodes: int
    cores: int
    cap: int
    """Bandwidth of a node in grains, 0 where it is not counted."""
    column: int
    """Which of a job's needs is bandwidth, 0 where it is not counted."""
    default: int
    """Grains of a process that nothing is known about."""
    share: int
    by_tag: bool
    late: bool

    @property
    def counts(self) -> bool:
        """Whether bandwidth is a limit."""
        return self.column > 0


def counting_of(policy: Policy, cluster: Cluster) -> Counting:
    """How a policy counts on a machine; what has no pass on real nodes is refused.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.policy import parse_policy
    >>> machine = node_cluster(2, procs=16, bandwidth=34000)
    >>> counting_of(parse_policy("lessc"), machine)[:4]
    (2, 16, 34000000, 1)
    >>> counting_of(parse_policy("rua"), machine)
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: rua: on real nodes consres, lessc and hperf can decide, ...
    """
    if not policy.place.fills:
        raise PolicyError(
            f"{policy.name}: on real nodes consres, lessc and hperf can decide, not "
            f"place={policy.place}: its plans need the slowdown of every job"
        )
    refuse_nonsense(policy)
    nodes, cores = shape_of(cluster)
    part = policy.estimate.tags
    how = Counting(nodes, cores, 0, 0, 0, cores, part is not None, late=False)
    if part is not None:
        how = how._replace(
            share=min(part.share or cores, cores), late=part.predict == "start", default=bk.ALONE
        )
    if not policy.place.caps:
        return how
    shared = contention_of(cluster)
    if shared is None or len(shared.capacity) != 1:
        raise ClusterError(
            f"{policy.name} limits the bandwidth of nodes, but no node gives its own: give every "
            "node a bandwidth, on Slurm a generic resource as in Gres=membw:34000"
        )
    ((name, cap),) = shared.capacity.items()
    default = how.default if how.by_tag else shared.default.get(name, 0) * GRAIN
    return how._replace(cap=cap * GRAIN, column=cluster.resources.index(name), default=default)


def counting_for(policy: Policy, state: Snapshot) -> Counting:
    """How a policy counts in a snapshot.

    Rules
    -----
    What a task asks for is counted by its processors, each rounded up to a grain. So that tasks
    that just fill a node still fit, the node has those few grains more; together they are less
    than one MB/s, in which jobs ask, so no job gets what is not there.
    """
    how = counting_of(policy, state.cluster)
    if how.counts and any(job.chunk > 1 or job.need[how.column] > 0 for job in state.waiting):
        return how._replace(cap=how.cap + min(how.cores, GRAIN) - 1)
    return how


def told_of(job: WaitingJob, wish: int, how: Counting) -> int:
    """MB/s of a task that is counted with ``wish`` grains per processor, 0 where nothing is.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.engine.live_pass import WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> how = counting_of(parse_policy("lessc"), node_cluster(2, procs=16, bandwidth=34000))
    >>> job = WaitingJob(id="1", submit=0, need=(15, 0), request=9, chunk=3, bandwidth=6800)
    >>> wish = wish_of(job, how, {})
    >>> wish, told_of(job, wish, how)
    (2266667, 6800)
    """
    if wish <= 0:
        return 0
    if job.need[how.column] > 0 and job.bandwidth > 0:
        return math.ceil(job.bandwidth)
    # The least that is rounded up to the wish: rounding the wish itself up again would be more.
    return -(-((wish - 1) * job.chunk + 1) // GRAIN)


def wish_of(job: WaitingJob, how: Counting, known: Mapping[str, int]) -> int:
    """Grains that a processor of a waiting job is counted with; ALONE for nodes of its own.

    Rules
    -----
    What the job asks Slurm for comes first; then what was found under its tag when it was submitted
    (``known``; with predict=start what is found now); then its bandwidth as reported by the port. A
    job that declares nothing draws nothing, or with ``hperf`` runs alone.
    """
    if job.alone:
        return bk.ALONE
    if how.column == 0:
        return 0
    asked = job.need[how.column]
    if asked > 0:
        return -(-asked * GRAIN // job.need[0])
    if not how.late and job.id in known:
        return known[job.id]
    if job.bandwidth >= 0:
        return -(-round(job.bandwidth * GRAIN) // job.chunk)
    return how.default


def held_on(job: RunningJob, how: Counting, known: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """(node, processors, grains) that a running job holds; all of a node's processors if alone."""
    each = how.default
    if job.alone:
        each = bk.ALONE
    elif not how.counts:
        each = 0
    elif job.held:
        return [(host, some[0], some[how.column] * GRAIN) for host, some in job.held]
    elif job.need[how.column] > 0:
        whole = job.need[how.column] * GRAIN
        return [(host, n, -(-whole * n // max(1, job.need[0]))) for host, n in job.place]
    elif job.id in known:
        each = known[job.id]
    elif job.bandwidth >= 0:
        each = round(job.bandwidth * GRAIN)
    if each == bk.ALONE:
        return [(host, how.cores, 0) for host, _ in job.place]
    return [(host, n, n * each) for host, n in job.place]


def known_in(memory: Memory) -> Mapping[str, int]:
    """What was found under the jobs' tags, in grains."""
    known: Mapping[str, int] = memory.extra.get(COUNTED, {})
    return known


class Piece(NamedTuple):
    """Processors of a running job that are counted alike: (node, processors) each."""

    job: str
    start: int
    request: int
    wish: int
    places: tuple[tuple[int, int], ...]


def pieces_of(
    running: Iterable[RunningJob], how: Counting, cluster: Cluster, known: Mapping[str, int]
) -> list[Piece]:
    """What running jobs hold, in pieces whose processors are counted alike.

    Rules
    -----
    Never more than a node has: what real jobs hold beyond it changes no decision. Where a node's
    amount is no multiple of the processors there, one of them is counted with the rest.
    """
    number = {host.name: at for at, host in enumerate(cluster.hosts)}
    cores, cap = [how.cores] * how.nodes, [how.cap] * how.nodes
    found = []
    for job in running:
        parts: dict[int, list[tuple[int, int]]] = {}
        for host, count, amount in held_on(job, how, known):
            at = number.get(host)
            if at is None or cores[at] == 0:
                continue
            count, amount = min(count, cores[at]), min(amount, cap[at])
            cores[at] -= count
            cap[at] -= amount
            each, rest = divmod(amount, count)
            if rest:
                parts.setdefault(each + rest, []).append((at, 1))
                count -= 1
            if count:
                parts.setdefault(each, []).append((at, count))
        for each, some in parts.items():
            found.append(Piece(job.id, job.start, job.request, each, tuple(some)))
    return found


def wishes(waiting: Sequence[WaitingJob], how: Counting, known: Mapping[str, int]) -> Ints:
    """What each waiting job is counted with, in grains: wish_of for all of them at once."""
    n = len(waiting)
    alone = np.array([job.alone for job in waiting], bool)
    if how.column == 0:
        return np.where(alone, bk.ALONE, np.zeros(n, np.int64))
    asked = np.array([job.need[how.column] for job in waiting], np.int64)
    procs = np.array([job.need[0] for job in waiting], np.int64)
    if asked.max(initial=0) > np.iinfo(np.int64).max // GRAIN:
        return np.array([wish_of(job, how, known) for job in waiting], np.int64)
    found: Ints = -(-asked * GRAIN // np.maximum(procs, 1))
    for at in np.flatnonzero((asked <= 0) & ~alone).tolist():
        found[at] = wish_of(waiting[at], how, known)
    found[alone] = bk.ALONE
    return found


def procs_of(waiting: Sequence[WaitingJob], how: Counting) -> Ints:
    """Processes of each waiting job.

    A job that requests exclusive nodes has as many as fill these nodes, however few of them a
    policy would put on a node that no other job uses.
    """
    return np.array(
        [job.nodes * how.share if job.alone and job.nodes > 0 else job.need[0] for job in waiting],
        np.int64,
    )


def unfit(procs: Ints, wish: Ints, how: Counting) -> Ints:
    """Places of the jobs that the empty machine could not hold."""
    room = np.full(len(procs), how.cores)
    if how.counts:
        counted = wish > 0
        room[counted] = np.minimum(how.cores, how.cap // wish[counted])
    room[wish == bk.ALONE] = how.share
    return np.flatnonzero(procs > how.nodes * room)


def book_of(
    rows: Rows, first: int, pieces: Sequence[Piece], how: Counting, waiting: int
) -> bk.Availability:
    """A book with the pieces of the running jobs in its rows from ``first`` on."""
    last = first + len(pieces)
    rows["procs"][first:last] = [sum([count for _, count in one.places]) for one in pieces]
    rows["until"][first:last] = [piece.start + piece.request for piece in pieces]
    rows["wish"][first:last] = [piece.wish for piece in pieces]
    rows["count"][first:last] = counts = [len(piece.places) for piece in pieces]
    rows["from"][first:last] = np.cumsum(counts) - counts
    rows["tag"][first:last] = -1
    registers = {"cap": how.cap, "counts": int(how.counts), "share": how.share}
    made = bk.make_book(
        nodes=how.nodes,
        cores=how.cores,
        jobs=rows,
        tags=np.zeros(1, bk.TAGS),
        registers=registers,
        segments=len(pieces) + waiting + 8,
    )
    places = [node << bk.PLACE_BITS | count for one in pieces for node, count in one.places]
    made.places[: len(places)] = places
    made.par["places"][0] = len(places)
    made.running[: len(pieces)] = np.arange(first, first + len(pieces))
    made.par["running"][0] = len(pieces)
    return made
