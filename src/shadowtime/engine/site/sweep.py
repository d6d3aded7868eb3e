"""The sweep that moves promises to earlier starts, in the order of the queue.

It looks at few jobs: a job can gain only from nodes that came free since it was last asked, in a
window that touches what came free.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.site.conservative_parts import (
    A_SEARCH,
    EFFORT,
    EVERY_PASS,
    MANY_GAINS,
    UNFINISHED,
)
from shadowtime.engine.site.promises import give_first, promise
from shadowtime.kernel.fields import ESTIMATE
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW
from shadowtime.kernel.site.fields import (
    ALT_SHAPE,
    ASK,
    ASKED,
    DUE,
    GAINS,
    GAINS_FROM,
    LEVEL,
    NEXT,
    TIME,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.room import holds, in_mask
from shadowtime.kernel.site.start import ask_earliest, hold_plan, note_gain
from shadowtime.kernel.site.steps import current


@routine
def sweep(state: Any, ground: Any, f: Any, count: int) -> None:
    """One sweep in queue order: promises to their earliest start, never later."""
    begin = ground.mark[GAINS]
    spent = 0
    f.par[UNFINISHED] = 0
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, DUE]
        if due == NEVER:
            if f.par[EVERY_PASS] != 0:
                give_first(state, ground, job)
            continue
        asked = ground.job[job, ASKED]
        if asked == ground.mark[GAINS]:
            continue
        if f.par[EFFORT] > 0 and spent >= f.par[EFFORT]:
            f.par[UNFINISHED] = 1
            return  # the log of gains stays as it is: the others have not been asked
        ground.job[job, ASKED] = ground.mark[GAINS]
        since, until = gain_for(state, ground, job, due, asked)
        spent += min(ground.mark[GAINS] - asked, MANY_GAINS)
        if since < until:
            improve(state, ground, job, since, until)
            spent += A_SEARCH
    # Every job has been asked about what came before: only what was given up meanwhile stays.
    shift = begin - ground.mark[GAINS_FROM]
    for row in range(shift, ground.mark[GAINS] - ground.mark[GAINS_FROM]):
        for k in range(3):
            ground.gain[row - shift, k] = ground.gain[row, k]
    ground.mark[GAINS_FROM] = begin


@kernel
def gain_for(state: Any, ground: Any, job: int, due: int, asked: int) -> tuple[int, int]:
    """Starts from ``since`` to before ``until`` may have become possible, no others."""
    now = state.reg[NOW]
    length = state.job[job, ESTIMATE]
    ask = ground.job[job, ASK]
    first = asked - ground.mark[GAINS_FROM]
    behind = ground.mark[GAINS] - ground.mark[GAINS_FROM]
    if behind - first > MANY_GAINS or first < 0:
        return now, due
    since, until = NEVER, 0
    for row in range(first, behind):
        node = ground.gain[row, 0]
        begin = max(now, ground.gain[row, 1] - length + 1)
        stop = min(due, ground.gain[row, 2])
        if begin >= stop or (begin >= since and stop <= until):
            continue
        for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
            shape = ground.alt[alt, ALT_SHAPE]
            if not in_mask(ground, shape, node):
                continue
            start = opening(ground, now, shape, node, begin, length, stop, due)
            if start < stop:
                since = min(since, start)
                until = max(until, stop)
    return since, until


@kernel
def opening(
    ground: Any, now: int, shape: int, node: int, start: int, length: int, before: int, own: int
) -> int:
    """The first start before an instant at which the node holds a task until ``own`` at least.

    From ``own`` on the job's own promise may be what keeps the node. NEVER if there is none.
    """
    step = current(ground, node, now)
    while start < before:
        while ground.step[step, NEXT] >= 0 and ground.step[ground.step[step, NEXT], TIME] <= start:
            step = ground.step[step, NEXT]
        end = min(start + length, own)
        behind = -1
        at = step
        while at >= 0 and (at == step or ground.step[at, TIME] < end):
            if holds(ground, shape, node, ground.step, at, LEVEL) == 0:
                behind = (
                    ground.step[ground.step[at, NEXT], TIME]
                    if ground.step[at, NEXT] >= 0
                    else NEVER
                )
            at = ground.step[at, NEXT]
        if behind < 0:
            return start
        start = behind
    return NEVER


@routine
def improve(state: Any, ground: Any, job: int, since: int, until: int) -> None:
    """Ask for an earlier start, the job's own promise taken out."""
    now = state.reg[NOW]
    due = ground.job[job, DUE]
    end = due + state.job[job, ESTIMATE]
    hold_plan(ground, job, now, due, end, number(1))
    start, alt = ask_earliest(state, ground, job, since, min(due, until), number(0))
    if alt < 0:
        hold_plan(ground, job, now, due, end, number(-1))
        return
    note_gain(ground, job, due, end)
    promise(state, ground, job, start, alt)
    ground.job[job, ASKED] = ground.mark[GAINS]
