"""The size of a moldable job in the tables of a run: what it needs, and how long it takes then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shadowtime.engine import steps
from shadowtime.kernel import fields as f
from shadowtime.kernel.state import State, World
from shadowtime.workload import Workload
from shadowtime.workload.speedup import at_sizes, seconds_at, serial_of


@dataclass(frozen=True, eq=False)
class Sizes:
    """Changes the size of waiting jobs, by the speed-up of the workload."""

    workload: Workload
    world: World

    def resize(self, state: State, row: int, procs: int) -> str:
        """Give a waiting job another size; why it cannot have it, nothing if it can."""
        now = int(state.job[row, f.NEED])
        if procs == now:
            return ""
        serial, asked = serial_of(self.workload)[row], int(self.workload.procs[row])
        most = int(state.host[f.CAPACITY, :, 0].max())
        if serial < 0:
            return f"its {asked} processors are fixed: its column serial gives no speed-up"
        if not 1 <= procs <= most:
            return f"{procs} processors are not between 1 and {most}"
        if state.job[row, f.KILLS] > 0:
            return f"it ran on {now} processors before it was stopped, and keeps them"

        def at_size(seconds: int) -> int:
            return int(seconds_at(seconds, serial, of=asked, to=procs))

        whole = int(self.workload.request[row])
        guess = int(state.job[row, f.ESTIMATE])
        if now != asked:  # estimates are those of the size that it has
            guess = int(seconds_at(guess, serial, of=now, to=asked))
        state.job[row, f.NEED] = state.wait[f.PROCS, row] = procs
        state.job[row, f.REQUEST] = at_size(whole)
        state.job[row, f.LIMIT] = at_size(int(self.workload.limit[row]))
        self.world.truth[row, f.RUN] = at_size(int(self.workload.run[row]))
        steps.change_estimate(state, row, at_size(whole if guess >= whole else guess))
        return ""

    def as_started(self, state: State) -> Workload:
        """The workload at the sizes that its jobs have now."""
        return at_sizes(self.workload, np.ascontiguousarray(state.job[:, f.NEED]))
