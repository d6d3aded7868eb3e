"""Where jobs are drawn: each node has a row for each of its processors.

Which rows of a node a job gets is chosen for drawing only. What runs keeps its rows; what is
predicted has no nodes yet, and gets those that are free when it starts.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.eta.held import even
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.board.view import Job, Node

Pieces = tuple[tuple[int, int], ...]
"""The first row and the number of rows of each box."""
DRAWN = 2000
"""So many predicted starts are drawn, the earliest ones."""
WIDEST = 512
"""Nodes with more processors than this are drawn with fewer rows."""


class Lanes:
    """The rows that jobs take, node by node.

    Examples
    --------
    >>> from shadowtime.board.view import Job, Node
    >>> lanes = Lanes([Node(name="b", cpus=4, state="idle", usable=True),
    ...                Node(name="a", cpus=2, state="idle", usable=True)])
    >>> lanes.take(Job(id="1", state="running", cpus=3, hosts=("b",)))
    ((2, 3),)
    >>> lanes.take(Job(id="2", state="running", cpus=3, nodes=2, hosts=("a", "b")))
    ((0, 2), (5, 1))
    >>> lanes.release("1"); lanes.take(Job(id="3", state="running", cpus=1, hosts=("b",)))
    ((2, 1),)
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = sorted(nodes, key=lambda node: natural_name(node.name))
        self.size = {node.name: min(node.cpus, WIDEST) for node in self.nodes}
        self.first: dict[str, int] = {}
        at = 0
        for node in self.nodes:
            self.first[node.name] = at
            at += self.size[node.name]
        self.rows = at
        self._used = dict.fromkeys(self.first, 0)
        """Bits of the rows that are taken."""
        self._of: dict[str, tuple[Pieces, tuple[tuple[str, int], ...]]] = {}

    def pieces(self, job: str) -> Pieces:
        """The rows of a job that runs."""
        return self._of[job][0] if job in self._of else ()

    def take(self, job: Job) -> Pieces:
        """Rows for a job on its nodes, which it keeps until it is released."""
        if job.id in self._of:
            return self._of[job.id][0]
        hosts = [host for host in job.hosts if host in self.first]
        held = even(hosts, job.cpus)
        pieces: list[tuple[int, int]] = []
        bits: list[tuple[str, int]] = []
        for host in hosts:
            size = self.size[host]
            count = size if job.whole_nodes else min(held[host], size)
            mask = _lowest(~self._used[host] & ((1 << size) - 1), count)
            self._used[host] |= mask
            bits.append((host, mask))
            pieces += _runs(mask, self.first[host])
        self._of[job.id] = tuple(pieces), tuple(bits)
        return tuple(pieces)

    def release(self, job: str) -> None:
        """A job has ended: its rows are free."""
        for host, mask in self._of.pop(job, ((), ()))[1]:
            self._used[host] &= ~mask

    def replay(self, ended: Sequence[Job], running: Sequence[Job]) -> dict[str, Pieces]:
        """Rows of the jobs of the past, as if they had been seen; what runs is placed after."""
        for name in [*self._of]:
            self.release(name)
        found: dict[str, Pieces] = {}
        ends: list[tuple[int, str]] = []
        jobs = [job for job in (*ended, *running) if job.start >= 0 and job.hosts]
        for job in sorted(jobs, key=lambda one: (one.start, one.id)):
            while ends and ends[0][0] <= job.start:
                self.release(heapq.heappop(ends)[1])
            found[job.id] = self.take(job)
            if job.state == "ended":
                heapq.heappush(ends, (job.end, job.id))
        for _, job_id in ends:
            self.release(job_id)
        return found

    def foresee(
        self, waiting: Sequence[tuple[int, int, Job]], ends: Mapping[str, int]
    ) -> tuple[dict[str, Pieces], dict[str, int]]:
        """Rows for predicted starts: (start, end, job), the earliest first; and all ends.

        Rules
        -----
        A job gets nodes of its partitions whose rows are free at its start, else those that become
        free the soonest: that a job starts then means that another has ended by then, so the
        other one ends earlier than predicted.
        """
        until = dict(ends)
        if not self.rows:
            return {}, until
        owner: dict[tuple[int, int], str] = {}
        sizes = np.array([self.size[node.name] for node in self.nodes])
        widest = int(sizes.max())
        free = np.full((len(self.nodes), widest), np.inf)
        place = {node.name: at for at, node in enumerate(self.nodes)}
        open_to: dict[str, list[int]] = {}
        for at, node in enumerate(self.nodes):
            if node.usable:
                free[at, : self.size[node.name]] = 0
                for partition in node.partitions or ("",):
                    open_to.setdefault(partition, []).append(at)
        for name, (_, bits) in self._of.items():
            for host, mask in bits:
                row = free[place[host]]
                for lane in range(self.size[host]):
                    if mask >> lane & 1:
                        row[lane] = max(row[lane], ends.get(name, 0))
                        owner[place[host], lane] = name
        found = {}
        of_partition: dict[str, Ints] = {}
        for start, end, job in waiting[:DRAWN]:
            if job.partition not in of_partition:
                open_nodes = (open_to.get(one, ()) for one in job.partition.split(","))
                seats = sorted({at for some in open_nodes for at in some})
                of_partition[job.partition] = np.array(seats, np.int64)
            nodes = of_partition[job.partition]
            count = max(1, min(job.nodes, len(nodes)))
            if not len(nodes):
                continue
            each = -(-job.cpus // count)
            need = sizes[nodes] if job.whole_nodes else np.minimum(each, sizes[nodes])
            good = nodes[(free[nodes] <= start).sum(axis=1) >= need][:count]
            if len(good) < count:
                when = np.sort(free[nodes], axis=1)[np.arange(len(nodes)), need - 1]
                good = nodes[np.lexsort((nodes, np.maximum(when, start)))[:count]]
            pieces: list[tuple[int, int]] = []
            for at in good.tolist():
                host = self.nodes[at].name
                size = self.size[host]
                lanes = np.argsort(np.maximum(free[at, :size], start), kind="stable")
                lanes = lanes[: size if job.whole_nodes else min(each, size)]
                for lane in lanes.tolist():
                    if free[at, lane] > start:
                        other = owner[at, lane]
                        until[other] = min(until[other], start)
                    owner[at, lane] = job.id
                free[at, lanes] = end
                mask = sum(1 << int(lane) for lane in lanes)
                pieces += _runs(mask, self.first[host])
            if pieces:
                found[job.id] = tuple(pieces)
                until[job.id] = end
        return found, until


def natural_name(name: str) -> list[tuple[int, str]]:
    """Numbers in names in their order.

    Examples
    --------
    >>> sorted(["n10", "n9", "gpu1"], key=natural_name)
    ['gpu1', 'n9', 'n10']
    """
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _lowest(free: int, count: int) -> int:
    """The lowest free rows side by side, else the lowest ones; all where there are too few.

    Examples
    --------
    >>> bin(_lowest(0b110111, 3)), bin(_lowest(0b110101, 3))
    ('0b111', '0b10101')
    """
    side, left = free, count
    while left > 1:
        side &= side >> left // 2
        left -= left // 2
    if side:
        return ((1 << count) - 1) * (side & -side)
    found, rest = 0, free
    for _ in range(count):
        found |= rest & -rest
        rest &= rest - 1
    return found


def _runs(mask: int, first: int) -> list[tuple[int, int]]:
    """Rows side by side as (first, count).

    Examples
    --------
    >>> _runs(0b110111, 10)
    [(10, 3), (14, 2)]
    """
    found = []
    while mask:
        low = (mask & -mask).bit_length() - 1
        rest = mask >> low
        count = (~rest & (rest + 1)).bit_length() - 1
        found.append((first + low, count))
        mask &= ~(((1 << count) - 1) << low)
    return found
