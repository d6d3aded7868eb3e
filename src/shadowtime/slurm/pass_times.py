"""When slurmctld makes its two passes, and whether a pass could find anything new."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.slurm.parameters import Parameters

NEVER = math.inf


@dataclass(kw_only=True)
class PassTimes:
    """The clocks of the main pass and of the backfill thread (spec: slurm 1.2, 1.5).

    Rules
    -----
    The main pass runs at the next tick of the second after there is work for it, no sooner than
    batch_sched_delay after the last one, and every sched_interval in any case. The backfill thread
    wakes every bf_interval; if it finds nothing new, it sleeps and checks again every second.

    Examples
    --------
    >>> from shadowtime.slurm.parameters import Parameters
    >>> times = PassTimes(opening=100, tick=0.25, backfill=7.0, parameters=Parameters())
    >>> times.work(103.5)
    >>> times.main_due, times.next_backfill
    (104.25, 107.0)
    """

    parameters: Parameters
    opening: float
    tick: float
    """The part of the second in which the main pass begins."""
    backfill: float
    """Seconds from the opening to the first backfill pass."""
    main_due: float = field(default=NEVER, init=False)
    last_main: float = field(default=-NEVER, init=False)
    next_full: float = field(init=False)
    """When the main pass runs in any case: sched_interval after the last such one."""
    next_backfill: float = field(init=False)
    fresh: bool = field(default=True, init=False)
    """Something happened since a main pass over the whole queue started nothing."""
    changed: bool = field(default=True, init=False)
    """Something happened since a backfill pass found that no waiting job could start."""
    news: bool = field(default=True, init=False)
    """Something happened that makes the backfill thread run at all (spec: slurm 1.5)."""
    quiet_until: float = field(default=0, init=False)
    """No backfill pass before then starts anything, unless something happens."""
    asleep_since: float = field(default=NEVER, init=False)

    def __post_init__(self) -> None:
        self.next_full = self.opening + self.tick
        self.next_backfill = self.opening + self.backfill

    @property
    def main(self) -> float:
        """When the next main pass is due."""
        return min(self.main_due, self.next_full)

    @property
    def idle(self) -> bool:
        """True where no work is left for the main pass."""
        return self.main_due == NEVER

    @property
    def asleep(self) -> bool:
        """True where the backfill thread waits for something to happen."""
        return self.next_backfill == NEVER

    def work(self, time: float) -> None:
        """There is work for the main pass: at the next tick that batch_sched_delay allows."""
        self.note(time)
        earliest = max(time, self.last_main + self.parameters.batch_sched_delay)
        self.main_due = min(self.main_due, math.ceil(earliest - self.tick) + self.tick)

    def work_at_once(self, time: float) -> None:
        """There is work for the main pass that waits for no tick (spec: slurm 1.3)."""
        self.note(time)
        self.main_due = time

    def note(self, time: float) -> None:
        """Something changed: passes have work to do."""
        self.changed = self.fresh = True
        self.wake(time)

    def wake(self, time: float) -> None:
        """A backfill thread that found nothing new checks again every second (spec: slurm 1.5)."""
        self.news = True
        if self.asleep:
            self.next_backfill = self.asleep_since + max(0, math.ceil(time - self.asleep_since))

    def begin_main(self, time: float) -> tuple[bool, bool]:
        """A main pass is due: is there work for it, and is it over the whole queue?

        spec: slurm 1.2.
        """
        work, full = time >= self.main_due, time >= self.next_full
        if full:
            self.next_full = time + max(1, self.parameters.sched_interval)
        if work or full:
            self.main_due, self.last_main = NEVER, time
        return work, full

    def begin_backfill(self, time: float, *, waiting: bool) -> bool:
        """The backfill thread wakes; False if it goes back to sleep because nothing is new.

        While jobs wait, the passes themselves change what is noted about them.
        """
        if not self.news:
            self.asleep_since, self.next_backfill = time, NEVER
            return False
        self.news = waiting
        self.next_backfill = time + self.parameters.bf_interval
        return True

    def started(self, time: float) -> None:
        """A pass started jobs: everything must be reconsidered."""
        self.fresh, self.quiet_until = True, 0
        self.wake(time)
