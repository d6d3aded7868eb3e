"""The compiled entries for a cluster that is not simulated: one pass, and running jobs taken on."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.events import carry_out_starts
from shadowtime.engine.nodes.slurm import decide, occupy
from shadowtime.kernel.jit import entry
from shadowtime.kernel.nodes import fields as nodes
from shadowtime.kernel.nodes.book import RUNNING
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import DECISIONS, STARTED
from shadowtime.kernel.registers import NOW as CLOCK
from shadowtime.kernel.running import log


@entry
def once(s: Any, b: Any, unfit: Any, now: int) -> None:
    """The pass alone; nobody plans for jobs that the machine as it is could never hold."""
    for job in unfit:
        dequeue(s, job)
    decide(s, b, now)


@entry
def take_on(s: Any, w: Any, t: Any, r: Any, b: Any, now: int) -> None:
    """Let the jobs in the book's list run on in the simulated world."""
    s.reg[CLOCK] = now
    t.par[nodes.NOW] = now
    s.reg[DECISIONS] = 0
    for i in range(b.par[RUNNING]):
        log(s, STARTED, b.running[i])
    occupy(s, t, b, now)
    carry_out_starts(s, w, t, r)
    s.reg[DECISIONS] = 0
