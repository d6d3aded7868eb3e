"""The compiled entries for a cluster that is not simulated: one pass, and running jobs taken on."""

from __future__ import annotations

from shadowtime.engine.nodes.events import carry_out_starts
from shadowtime.engine.nodes.rates import Rates
from shadowtime.engine.nodes.running_table import Table
from shadowtime.engine.nodes.slurm.availability import Availability
from shadowtime.engine.nodes.slurm.passes import decide, occupy
from shadowtime.kernel.jit import entry
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import DECISIONS, STARTED
from shadowtime.kernel.registers import NOW as CLOCK
from shadowtime.kernel.running import log
from shadowtime.kernel.state import State, World
from shadowtime.types import AnyArray


@entry
def once(state: State, b: Availability, unfit: AnyArray, now: int) -> None:
    """The pass alone; no plan is made for jobs that the machine as it is could never hold."""
    for job in unfit:
        dequeue(state, job)
    decide(state, b, now)


@entry
def take_on(
    state: State, world: World, table: Table, rates: Rates, b: Availability, now: int
) -> None:
    """Let the jobs in the book's list run on in the simulated world."""
    state.reg[CLOCK] = now
    table.par["now"][0] = now
    state.reg[DECISIONS] = 0
    for i in range(b.par["running"][0]):
        log(state, STARTED, b.running[i])
    occupy(state, table, b, now)
    carry_out_starts(state, world, table, rates)
    state.reg[DECISIONS] = 0
