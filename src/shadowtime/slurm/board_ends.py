"""Running jobs on the board of compiled passes: in the order of their ends, with what they hold."""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import board as b

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.usage import Holding


class BoardEnds:
    """Writes running jobs; what each holds is packed once, when it is first seen."""

    def __init__(self, machine: Machine) -> None:
        self.threads = [node.threads for node in machine.nodes]
        self.words = b.words_of(len(machine.nodes))
        self.order: list[tuple[int, int]] = []
        """(end, record) of the jobs on the board."""
        self.places: dict[int, tuple[Holding, int, int]] = {}
        """What jobs hold, where it lies in ``share`` and how many shares it is, by id."""
        self.used = 0
        """Rows of ``share`` in use."""

    def write(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        """Put these jobs, in the order of their ends, in the place of all; returns the board."""
        count, size = len(jobs), 8 * self.words
        if count >= len(board.end):
            board = board._replace(
                end=np.zeros(2 * count + 1, np.int64),
                held=np.zeros((2 * count + 1, self.words), np.uint64),
                reach=np.zeros((2 * count + 1, 2), np.int64),
                holds=np.zeros((2 * count + 1, 2), np.int64),
                after=np.zeros((2 * count + 2, self.words), np.uint64),
                total=np.zeros(2 * count + 2, np.int64),
            )
        self.order = [(job.ends_by, job.record) for job in jobs]
        board.end[:count] = [end for end, _ in self.order]
        masks = b"".join([job.nodes.to_bytes(size, "little") for job in jobs])
        board.held[:count] = np.frombuffer(masks, np.uint64).reshape(count, self.words)
        if board.mark[b.SHARES]:
            board = self._write_shares(board, jobs)
        board.mark[b.ENDS] = count
        board.mark[b.FRESH_ENDS] = 1
        return board

    def insert(self, board: b.Board, job: Job) -> None:
        """A job has started. Where there is no room, or no ends yet, all are asked for again."""
        count = int(board.mark[b.ENDS])
        if count < 0 or count == len(board.end):
            board.mark[b.ENDS] = -1
            return
        if board.mark[b.SHARES]:
            shares = self._packed(job)
            if self.used + len(shares) > len(board.share):
                board.mark[b.ENDS] = -1
                return
        key = (job.ends_by, job.record)
        at = bisect(self.order, key)
        self.order.insert(at, key)
        for table in (board.end, board.held, board.holds):
            table[at + 1 : count + 1] = table[at:count]
        board.end[at] = key[0]
        board.held[at] = b.packed(job.nodes, self.words)
        if board.mark[b.SHARES]:
            board.holds[at] = self._put(board, job, shares)
        board.mark[b.ENDS] = count + 1
        board.mark[b.FRESH_ENDS] = 1

    def _packed(self, job: Job) -> list[tuple[int, int, int]]:
        threads = self.threads
        return [
            (one.node, one.cores.bit_count() * threads[one.node], one.memory) for one in job.holding
        ]

    def _put(self, board: b.Board, job: Job, shares: list[tuple[int, int, int]]) -> tuple[int, int]:
        at, count = self.used, len(shares)
        if count:
            board.share[at : at + count] = shares
        self.used += count
        self.places[job.id] = job.holding, at, count
        return at, count

    def _write_shares(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        rows = []
        for job in jobs:
            known = self.places.get(job.id)
            if known is not None and known[0] is job.holding:
                rows.append(known[1:])
                continue
            shares = self._packed(job)
            if self.used + len(shares) > len(board.share):
                return self._write_all(board, jobs)
            rows.append(self._put(board, job, shares))
        board.holds[: len(rows)] = np.array(rows, np.int64).reshape(len(rows), 2)
        return board

    def _write_all(self, board: b.Board, jobs: Sequence[Job]) -> b.Board:
        """The table is full: leave out what jobs held that are gone, and make room."""
        self.places.clear()
        self.used = 0
        room = 2 * sum(len(job.holding) for job in jobs) + 64
        board = board._replace(
            share=np.zeros((room, 3), np.int64), holder=np.zeros((room, 3), np.int64)
        )
        return self._write_shares(board, jobs)
