"""Put a snapshot into the tables: running jobs on their nodes, waiting ones into the queue."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.site.entering import to_queue
from shadowtime.kernel.fields import ESTIMATE, START
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import NOW
from shadowtime.kernel.running import insert
from shadowtime.kernel.site.fields import (
    ALT,
    ALT_SHAPE,
    ANY_CLOSING,
    DUE,
    HAS_LIMITS,
    PHASE,
    REPAIR,
    RUNS,
    SHAPE,
    SOONEST,
)
from shadowtime.kernel.site.limits import account_start
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import hold_place, hold_plan, occupy


@entry
def seat(state: Any, ground: Any, running: Any, waiting: Any, promised: Any) -> None:
    """``running``: jobs and starts; ``waiting``: jobs; ``promised``: waiting jobs and promises.

    Their places are already in the tables, with the alternative each runs by. Promises are looked
    at again where a node may have closed or one is past; where they take more than there is, the
    steps say so themselves.
    """
    now = state.reg[NOW]
    if ground.mark[ANY_CLOSING] != 0:
        ground.mark[REPAIR] = 1
    for i in range(running.shape[0]):
        job = running[i, 0]
        ground.job[job, SHAPE] = ground.alt[ground.job[job, ALT], ALT_SHAPE]
        state.job[job, START] = running[i, 1]
        end = max(running[i, 1] + state.job[job, ESTIMATE], now + 1)
        occupy(state, ground, job, number(-1))
        hold_place(ground, job, now, now, end, number(-1))
        insert(state, job, end)
        ground.job[job, PHASE] = RUNS
        if ground.mark[HAS_LIMITS] != 0:
            account_start(state, ground, job)
    for i in range(waiting.shape[0]):
        to_queue(state, ground, waiting[i])
    for i in range(promised.shape[0]):
        job = promised[i, 0]
        due = promised[i, 1]
        ground.job[job, SHAPE] = ground.alt[ground.job[job, ALT], ALT_SHAPE]
        ground.job[job, DUE] = due
        if due < now:
            ground.mark[REPAIR] = 1
        ground.mark[SOONEST] = min(ground.mark[SOONEST], due)
        hold_plan(ground, job, now, due, due + state.job[job, ESTIMATE], number(-1))
