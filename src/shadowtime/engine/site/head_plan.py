"""The head's plan, kept from pass to pass while nothing is released.

Before it, what the general pass on a site works with: its parameters and scratch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.passes.phases import FITS
from shadowtime.engine.site.candidates import sorted_already
from shadowtime.kernel.fields import ESTIMATE
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW, VOLATILE
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.choose import choose
from shadowtime.kernel.site.limits import count_reservation
from shadowtime.kernel.site.start import hold_plan, keep_place
from shadowtime.kernel.slots import PLAN, RESERVE, TIME_WORDS, TIMERS, TIMES_FROM, asks
from shadowtime.kernel.state import State
from shadowtime.types import Floats, Ints

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if no job overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
PLAN_NODES = 7
"""Most nodes that the plans of a pass can hold. The places 6 (slots in use) and from 9 on (timers)
are those of kernel/slots.py."""
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""


class General(NamedTuple):
    """The pass's parameters and scratch."""

    par: Ints  # int64[TIMES_FROM + 3 TIMERS]
    weight: Floats  # float64[3]
    jobs: Ints  # int64[n]: candidates
    heap: Ints  # int64[n]: candidates still to be tried, as places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py, for functions of the user's own
    memory: Floats  # float64[rows, numbers]: what such functions remember
    series: Floats  # float64[words]: values over time, kernel/curve.py
    asked: Ints  # int64[n]: jobs, or rows of the memory, for which one is asked
    answer: Floats  # float64[1, n]: what it returns
    scale: Ints  # int64[R + 1]: kernel/balance.py
    frozen: Ints  # int64[2]
    planned: Ints  # int64[depth]: jobs with a plan in this pass
    kept: Ints  # int64[5]: the head's plan that is kept while nothing is released


def make_general(
    *,
    n: int,
    order: int = 0,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    depth: int,
    plan_nodes: int = 0,
    phase: tuple[int, int, int] | None = None,
    scale: Any = None,
    own: Any,
) -> General:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    asked = max(n, len(own.memory)) + 1 if own.bits else 1
    par = np.zeros(TIMES_FROM + TIMERS * TIME_WORDS, np.int64)
    par[:8] = order, depth, phase is not None, test, key, at_most, own.bits, plan_nodes
    timers = [word for timer in own.timers for word in timer]
    par[TIMES_FROM : TIMES_FROM + len(timers)] = timers
    return General(
        par=par,
        weight=np.array(weight, np.float64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        series=own.series,
        asked=np.zeros(asked, np.int64),
        answer=np.zeros((1, asked), np.float64),
        scale=np.zeros(2, np.int64) if scale is None else scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
        kept=np.array([-1, 0, 0, 0, -1], np.int64),
    )


@kernel
def may_keep(state: State, ground: sf.Ground, f: General) -> bool:
    """True where the head's plan outlives a pass in which nothing was released: it stays right.

    One reservation in order of arrival, no job outlives its estimate, nothing but ends lets a job
    in or keeps it out, and no function that may follow the clock chooses its nodes or its start.
    What starts leaves the plan its nodes: its start stays the earliest.
    """
    return bool(
        f.par[DEPTH] == 1
        and f.par[PHASES] != 0
        and f.par[TEST] != FITS
        and sorted_already(ground, f)
        and state.reg[VOLATILE] == 0
        and ground.mark[sf.HAS_LIMITS] == 0
        and ground.mark[sf.ANY_CLOSING] == 0
        and ground.mark[sf.TIMES] == 0
        and ground.mark[sf.PLACE_RULE] != sf.SCORE
        and not asks(f, RESERVE)
        and not asks(f, PLAN)
    )


@kernel
def keep_plan(state: State, ground: sf.Ground, f: General) -> None:
    """Remember the plan of this pass."""
    job = f.planned[0]
    f.kept[KEPT_HEAD] = job
    f.kept[KEPT_START] = ground.job[job, sf.DUE]
    f.kept[KEPT_AT] = ground.mark[sf.RELEASED]


@routine
def make_plan(state: State, ground: sf.Ground, job: int, alt: int, at: int) -> None:
    """Hold the nodes found last for a job from an instant on."""
    keep_place(ground, job, alt)
    ground.job[job, sf.DUE] = at
    hold_plan(ground, job, state.reg[NOW], at, at + state.job[job, ESTIMATE], sf.number(-1))
    if ground.mark[sf.TIMES] != 0:
        count_reservation(ground, job, alt, ground.job[job, sf.SHAPE], sf.number(1))


@routine
def drop_plan(state: State, ground: sf.Ground, job: int) -> None:
    """Give these nodes back."""
    at = ground.job[job, sf.DUE]
    hold_plan(ground, job, state.reg[NOW], at, at + state.job[job, ESTIMATE], sf.number(1))
    ground.job[job, sf.DUE] = NEVER
    if ground.mark[sf.TIMES] != 0:
        count_reservation(
            ground, job, ground.job[job, sf.ALT], ground.job[job, sf.SHAPE], sf.number(-1)
        )


@routine
def give_plan_up(state: State, ground: sf.Ground, f: General) -> None:
    """Drop the plan that was kept; its start remains known."""
    job = f.kept[KEPT_HEAD]
    start = ground.job[job, sf.DUE]
    if start < NEVER:
        end = start + state.job[job, ESTIMATE]
        hold_plan(ground, job, state.reg[NOW], start, end, sf.number(1))
        ground.job[job, sf.DUE] = NEVER
        ground.mark[sf.RELEASED] += 1
    f.kept[KEPT_HEAD] = -1
    f.kept[KEPT_LAST] = job


@kernel
def plan_stands(state: State, ground: sf.Ground, f: General, size: int) -> bool:
    """True if nothing was released since the plan was made and the head is the same."""
    if f.kept[KEPT_AT] != ground.mark[sf.RELEASED]:
        return False
    at = 0
    while at < size and not fits_somewhere(ground, f.jobs[at]):
        at += 1
    return bool(at < size and f.jobs[at] == f.kept[KEPT_HEAD])


@kernel
def fits_somewhere(ground: sf.Ground, job: int) -> bool:
    """True if one of the job's shapes fits on the empty nodes."""
    ask = ground.job[job, sf.ASK]
    at = ground.ask[ask, 0]
    while at < ground.ask[ask, 1] and ground.shape[ground.alt[at, sf.ALT_SHAPE], sf.PLACEABLE] == 0:
        at += 1
    return bool(at < ground.ask[ask, 1])


@routine
def behind_head(state: State, ground: sf.Ground, f: General, size: int) -> int:
    """The candidates behind the head whose plan stands; its nodes are chosen again after starts."""
    head = f.kept[KEPT_HEAD]
    if (
        f.kept[KEPT_CHANGES] != ground.mark[sf.CHANGES]
        and ground.mark[sf.PLACE_RULE] != sf.FIRST_FIT
    ):
        now = state.reg[NOW]
        length = state.job[head, ESTIMATE]
        start = f.kept[KEPT_START]
        hold_plan(ground, head, now, start, start + length, sf.number(1))
        choose(state, ground, head, ground.job[head, sf.SHAPE], start, length)
        if moved(ground, head):
            if ground.mark[sf.PLACED] > ground.job[head, sf.PLACE_COUNT]:
                keep_place(ground, head, ground.job[head, sf.ALT])
            else:
                first = ground.job[head, sf.PLACE_FROM]
                for at in range(ground.mark[sf.PLACED]):
                    ground.place[first + at] = (
                        ground.scratch[sf.CHOSEN, at] << 32 | ground.scratch[sf.GIVEN, at]
                    )
                ground.job[head, sf.PLACE_COUNT] = ground.mark[sf.PLACED]
            ground.mark[sf.RELEASED] += 1
            f.kept[KEPT_AT] = ground.mark[sf.RELEASED]
        hold_plan(ground, head, now, start, start + length, sf.number(-1))
        f.kept[KEPT_CHANGES] = ground.mark[sf.CHANGES]
    count = 0
    for i in range(size):
        if f.jobs[i] > head:
            f.heap[count] = i
            count += 1
    return count


@kernel
def moved(ground: sf.Ground, job: int) -> bool:
    """True if the placement found last is not the job's own."""
    if ground.mark[sf.PLACED] != ground.job[job, sf.PLACE_COUNT]:
        return True
    first = ground.job[job, sf.PLACE_FROM]
    at = 0
    while (
        at < ground.mark[sf.PLACED]
        and ground.place[first + at]
        == ground.scratch[sf.CHOSEN, at] << 32 | ground.scratch[sf.GIVEN, at]
    ):
        at += 1
    return bool(at < ground.mark[sf.PLACED])
