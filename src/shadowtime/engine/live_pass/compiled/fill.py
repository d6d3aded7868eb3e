"""The simulator's tables filled from a snapshot, by the event loop's own steps."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import carry_out_corrections
from shadowtime.kernel.estimates import FIXED, LAST, learn_end, learn_submit
from shadowtime.kernel.fields import CAPACITY, ENDS_AT, ESTIMATE, HOST, NEED, PROCS, START
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import ARRIVED, BIG, ENDED, LEARNER, NOW
from shadowtime.kernel.running import first_correction, insert, take
from shadowtime.kernel.state import State, World

RUNS = 0
"""A job that holds resources."""
WAITS = 1
"""A job that waited at the last pass already."""
NEWS_END = 2
"""A job that ended since the last pass."""
NEWS_SUBMIT = 3
"""A job submitted since the last pass."""

WHAT, JOB, WHEN = 0, 1, 2
"""Rows of ``facts``."""


@entry
def fill(state: State, world: World, facts: Any, now: int) -> None:
    """Carry out facts in their order: running jobs, waiting jobs, then the news by time."""
    reg = state.reg
    for i in range(facts.shape[1]):
        what = facts[WHAT, i]
        job = facts[JOB, i]
        if what == RUNS:
            take(state, job, state.job[job, HOST])
            insert(state, job, state.job[job, START] + state.job[job, ESTIMATE])
            world.truth[job, ENDS_AT] = 1  # it runs: its prediction may be corrected
            if reg[LEARNER] != FIXED:
                first_correction(state, world, job)
        elif what == NEWS_END:
            state.ended[reg[ENDED]] = job
            reg[ENDED] += 1
            reg[NOW] = facts[WHEN, i]
            if reg[LEARNER] != FIXED:
                learn_end(state, job)
        else:
            if (what == NEWS_SUBMIT and reg[LEARNER] != FIXED) or reg[LEARNER] == LAST:
                learn_submit(state, job)
            enqueue(state, job)
    reg[NOW] = now
    if reg[LEARNER] != FIXED:
        carry_out_corrections(state, world, now)


@entry
def set_aside(state: State) -> None:
    """Take jobs out of the queue that no host could hold even when empty.

    They would keep every job waiting for a start that cannot come.
    """
    for job in range(state.reg[ARRIVED]):
        if state.wait[PROCS, job] != BIG and not ever_fits(state, job):
            dequeue(state, job)


@kernel
def ever_fits(state: State, job: int) -> bool:
    """True if some host could hold the job if it were empty."""
    for host in range(state.host.shape[1]):
        holds = True
        for k in range(state.host.shape[2]):
            if state.job[job, NEED + k] > state.host[CAPACITY, host, k]:
                holds = False
        if holds:
            return True
    return False
