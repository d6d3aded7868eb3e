"""Promises on a site: give one, take it back, keep it if it holds, and move it to now.

Before them, what the pass of kept promises works with: its parameters and scratch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import ESTIMATE, PROMISED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.order import FCFS
from shadowtime.kernel.registers import NEVER, NOW, SLIPPED
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.room import closed
from shadowtime.kernel.site.start import admits, ask_earliest, hold_plan, keep_place, note_gain
from shadowtime.kernel.site.steps import amount, amounts_from, current
from shadowtime.kernel.site.under_limits import place_at
from shadowtime.kernel.state import State
from shadowtime.types import Floats, Ints

COMPRESS = 1
"""1: promises move to earlier starts. The place 0 is that of the order (candidates.py)."""
EFFORT = 2
"""How much a sweep may examine, in gains; 0: everything. The next pass continues with the rest."""
UNFINISHED = 3
"""1 if the sweep was left unfinished."""
EVERY_PASS = 4
"""1: there is a sweep in every pass, in which newcomers get their promise when their turn comes;
0: after early releases only, and newcomers come behind all others."""
MANY_GAINS = 256
"""With more gains than these a job is asked about all nodes at once."""
A_SEARCH = 1000
"""What a search for an earlier start costs, in gains looked at (measured, about)."""


class ConservativeState(NamedTuple):
    """The pass's parameters and scratch."""

    par: Ints  # int64[5]
    weight: Floats  # float64[3]
    line: Ints  # int64[n]: the queue in order
    jobs: Ints  # int64[n]: the queue by arrival
    heap: Ints  # int64[n]: places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py, for an order of the user's own
    memory: Floats  # float64[rows, numbers]
    series: Floats  # float64[words]: values over time, kernel/curve.py


def make_conservative(
    *,
    n: int,
    compress: bool,
    own: Any,
    order: int = FCFS,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    every_pass: bool = False,
    effort: int = 0,
) -> ConservativeState:
    """Parameters and room for a run of ``n`` jobs."""
    return ConservativeState(
        par=np.array([order, compress, effort, 0, every_pass], np.int64),
        weight=np.array(weight, np.float64),
        line=np.empty(n + 1, np.int64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        series=own.series,
    )


@routine
def promise(state: State, ground: sf.Ground, job: int, start: int, alt: int) -> None:
    """Hold the placement found last for a job."""
    keep_place(ground, job, alt)
    ground.job[job, sf.DUE] = start
    ground.mark[sf.SOONEST] = min(ground.mark[sf.SOONEST], start)
    hold_plan(ground, job, state.reg[NOW], start, start + state.job[job, ESTIMATE], sf.number(-1))


@routine
def give(state: State, ground: sf.Ground, job: int) -> None:
    """Promise a job its earliest start, if it is considered and there is one."""
    start, alt = ask_earliest(state, ground, job, state.reg[NOW], sf.number(NEVER), sf.number(1))
    if alt >= 0:
        promise(state, ground, job, start, alt)
        ground.job[job, sf.ASKED] = ground.mark[sf.GAINS]


@routine
def give_first(state: State, ground: sf.Ground, job: int) -> None:
    """Promise a start to a job that has none, unless its promise was broken or withdrawn now."""
    withdrawn = ground.job[job, sf.WITHDRAWN] == ground.mark[sf.LEFT] + 1
    if ground.job[job, sf.DUE] == NEVER and ground.job[job, sf.BROKEN] == 0 and not withdrawn:
        give(state, ground, job)
        if ground.job[job, sf.DUE] < NEVER and state.job[job, PROMISED] < 0:
            state.job[job, PROMISED] = ground.job[job, sf.DUE]


@kernel
def let_go(state: State, ground: sf.Ground, job: int) -> None:
    """Take a promise back: its nodes come free."""
    due = ground.job[job, sf.DUE]
    end = due + state.job[job, ESTIMATE]
    hold_plan(ground, job, state.reg[NOW], due, end, sf.number(1))
    note_gain(ground, job, due, end)
    ground.job[job, sf.DUE] = NEVER


@routine
def repair(state: State, ground: sf.Ground, f: ConservativeState, count: int) -> None:
    """Promises that hold around the running jobs stay, in queue order; others are made again."""
    now = state.reg[NOW]
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, sf.DUE]
        if due < NEVER:
            hold_plan(ground, job, now, due, due + state.job[job, ESTIMATE], sf.number(1))
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, sf.DUE]
        if due == NEVER:
            continue
        end = due + state.job[job, ESTIMATE]
        if promise_holds(state, ground, job, due):
            hold_plan(ground, job, now, due, end, sf.number(-1))
        else:
            note_gain(ground, job, due, end)
            ground.job[job, sf.DUE] = NEVER
            ground.job[job, sf.BROKEN] = 1
    for i in range(count):
        job = f.line[i]
        if ground.job[job, sf.BROKEN] != 0:
            state.reg[SLIPPED] += 1
            give(state, ground, job)
    ground.mark[sf.SOONEST] = min(
        ground.mark[sf.SOONEST], now
    )  # the last one may have been given again


@kernel
def promise_holds(state: State, ground: sf.Ground, job: int, due: int) -> bool:
    """True if what was promised is still free, and the nodes open, for the whole estimate."""
    now = state.reg[NOW]
    shape = ground.job[job, sf.SHAPE]
    end = due + state.job[job, ESTIMATE]
    named = ground.shape[shape, sf.RESERVATION]
    if due < now:
        return False
    if named >= 0 and (
        ground.reservation[named, sf.RES_KNOWN] > now
        or ground.reservation[named, sf.RES_BEGIN] > due
        or ground.reservation[named, sf.RES_END] < end
    ):
        return False
    if (
        ground.mark[sf.AMOUNTS] != 0
        and amounts_from(ground, ground.job[job, sf.ALT], now, due, end - due) > due
    ):
        return False
    resources = ground.step.shape[1] - sf.LEVEL
    first = ground.job[job, sf.PLACE_FROM]
    for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
        node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
        if closed(ground, now, shape, node, due, end):
            return False
        step = current(ground, node, now)
        following = ground.step[step, sf.NEXT]
        while step >= 0 and ground.step[step, sf.TIME] < end:
            if following < 0 or ground.step[following, sf.TIME] > due:
                for k in range(resources):
                    if ground.step[step, sf.LEVEL + k] < amount(ground, shape, node, tasks, k):
                        return False
            step = following
            following = ground.step[step, sf.NEXT] if step >= 0 else -1
    return True


@routine
def start_early(state: State, ground: sf.Ground, job: int) -> None:
    """Move the promise to now if the job fits now around all others."""
    now = state.reg[NOW]
    due, length = ground.job[job, sf.DUE], state.job[job, ESTIMATE]
    hold_plan(ground, job, now, due, due + length, sf.number(1))
    ask = ground.job[job, sf.ASK]
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, sf.ALT_SHAPE]
        if not admits(state, ground, job, alt, length):
            continue
        named = ground.shape[shape, sf.RESERVATION]
        if named >= 0 and ground.reservation[named, sf.RES_BEGIN] > now:
            continue
        if ground.mark[sf.AMOUNTS] != 0 and amounts_from(ground, alt, now, now, length) > now:
            continue
        if place_at(state, ground, job, alt, now, length, sf.number(0)):
            promise(state, ground, job, now, alt)
            return
    hold_plan(ground, job, now, due, due + length, sf.number(-1))
