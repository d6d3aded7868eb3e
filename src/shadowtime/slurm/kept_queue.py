"""The queue of a run, kept in Slurm's order from pass to pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.slurm.queue import Record, rank, records_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shadowtime.slurm.job import Job
    from shadowtime.slurm.met import Met
    from shadowtime.slurm.state import SlurmState
    from shadowtime.types import Ints


COLUMNS = 7
ROW, SLOT, QOS, RESERVED, TIER, SUBMIT, ID = range(COLUMNS)
"""What is kept beside each record: its row and slot in the arrays of compiled passes (-1: none
yet), the number of its QOS, and what it is ranked by beside the priority."""


class KeptQueue(list[Record]):
    """Records by rank, and columns beside them. Changed by these methods alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Ints = np.full((64, COLUMNS), -1, np.int64)
        self.in_order: list[Record] | None = None
        """The records as passes see them, where they were asked for since the last change."""
        self.version = 0
        """Of ``in_order``."""
        self.qos: dict[str, int] = {}
        """Numbers of QOS."""
        self.outranked: bool | None = None
        """Some job comes after one that it may preempt; None: that is to be found out."""
        self.order: list[int] | None = None
        """The places of those in this queue; None: they are in its own order."""
        self.has_new = True
        """Some have no row yet."""
        self.nowhere: list[Job] = []
        """Jobs that no partition of theirs can take."""

    def put(self, state: SlurmState, job: Job) -> None:
        """A job begins to wait."""
        self.in_order, self.has_new = None, True
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
            qos = self.qos.setdefault(job.qos, len(self.qos))
            apart, tier = not job.reservation, -record.section.tier
            over = state.preemption.over
            if job.qos in over or any(job.qos in others for others in over.values()):
                self.outranked = self.outranked or None
            self.rows[at] = record.row, record.slot, qos, apart, tier, job.submit, job.id

    def take_out(self, state: SlurmState, job: Job) -> None:
        """A job waits no longer; its rank is still that of its records."""
        self.in_order = None
        if self.outranked:
            self.outranked = None
        self.nowhere = [one for one in self.nowhere if one is not job]
        for name in job.partitions:
            section = state.machine.sections.get(name)
            if section is None:
                continue
            at = bisect_left(self, rank(Record(job, section)), key=rank)
            while at < len(self) and self[at].job.id == job.id:
                count = len(self)
                del self[at]
                self.rows[at : count - 1] = self.rows[at + 1 : count]

    def sort_again(self) -> None:
        """Priorities have changed."""
        priorities = np.fromiter((one.job.priority for one in self), np.int64, len(self))
        apart, tier, submit, number = self.rows[: len(self), RESERVED:].T
        order = np.lexsort((number, submit, -priorities, tier, apart))
        for record in self:
            record.place = None
        if (order[1:] > order[:-1]).all():
            return  # which comes before which is what it was
        self.in_order = self.outranked = None
        self[:] = [self[at] for at in order.tolist()]
        self.rows[: len(self)] = self.rows[order]

    def some_outrank(self, over: Mapping[str, Iterable[str]]) -> bool:
        """True where a job may preempt one of the QOS that this tells, and comes after it."""
        if self.outranked is None:
            self.outranked = self._some_outrank(over)
        return self.outranked

    def _some_outrank(self, over: Mapping[str, Iterable[str]]) -> bool:
        qos = self.rows[: len(self), QOS]
        for name, others in over.items():
            behind = np.flatnonzero(qos == self.qos.get(name, -1))
            for other in others if len(behind) else ():
                before = qos[: behind[-1]] == self.qos.get(other, -1)
                if before.any():
                    return True
        return False

    def unmet(self, met: Met) -> list[Job]:
        """The jobs that were never passed over for anything."""
        none = np.flatnonzero(met.numbers[self.rows[: len(self), SLOT]] < 0)
        return [*(self[at].job for at in none.tolist()), *self.nowhere]
