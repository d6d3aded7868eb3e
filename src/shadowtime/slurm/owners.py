"""Nodes that run jobs of one user alone: --exclusive=user, ExclusiveUser=YES (spec: slurm 4.17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import owners as o
from shadowtime.slurm.machine import Section, bits
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.running import Running
    from shadowtime.slurm.state import SlurmState


def owns(job: Job, machine: Machine) -> bool:
    """Whether a running job keeps its nodes for its user."""
    return job.ask.on(machine.sections[job.partition]).own_user


def of_others(state: SlurmState, job: Job, section: Section) -> int:
    """The nodes on which jobs of others keep this one from starting now."""
    if not state.board.any_owner:
        return 0
    alone = job.ask.on(section).own_user
    found = 0
    for other in state.running:
        if other.user != job.user and (alone or owns(other, state.machine)):
            found |= other.nodes
    return found


class Owners:
    """The nodes with jobs as a backfill pass sees them: the last to be free comes first."""

    def __init__(self) -> None:
        self.users: dict[str, int] = {}
        """Numbers of users, by name."""
        self.order: list[int] = []
        """All nodes as the last table had them: equal ones stay in that order."""

    def number(self, user: str) -> int:
        """The number of a user."""
        return self.users.setdefault(user, len(self.users))

    def begin(self, machine: Machine) -> None:
        """A pass begins."""
        self.order = list(range(len(machine.nodes)))

    def table(self, running: Running, machine: Machine) -> Ints:
        """A row for each node with jobs. Whose it is says the first of them that was submitted."""
        rows = np.zeros((len(machine.nodes), o.OWNERS), np.int64)
        rows[:, o.NODE], rows[:, o.USER] = np.arange(len(rows)), -1
        for job in running:
            user, owned = self.number(job.user), owns(job, machine)
            for at in bits(job.nodes):
                row = rows[at]
                if row[o.USER] < 0:
                    row[o.USER], row[o.OWNED] = user, owned
                elif not row[o.OWNED] and not row[o.MIXED]:
                    row[o.MIXED], row[o.OWNED] = row[o.USER] != user, owned
                row[o.LAST_END] = max(row[o.LAST_END], job.ends_by)
        self.order.sort(key=lambda at: -int(rows[at, o.LAST_END]))
        rows = rows[self.order]
        return rows[rows[:, o.USER] >= 0]
