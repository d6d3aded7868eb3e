"""What functions of a user's own learn and predict, on every machine: the news of an instant.

Ends come first, in order, then submissions; timers that were due before come first of all, those
that are due now last. What the pass starts is reported behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel import registers as r
from shadowtime.kernel import slots
from shadowtime.kernel.fields import ESTIMATE, INITIAL, KIND, PROCS, REQUEST, WHICH
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import reestimate
from shadowtime.kernel.state import State

if TYPE_CHECKING:
    from shadowtime.engine.site.candidates import General as SiteGeneral
    from shadowtime.kernel.general import General
    from shadowtime.kernel.slots import OwnPointer


@kernel
def learns(f: General | SiteGeneral) -> bool:
    """True if a function predicts or learns: those slots have the highest numbers."""
    return bool(f.par[slots.IN_USE] >> slots.ESTIMATE != 0)


@routine
def learn(state: State, f: General | SiteGeneral, custom: OwnPointer) -> None:
    """Report what ended and what was submitted at this instant, and ask for estimates.

    Timers that were due before come first, those that are due now come last.
    """
    ticks = f.par[slots.IN_USE] >> slots.LEARN_TIMER != 0
    if ticks:
        slots.tick(state, f, custom, state.reg[r.NOW] - 1)
    if slots.asks(f, slots.LEARN_END):
        for i in range(state.reg[r.ENDED]):
            slots.ask_one(state, f, custom, slots.LEARN_END, state.ended[i], 0.0)
    for job in range(state.reg[r.FRESH], state.reg[r.ARRIVED]):
        if slots.asks(f, slots.ESTIMATE):
            predict(state, f, custom, job)
        if slots.asks(f, slots.LEARN_SUBMIT):
            slots.ask_one(state, f, custom, slots.LEARN_SUBMIT, job, 0.0)
    if ticks:
        slots.tick(state, f, custom, state.reg[r.NOW])


@kernel
def predict(state: State, f: General | SiteGeneral, custom: OwnPointer, job: int) -> None:
    """The estimate of a job that was just submitted: whole seconds within [1, request]."""
    guess = np.floor(slots.ask_one(state, f, custom, slots.ESTIMATE, job, 0.0) + 0.5)
    within = max(1.0, min(float(state.job[job, REQUEST]), guess))
    if within != guess:
        state.reg[r.CLAMPED] += 1
    state.job[job, ESTIMATE] = int(within)
    if state.wait[PROCS, job] != r.BIG:  # on a site it may not be in the queue yet
        reestimate(state, job, int(within))
    state.job[job, INITIAL] = state.job[job, ESTIMATE]


@kernel
def learn_starts(state: State, f: General | SiteGeneral, custom: OwnPointer) -> None:
    """Report what the pass started."""
    for i in range(state.reg[r.DECISIONS]):
        if state.did[KIND, i] == r.STARTED:
            slots.ask_one(state, f, custom, slots.LEARN_START, state.did[WHICH, i], 0.0)
