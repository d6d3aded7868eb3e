"""EASY++'s corrections: a running job that outlives its prediction gets a longer one (spec 1.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.estimates import LAST_TWO
from shadowtime.kernel.fields import ESTIMATE, INITIAL, RANK, REQUEST, START, STEPS
from shadowtime.kernel.heap import push
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import BITS, CORRECTIONS, LEARNER
from shadowtime.kernel.running import find, insert, remove

LADDER = np.array(
    [60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000], dtype=np.int64
)
"""The k-th correction sets the prediction to the initial one plus this, never over the request."""


@kernel
def first_correction(s: Any, w: Any, job: int) -> None:
    """A job starts: note when its prediction runs out."""
    if s.reg[LEARNER] == LAST_TWO:
        s.job[job, STEPS] = 0
        note(s, w, job)


@kernel
def note(s: Any, w: Any, job: int) -> None:
    """Queue the next correction, unless the request itself has been reached."""
    reg = s.reg
    if s.job[job, ESTIMATE] < s.job[job, REQUEST]:
        when = s.job[job, START] + s.job[job, ESTIMATE]
        reg[CORRECTIONS] = push(
            w.corrections, reg[CORRECTIONS], when << reg[BITS] | w.truth[job, RANK]
        )


@kernel
def correct(s: Any, w: Any, job: int) -> None:
    """Give a running job its next, longer prediction."""
    step = s.job[job, STEPS]
    longer = s.job[job, REQUEST]
    if step < LADDER.shape[0]:
        longer = min(longer, s.job[job, INITIAL] + LADDER[step])
    s.job[job, STEPS] = step + 1
    s.job[job, ESTIMATE] = longer
    remove(s, find(s, job))
    insert(s, job, s.job[job, START] + longer)
    note(s, w, job)
