"""EASY++'s corrections: a running job that outlives its prediction gets a longer one.

spec: algorithms 1.6.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.estimates import LAST_TWO, left_of
from shadowtime.kernel.fields import ESTIMATE, INITIAL, RANK, REQUEST, START, STEPS
from shadowtime.kernel.heap import push
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import BITS, CORRECTIONS, LEARNER
from shadowtime.kernel.running import find, insert, remove
from shadowtime.kernel.state import State, World

LADDER = np.array(
    [60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000], dtype=np.int64
)
"""The k-th correction sets the prediction to the initial one plus this, never over the request."""


@kernel
def first_correction(state: State, world: World, job: int) -> None:
    """A job starts: note when its prediction runs out."""
    if state.reg[LEARNER] == LAST_TWO:
        state.job[job, STEPS] = 0
        note(state, world, job)


@kernel
def note(state: State, world: World, job: int) -> None:
    """Queue the next correction, unless the request itself has been reached."""
    reg = state.reg
    if state.job[job, ESTIMATE] < left_of(state, job, state.job[job, REQUEST]):
        when = state.job[job, START] + state.job[job, ESTIMATE]
        reg[CORRECTIONS] = push(
            world.corrections, reg[CORRECTIONS], when << reg[BITS] | world.truth[job, RANK]
        )


@kernel
def correct(state: State, world: World, job: int) -> None:
    """Give a running job its next, longer prediction."""
    step = state.job[job, STEPS]
    longer = state.job[job, REQUEST]
    if step < LADDER.shape[0]:
        longer = min(longer, state.job[job, INITIAL] + LADDER[step])
    longer = left_of(state, job, longer)
    state.job[job, STEPS] = step + 1
    state.job[job, ESTIMATE] = longer
    remove(state, find(state, job))
    insert(state, job, state.job[job, START] + longer)
    note(state, world, job)
