"""When slurmctld makes its two passes, and whether a pass could find anything new.

spec: slurm 1.2, 1.5.

Rules
-----
The main pass runs at the next tick of the second after there is work for it, no sooner than
batch_sched_delay after the last one, and every sched_interval in any case. The backfill thread
wakes every bf_interval; if it finds nothing new, it sleeps and checks again every second.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel
from shadowtime.types import Rows

NEVER = np.inf


@kernel
def wake(clock: Rows, reg: Rows, time: float) -> None:
    """A backfill thread that found nothing new checks again every second."""
    reg["news"][0] = 1
    if clock["next_backfill"][0] == NEVER:
        since = clock["asleep_since"][0]
        clock["next_backfill"][0] = since + max(0.0, np.ceil(time - since))


@kernel
def note(clock: Rows, reg: Rows, time: float) -> None:
    """Something changed: passes have work to do."""
    reg["changed"][0] = reg["fresh"][0] = 1
    wake(clock, reg, time)


@kernel
def work(clock: Rows, reg: Rows, time: float) -> None:
    """There is work for the main pass: at the next tick that batch_sched_delay allows."""
    note(clock, reg, time)
    tick = clock["tick"][0]
    earliest = max(time, clock["last_main"][0] + clock["batch_sched_delay"][0])
    clock["main_due"][0] = min(clock["main_due"][0], np.ceil(earliest - tick) + tick)


@kernel
def work_at_once(clock: Rows, reg: Rows, time: float) -> None:
    """There is work for the main pass that waits for no tick (spec: slurm 1.3)."""
    note(clock, reg, time)
    clock["main_due"][0] = time


@kernel
def begin_main(clock: Rows, reg: Rows, time: float) -> bool:
    """A main pass is due: is there work for it? Whether it is over the whole queue is in ``full``.

    spec: slurm 1.2.
    """
    due = time >= clock["main_due"][0]
    reg["full"][0] = 1 if time >= clock["next_full"][0] else 0
    if reg["full"][0] != 0:
        clock["next_full"][0] = time + max(1.0, clock["sched_interval"][0])
    if due or reg["full"][0] != 0:
        clock["main_due"][0], clock["last_main"][0] = NEVER, time
    return due


@kernel
def begin_backfill(clock: Rows, reg: Rows, time: float, waiting: bool) -> bool:
    """The backfill thread wakes; False if it goes back to sleep because nothing is new.

    While jobs wait, the passes themselves change what is noted about them.
    """
    if reg["news"][0] == 0:
        clock["asleep_since"][0], clock["next_backfill"][0] = time, NEVER
        return False
    reg["news"][0] = 1 if waiting else 0
    clock["next_backfill"][0] = time + clock["bf_interval"][0]
    return True


@kernel
def started(clock: Rows, reg: Rows, time: float) -> None:
    """A pass started jobs: everything must be reconsidered."""
    reg["fresh"][0] = 1
    clock["quiet_until"][0] = 0.0
    wake(clock, reg, time)


@kernel
def next_main(clock: Rows) -> float:
    """When the next main pass is due."""
    return min(clock["main_due"][0], clock["next_full"][0])
