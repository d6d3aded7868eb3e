"""The scheduler's tables for a snapshot: what waiting jobs ask for, what running jobs hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.nodes.slurm.counted import Counting, held_on, wish_of
from shadowtime.engine.nodes.slurm.simulate import GRAIN
from shadowtime.types import Ints, Rows

if TYPE_CHECKING:
    from shadowtime.policy.snapshot import RunningJob, WaitingJob


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
