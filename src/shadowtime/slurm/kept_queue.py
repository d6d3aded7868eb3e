"""The queue of a run, kept in Slurm's order from pass to pass."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.slurm.queue import Record, preemptors_first, rank, records_of
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.met import Met
    from shadowtime.slurm.state import SlurmState


_priority = attrgetter("job.priority")
COLUMNS = 4
ROW, SLOT, SUBMIT, ID = range(COLUMNS)
"""What is kept beside each record: its row and slot in the arrays of compiled passes, and what of
its job it is ranked by beside the priority."""


class KeptQueue(list[Record]):
    """Records by rank, and columns beside them. Changed by these methods alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Ints = np.full((64, COLUMNS), -1, np.int64)
        self.in_order: list[Record] | None = None
        """The records as passes see them, where they were asked for since the last change."""
        self.version = 0
        """Of ``in_order``."""
        self.order: list[int] | None = None
        """The places of those in this queue; None: they are in its own order."""
        self.nowhere: list[Job] = []
        """Jobs that no partition of theirs can take."""

    def put(self, state: SlurmState, job: Job) -> None:
        """A job begins to wait."""
        self.in_order = None
        found = records_of(state, job)
        if not found:
            self.nowhere.append(job)
        for record in found:
            count = len(self)
            if count == len(self.rows):
                self.rows = np.concatenate([self.rows, np.full((count, COLUMNS), -1, np.int64)])
            at = bisect_right(self, rank(record), key=rank)
            self.insert(at, record)
            self._move(at, count, 1)
            self.rows[at] = *state.board.places(state, record), job.submit, job.id

    def write_again(self, state: SlurmState) -> None:
        """The arrays of compiled passes are new."""
        self.in_order = None
        for at, record in enumerate(self):
            self.rows[at, :SUBMIT] = state.board.places(state, record)

    def take_out(self, state: SlurmState, job: Job) -> None:
        """A job waits no longer."""
        self.in_order = None
        self.nowhere = [one for one in self.nowhere if one is not job]
        slots = self.rows[: len(self), SLOT]
        for at in np.flatnonzero(slots == state.accounts.met.slot(job.id))[::-1].tolist():
            self._move(at + 1, len(self), -1)
            del self[at]

    def _move(self, first: int, last: int, by: int) -> None:
        """Move rows on; as one column, which needs no copy where the places overlap."""
        flat, first, last, by = self.rows.ravel(), first * COLUMNS, last * COLUMNS, by * COLUMNS
        flat[first + by : last + by] = flat[first:last]

    def sort_again(self, state: SlurmState) -> bool:
        """Priorities have changed; True where the order has, too."""
        board, rows = state.board.board, self.rows[: len(self)]
        record = board.record[rows[:, ROW]]
        apart, tier = record[:, b.RESERVATION] < 0, -board.part[record[:, b.SECTION], b.TIER]
        priorities = np.fromiter(map(_priority, self), np.int64, len(self))
        order = np.lexsort((rows[:, ID], rows[:, SUBMIT], -priorities, tier, apart))
        if (order[1:] > order[:-1]).all():
            return False
        self.in_order = None
        self[:] = [self[at] for at in order.tolist()]
        rows[:] = rows[order]
        return True

    def preemptors_first(self, state: SlurmState) -> list[int] | None:
        """The places in the order of passes, None where it is that of this queue."""
        ranks = state.board.board.record[self.rows[: len(self), ROW], b.RANK]
        return preemptors_first(state.preemption.precedence.keys[ranks])

    def unmet(self, met: Met) -> list[Job]:
        """The jobs that were never passed over for anything."""
        none = np.flatnonzero(met.numbers[self.rows[: len(self), SLOT]] < 0)
        return [*(self[at].job for at in none.tolist()), *self.nowhere]
