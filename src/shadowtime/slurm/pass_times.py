"""When slurmctld makes its two passes: the clocks of kernel/slurm/clocks.py for Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.kernel.slurm import clocks
from shadowtime.kernel.slurm.books import CLOCKS, REGISTERS

if TYPE_CHECKING:
    from shadowtime.slurm.parameters import Parameters


class _Number:
    """An attribute that is a number of one of the tables."""

    def __init__(self, table: str, name: str, kind: type) -> None:
        self.table, self.name, self.kind = table, name, kind

    def __get__(self, times: Any, owner: type) -> Any:
        return self.kind(getattr(times, self.table)[self.name][0])

    def __set__(self, times: Any, value: float) -> None:
        getattr(times, self.table)[self.name][0] = value


class PassTimes:
    """The clocks of the main pass and of the backfill thread (spec: slurm 1.2, 1.5).

    Examples
    --------
    >>> from shadowtime.slurm.parameters import Parameters
    >>> times = PassTimes(opening=100, tick=0.25, backfill=7.0, parameters=Parameters())
    >>> times.work(103.5)
    >>> times.main_due, times.next_backfill
    (104.25, 107.0)
    """

    main_due = _Number("clock", "main_due", float)
    next_backfill = _Number("clock", "next_backfill", float)
    quiet_until = _Number("clock", "quiet_until", float)
    """No backfill pass before then starts anything, unless something happens."""
    until_look = _Number("reg", "budget", int)
    """Turns of the loop until Python looks how far the run is."""
    fresh = _Number("reg", "fresh", bool)
    """Something happened since a main pass over the whole queue started nothing."""
    changed = _Number("reg", "changed", bool)
    """Something happened since a backfill pass found that no waiting job could start."""

    def __init__(
        self, *, parameters: Parameters, opening: float, tick: float, backfill: float
    ) -> None:
        self.reg, self.clock = np.zeros(1, REGISTERS), np.zeros(1, CLOCKS)
        clock = self.clock
        for name in ("sched_interval", "batch_sched_delay", "bf_interval"):
            clock[name] = getattr(parameters, name)
        clock["tick"], clock["next_full"] = tick, opening + tick
        clock["main_due"] = clock["asleep_since"] = clocks.NEVER
        clock["last_main"], clock["next_backfill"] = -clocks.NEVER, opening + backfill
        self.reg["fresh"] = self.reg["changed"] = self.reg["news"] = 1

    @property
    def main(self) -> float:
        """When the next main pass is due."""
        return float(clocks.next_main(self.clock))

    @property
    def idle(self) -> bool:
        """True where no work is left for the main pass."""
        return bool(self.main_due == math.inf)

    @property
    def asleep(self) -> bool:
        """True where the backfill thread waits for something to happen."""
        return bool(self.next_backfill == math.inf)

    def work(self, time: float) -> None:
        """There is work for the main pass: at the next tick that batch_sched_delay allows."""
        clocks.work(self.clock, self.reg, time)

    def work_at_once(self, time: float) -> None:
        """There is work for the main pass that waits for no tick (spec: slurm 1.3)."""
        clocks.work_at_once(self.clock, self.reg, time)

    def note(self, time: float) -> None:
        """Something changed: passes have work to do."""
        clocks.note(self.clock, self.reg, time)

    def wake(self, time: float) -> None:
        """A backfill thread that found nothing new checks again every second (spec: slurm 1.5)."""
        clocks.wake(self.clock, self.reg, time)

    def begin_main(self, time: float) -> tuple[bool, bool]:
        """A main pass is due: is there work for it, and is it over the whole queue?"""
        due = bool(clocks.begin_main(self.clock, self.reg, time))
        return due, bool(self.reg["full"][0])

    def begin_backfill(self, time: float, *, waiting: bool) -> bool:
        """The backfill thread wakes; False if it goes back to sleep because nothing is new."""
        return bool(clocks.begin_backfill(self.clock, self.reg, time, waiting))

    def started(self, time: float) -> None:
        """A pass started jobs: everything must be reconsidered."""
        clocks.started(self.clock, self.reg, time)
