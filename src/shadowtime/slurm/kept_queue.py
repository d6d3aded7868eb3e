"""The queue of a run, kept in Slurm's order from pass to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm.waiting import COUNT, VERSION, put_in, take_out
from shadowtime.slurm.queue import Record, preemptors_first, records_of
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.met import Met
    from shadowtime.slurm.state import SlurmState


class KeptQueue:
    """Records by rank, as rows of numbers (kernel/slurm/waiting.py)."""

    def __init__(self, *, compiled: bool = True) -> None:
        self.compiled = compiled
        self.rows: Ints = np.zeros((64, k.QUEUE_COLUMNS), np.int64)
        self.size: Ints = np.zeros(2, np.int64)
        self.records: dict[tuple[int, int], Record] = {}
        """By slot and row."""
        self.order: list[int] | None = None
        """The places in the order of passes; None: that of this queue."""
        self.nowhere: list[Job] = []
        """Jobs that no partition of theirs can take."""
        self._in_order: tuple[int, list[Record]] = -1, []

    def __len__(self) -> int:
        return int(self.size[COUNT])

    @property
    def version(self) -> int:
        """Of the order."""
        return int(self.size[VERSION])

    def put(self, state: SlurmState, job: Job) -> None:
        """A job begins to wait."""
        found = records_of(state, job)
        if not found:
            self.nowhere.append(job)
        board = state.board
        for record in found:
            count = len(self)
            if count + 1 == len(self.rows):
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            row, slot = board.places(state, record)
            self.rows[count] = row, slot, job.submit, job.id, job.priority, *board.ranks_of(record)
            self.records[slot, row] = record
            put = put_in if self.compiled else getattr(put_in, "py_func", put_in)
            put(board.board.record, board.board.part, self.rows, self.size)

    def write_again(self, state: SlurmState) -> None:
        """The arrays of compiled passes are new."""
        known = self.listed(self.rows[: len(self), : k.Q_SUBMIT])
        self.records.clear()
        for at, record in enumerate(known):
            row, slot = self.rows[at, : k.Q_SUBMIT] = state.board.places(state, record)
            self.records[slot, row] = record
        self.size[VERSION] += 1

    def take_out(self, state: SlurmState, job: Job) -> None:
        """A job waits no longer."""
        self.nowhere = [one for one in self.nowhere if one is not job]
        slot = state.accounts.met.slot(job.id)
        mine = self.rows[: len(self)]
        for row in mine[mine[:, k.Q_SLOT] == slot, k.Q_ROW].tolist():
            del self.records[slot, row]
        take = take_out if self.compiled else getattr(take_out, "py_func", take_out)
        take(self.rows, self.size, slot)

    def listed(self, places: Ints) -> list[Record]:
        """The records of these rows and slots."""
        return [self.records[slot, row] for row, slot in places.tolist()]

    @property
    def in_queue(self) -> list[Record]:
        """All records by rank."""
        return self.listed(self.rows[: len(self), : k.Q_SUBMIT])

    def in_order(self, state: SlurmState, *, sorts: bool) -> list[Record]:
        """The records as passes see them; ``sorts``: some may preempt others."""
        if self._in_order[0] != self.version:
            self.order = self.preemptors_first(state) if sorts else None
            found = self.in_queue
            if self.order is not None:
                found = [found[at] for at in self.order]
            self._in_order = self.version, found
        return self._in_order[1]

    def sort_again(self, state: SlurmState) -> bool:
        """Priorities have changed; True where the order has, too."""
        board, rows = state.board.board, self.rows[: len(self)]
        record = board.record[rows[:, k.Q_ROW]]
        apart, tier = record[:, b.RESERVATION] < 0, -board.part[record[:, b.SECTION], b.TIER]
        keys = rows[:, k.Q_ID], rows[:, k.Q_SUBMIT], -rows[:, k.Q_PRIORITY], tier, apart
        order = np.lexsort(keys)
        if (order[1:] > order[:-1]).all():
            return False
        rows[:] = rows[order]
        self.size[VERSION] += 1
        return True

    def rank_again(self) -> None:
        """Priorities of jobs have changed."""
        self.rows[: len(self), k.Q_PRIORITY] = [one.job.priority for one in self.in_queue]

    def preemptors_first(self, state: SlurmState) -> list[int] | None:
        """The places in the order of passes, None where it is that of this queue."""
        ranks = state.board.board.record[self.rows[: len(self), k.Q_ROW], b.RANK]
        return preemptors_first(state.preemption.precedence.keys[ranks])

    def unmet(self, met: Met) -> list[Job]:
        """The jobs that were never passed over for anything."""
        none = self.rows[: len(self), : k.Q_SUBMIT]
        none = none[met.numbers[none[:, k.Q_SLOT]] < 0]
        return [*(one.job for one in self.listed(none)), *self.nowhere]
