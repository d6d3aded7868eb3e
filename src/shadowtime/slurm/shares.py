"""What running jobs hold, as arrays: the machine after any number of them have ended."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import desk as d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.usage import Usage
    from shadowtime.types import Ints


class ShareTable:
    """The shares of jobs in an order, one after another."""

    def __init__(self, machine: Machine, jobs: Sequence[Job]) -> None:
        self.machine = machine
        counts = [len(job.holding) for job in jobs]
        self.first = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        shares = list(chain.from_iterable(job.holding for job in jobs))
        nodes = machine.nodes
        self.node: Ints = np.array([one.node for one in shares], np.int64)
        rows = np.zeros((len(shares), d.FIRST_SOCKET + machine.sockets), np.int64)
        rows[:, d.FREE] = [one.cores.bit_count() * nodes[one.node].threads for one in shares]
        rows[:, d.USED] = [one.memory for one in shares]
        if machine.has_gpus:
            rows[:, d.FREE_GPUS] = [one.gpus for one in shares]
            for at, one in enumerate(shares):
                for socket, mask in enumerate(nodes[one.node].socket_masks):
                    rows[at, d.FIRST_SOCKET + socket] = (one.cores & mask).bit_count()
        self.rows: Ints = rows

    def given(self, usage: Usage, first: int, last: int) -> Usage:
        """A usage after the jobs from ``first`` up to ``last`` have ended, without cores' masks."""
        made = usage.copy_of_table()
        low, high = int(self.first[first]), int(self.first[last])
        node, rows, table = self.node[low:high], self.rows[low:high], made.table
        np.add.at(table[:, d.FREE], node, rows[:, d.FREE])
        np.subtract.at(table[:, d.USED], node, rows[:, d.USED])
        if self.machine.has_gpus:
            np.bitwise_or.at(table[:, d.FREE_GPUS], node, rows[:, d.FREE_GPUS])
            for socket in range(d.FIRST_SOCKET, table.shape[1]):
                np.add.at(table[:, socket], node, rows[:, socket])
        table[node, d.IDLE] = table[node, d.FREE] == self.machine.cpu_counts[node]
        idle = np.packbits(table[:, d.IDLE].astype(np.bool_), bitorder="little")
        made.idle = int.from_bytes(idle.tobytes(), "little")
        made.total += int(rows[:, d.FREE].sum())
        return made
