"""The simulator's tables filled from a snapshot, by the event loop's own steps."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.corrections import first_correction
from shadowtime.engine.events import carry_out_corrections
from shadowtime.kernel.estimates import FIXED, LAST, learn_end, learn_submit
from shadowtime.kernel.fields import CAPACITY, ENDS_AT, ESTIMATE, HOST, NEED, PROCS, START
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import ARRIVED, BIG, ENDED, LEARNER, NOW
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


@entry
def set_aside(s: Any) -> None:
    """Take jobs out of the queue that no host could hold even when empty.

    They would keep everybody waiting for a start that cannot come.
    """
    for job in range(s.reg[ARRIVED]):
        if s.wait[PROCS, job] != BIG and not ever_fits(s, job):
            dequeue(s, job)


@kernel
def ever_fits(s: Any, job: int) -> bool:
    """True if some host could hold the job if it were empty."""
    for host in range(s.host.shape[1]):
        holds = True
        for k in range(s.host.shape[2]):
            if s.job[job, NEED + k] > s.host[CAPACITY, host, k]:
                holds = False
        if holds:
            return True
    return False
