"""The simulator's tables filled from a snapshot, by the event loop's own steps."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.corrections import first_correction
from shadowtime.engine.events import carry_out_corrections
from shadowtime.kernel.estimates import FIXED, LAST, learn_end, learn_submit
from shadowtime.kernel.fields import ENDS_AT, ESTIMATE, HOST, START
from shadowtime.kernel.jit import entry
from shadowtime.kernel.queue import enqueue
from shadowtime.kernel.registers import ENDED, LEARNER, NOW
from shadowtime.kernel.running import insert, take

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
def fill(s: Any, w: Any, facts: Any, now: int) -> None:
    """Carry out facts in their order: who runs, who waits, then the news by time."""
    reg = s.reg
    for i in range(facts.shape[1]):
        what = facts[WHAT, i]
        job = facts[JOB, i]
        if what == RUNS:
            take(s, job, s.job[job, HOST])
            insert(s, job, s.job[job, START] + s.job[job, ESTIMATE])
            w.truth[job, ENDS_AT] = 1  # it runs: its prediction may be corrected
            if reg[LEARNER] != FIXED:
                first_correction(s, w, job)
        elif what == NEWS_END:
            s.ended[reg[ENDED]] = job
            reg[ENDED] += 1
            reg[NOW] = facts[WHEN, i]
            if reg[LEARNER] != FIXED:
                learn_end(s, job)
        else:
            if (what == NEWS_SUBMIT and reg[LEARNER] != FIXED) or reg[LEARNER] == LAST:
                learn_submit(s, job)
            enqueue(s, job)
    reg[NOW] = now
    if reg[LEARNER] != FIXED:
        carry_out_corrections(s, w, now)
