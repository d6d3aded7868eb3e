"""The queue of a run, kept in Slurm's order from pass to pass."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.slurm.queue import Record, preemptors_first, rank, records_of

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.met import Met
    from shadowtime.slurm.preempt import Preemption
    from shadowtime.slurm.state import SlurmState
    from shadowtime.types import Ints


_priority = attrgetter("job.priority")
COLUMNS = 7
ROW, SLOT, QOS, RESERVED, TIER, SUBMIT, ID = range(COLUMNS)
"""What is kept beside each record: its row and slot in the arrays of compiled passes, its QOS among
those that precede others, and what it is ranked by beside the priority."""


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
            self.rows[at + 1 : count + 1] = self.rows[at:count]
            qos = state.preemption.precedence.at(job.qos)
            apart, tier = not job.reservation, -record.section.tier
            places = state.board.places(state, record)
            self.rows[at] = *places, qos, apart, tier, job.submit, job.id

    def write_again(self, state: SlurmState) -> None:
        """The arrays of compiled passes are new."""
        self.in_order = None
        for at, record in enumerate(self):
            self.rows[at, :QOS] = state.board.places(state, record)

    def take_out(self, state: SlurmState, job: Job) -> None:
        """A job waits no longer."""
        self.in_order = None
        self.nowhere = [one for one in self.nowhere if one is not job]
        slots = self.rows[: len(self), SLOT]
        for at in np.flatnonzero(slots == state.accounts.met.slot(job.id))[::-1].tolist():
            count = len(self)
            del self[at]
            self.rows[at : count - 1] = self.rows[at + 1 : count]

    def sort_again(self) -> None:
        """Priorities have changed."""
        priorities = np.fromiter(map(_priority, self), np.int64, len(self))
        apart, tier, submit, number = self.rows[: len(self), RESERVED:].T
        order = np.lexsort((number, submit, -priorities, tier, apart))
        if (order[1:] > order[:-1]).all():
            return  # which comes before which is what it was
        self.in_order = None
        self[:] = [self[at] for at in order.tolist()]
        self.rows[: len(self)] = self.rows[order]

    def preemptors_first(self, policy: Preemption) -> list[int] | None:
        """The places in the order of passes, None where it is that of this queue."""
        return preemptors_first(policy.precedence.keys[self.rows[: len(self), QOS]])

    def unmet(self, met: Met) -> list[Job]:
        """The jobs that were never passed over for anything."""
        none = np.flatnonzero(met.numbers[self.rows[: len(self), SLOT]] < 0)
        return [*(self[at].job for at in none.tolist()), *self.nowhere]
