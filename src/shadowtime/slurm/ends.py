"""Running jobs on the board of backfill passes, in the order of their limits' ends."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.words import packed, words_of
from shadowtime.slurm.machine import Machine
from shadowtime.slurm.usage import Holding, WholeNodes
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.running import Running


class RunningTable:
    """Writes running jobs to the board. What each holds is packed once, when it is first seen.

    ``describe`` tells the columns of a job that the site's rules need: its rank among those that
    may be preempted, its licences, its partition and whether it is in no row.
    """

    def __init__(
        self, machine: Machine, describe: Callable[[Job], tuple[int, int, int, int]], *, rows: bool
    ) -> None:
        self.machine, self.describe = machine, describe
        self.words = words_of(len(machine.nodes))
        most = max((node.cores for node in machine.nodes), default=0)
        self.core_words = -(-most // 64) if rows else 0
        """Words of a node's cores, where jobs may lie above others."""
        self.order: list[tuple[int, int, int]] = []
        """End, record and row of the jobs on the board."""
        self.rows: Ints = np.zeros(64, np.int64)
        self.end: Ints = np.zeros(64, np.int64)
        """Rows and ends in this order."""
        self.jobs: dict[int, tuple[Job, tuple[int, int, int]]] = {}
        """The same by id."""
        self.followed: Sequence[Job] | None = None
        """Whose starts and ends are followed since the last time."""
        self.places: dict[int, tuple[Holding, int, int]] = {}
        """What jobs hold, their row in these tables, and their nodes, by id."""
        self.free_rows: list[int] = []
        self.held: AnyArray = np.zeros((64, self.words), np.uint64)
        self.job: Ints = np.zeros((64, b.REACH_FIRST), np.int64)
        self.used = 0
        """Rows of ``share`` in use."""

    def write(self, board: b.Board, jobs: Running) -> b.Board:
        """Put these jobs in the place of all; returns the board."""
        count = len(jobs)
        if count >= len(board.held):
            board = with_room(board, 2 * count + 1)
        if jobs is not self.followed or jobs.moves is None or not self._follow(board, jobs):
            board = self._write_all(board, jobs)
        rows = self.rows[:count]
        np.take(self.held, rows, axis=0, out=board.held[:count])
        board.job[:count, : b.REACH_FIRST] = self.job[rows]
        board.job[:count, b.JOB_END] = self.end[:count]
        board.mark[b.ENDS] = count
        board.mark[b.FRESH_ENDS] = 1
        return board

    def _follow(self, board: b.Board, jobs: Running) -> bool:
        """Carry out what happened since; False where all must be written."""
        moves, jobs.moves = jobs.moves or [], []
        over = {id(job) for job, starts in moves if not starts}
        for job, starts in moves:
            known = self.jobs.get(job.id)
            if starts and id(job) not in over and (known is None or known[0] is not job):
                if known is not None or self._is_full(board, job):
                    return False
                self._add(job, self._put(board, job))
            elif not starts and known is not None and known[0] is job:
                del self.jobs[job.id]
                at = bisect_left(self.order, known[1])
                count = len(self.order)
                del self.order[at]
                for column in (self.rows, self.end):
                    column[at : count - 1] = column[at + 1 : count]
                self.free_rows.append(self.places.pop(job.id)[1])
        return len(self.order) == len(jobs)

    def _write_all(self, board: b.Board, jobs: Running) -> b.Board:
        if len(self.places) > 4 * len(jobs) + 64:
            self._forget(jobs)
        found = []
        for job in jobs:
            known = self.places.get(job.id)
            if known is not None and known[0] is job.holding and known[2] == job.nodes:
                row = known[1]
            elif self._is_full(board, job):
                return self._write_all(self._make_room(board, jobs), jobs)
            else:
                row = self._put(board, job)
            found.append((job.ends_by, job.record, row, job))
        found.sort(key=itemgetter(0, 1, 2))
        self.order = [one[:3] for one in found]
        self.jobs = {one[3].id: (one[3], one[:3]) for one in found}
        self._make_columns(len(found))
        self.end[: len(found)] = [one[0] for one in found]
        self.rows[: len(found)] = [one[2] for one in found]
        # Suspended jobs end later and later, which nobody is told.
        follows = not self.core_words and len(self.jobs) == len(found)
        self.followed, jobs.moves = (jobs, []) if follows else (None, None)
        return board

    def _is_full(self, board: b.Board, job: Job) -> bool:
        """No room for what a job holds."""
        return bool(board.mark[b.SHARES]) and self.used + len(job.holding) > len(board.share)

    def _make_columns(self, count: int) -> None:
        while count >= len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self.end = np.concatenate([self.end, np.zeros_like(self.end)])

    def _add(self, job: Job, row: int) -> int:
        """Put a job into the order; its place there."""
        key = (job.ends_by, job.record, row)
        at, count = bisect(self.order, key), len(self.order)
        self._make_columns(count + 1)
        self.order.insert(at, key)
        self.jobs[job.id] = job, key
        for column, value in ((self.rows, row), (self.end, key[0])):
            column[at + 1 : count + 1] = column[at:count]
            column[at] = value
        return at

    def insert(self, board: b.Board, job: Job) -> None:
        """A job has started. Where there is no room, or no ends yet, all are asked for again."""
        count = int(board.mark[b.ENDS])
        if count < 0 or count + 1 >= len(board.held) or self._is_full(board, job):
            board.mark[b.ENDS] = -1
            return
        row = self._put(board, job)
        at = self._add(job, row)
        for table in (board.held, board.job):
            table[at + 1 : count + 1] = table[at:count]
        board.held[at], board.job[at, : b.REACH_FIRST] = self.held[row], self.job[row]
        board.job[at, b.JOB_END] = job.ends_by
        board.mark[b.ENDS] = count + 1
        board.mark[b.FRESH_ENDS] = 1

    def _put(self, board: b.Board, job: Job) -> int:
        """Pack what a job holds; its row."""
        known = self.places.get(job.id)
        row = known[1] if known is not None else len(self.places)
        if known is None and self.free_rows:
            row = self.free_rows.pop()
        if row == len(self.held):
            self.held = np.concatenate([self.held, np.zeros_like(self.held)])
            self.job = np.concatenate([self.job, np.zeros_like(self.job)])
        self.places[job.id] = job.holding, row, job.nodes
        self.held[row] = packed(job.nodes, self.words)
        count = 0
        if board.mark[b.SHARES]:
            count = self.put_shares(board, job)
        self.job[row] = (0, self.used, count, *self.describe(job))
        self.used += count
        return row

    def put_shares(self, board: b.Board, job: Job) -> int:
        """Write what a job holds to the next rows of ``share``; how many."""
        nodes, holding = self.machine.nodes, job.holding
        count = len(holding)
        rows = board.share[self.used : self.used + count]
        if isinstance(holding, WholeNodes):
            at = np.flatnonzero(_bools(job.nodes, len(nodes)))
            rows[:] = 0
            rows[:, b.SHARE_NODE], rows[:, d.FREE] = at, self.machine.cpu_counts[at]
        else:
            for row, one in zip(rows, holding, strict=True):
                cpus = one.cores.bit_count() * nodes[one.node].threads
                row[: d.FIRST_SOCKET] = cpus, one.memory, one.gpus, one.node
                if self.machine.has_gpus:
                    for socket, mask in enumerate(nodes[one.node].socket_masks):
                        row[d.FIRST_SOCKET + socket] = (one.cores & mask).bit_count()
                if self.machine.pools:
                    row[-len(self.machine.pools) :] = one.pools or 0
        if self.core_words:
            for place, one in enumerate(holding):
                board.core[self.used + place] = packed(one.cores, self.core_words)
        return count

    def clear(self) -> None:
        """Pack all jobs again."""
        self.followed = None
        self.places.clear()
        self.free_rows.clear()
        self.used = 0

    def _forget(self, jobs: Sequence[Job]) -> None:
        """Drop the rows of jobs that have ended."""
        running = {job.id for job in jobs}
        for number in [one for one in self.places if one not in running]:
            self.free_rows.append(self.places.pop(number)[1])

    def _make_room(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        """The table of shares is full: drop what ended jobs held."""
        self.clear()
        room = 2 * sum(len(job.holding) for job in jobs) + 64
        return board._replace(
            share=np.zeros((room, board.share.shape[1]), np.int64),
            core=np.zeros((room, self.core_words), np.uint64),
            holder=np.zeros((room, 4), np.int64),
        )


def with_room(board: b.Board, count: int) -> b.Board:
    """The board with room for so many running jobs, and none."""
    words = board.held.shape[1]
    return board._replace(
        held=np.zeros((count, words), np.uint64),
        job=np.zeros((count + 1, b.JOBS), np.int64),
        after=np.zeros((count + 1, words), np.uint64),
    )


def _bools(mask: int, count: int) -> AnyArray:
    told = np.frombuffer(mask.to_bytes(-(-count // 8), "little"), np.uint8)
    return np.unpackbits(told, count=count, bitorder="little")
