"""Jobs that change on a pool: their tables, their rates, and what a policy's function sees of them.

A function sees all jobs that are there, the running ones too, in the columns of a queue
(kernel/choice.py) with those of ``SEEN`` behind them. It answers in ``size`` and ``speed``.
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

from shadowtime.kernel.jit import routine
from shadowtime.types import AMDAHL, DOWNEY, FULL_SPEED, MILLION, Floats, Ints

SEEN = (
    "held", "size", "speed", "least", "most", "left", "pause", "cost", "stops", "suspended",
    "kind", "curve_a", "curve_b", "beta", "knot",
)  # fmt: skip
"""held: the processors that a job has now, 0 while it waits or is suspended. size, speed: what it
is to have from now on, written by the function. least, most: bounds of its size. left: seconds of
work expected to be left, at its own size and full speed. pause: seconds until it makes progress.
cost: seconds that a change of its size costs. stops: how often it was stopped. suspended: the
processors that it gave back at speed 0, else 0. The others: its speed-up."""
(
    HELD, SIZE_, SPEED_, LEAST_, MOST_, LEFT_, PAUSE_, COST_, STOPS_, SUSPENDED_, KIND_, A_, B_,
    BETA_, KNOT_,
) = range(len(SEEN))  # fmt: skip
FRACTIONS = ("curve_a", "curve_b", "beta", "knot")
WHOLE = ("knot",)
"""Columns that belong to no job."""

# Columns of the table of jobs.
(
    SUBMIT, REQUEST, ESTIMATE, OWN, LEAST, MOST, COST, CHECKPOINT, KIND, WORK, LEFT, SIZE,
    LEVEL, RATE, SINCE, RESUME, ENDS_AT, START, END, STOPS, REASON, PROMISED, BLOCKED_AT, WORDS,
) = range(24)  # fmt: skip
"""WORK and LEFT in millionths of a second; LEFT is what was left when the piece began at SINCE;
before RESUME there is no progress. A suspended job keeps its SIZE and has the level of speed 0."""

# Rows of the log of pieces.
P_JOB, P_FROM, P_UNTIL, P_STOPPED, P_SIZE, P_LEVEL, P_COST, P_WORK, P_ROWS = range(9)

RESIZE_SIZE, RESIZE_FULL, RESIZE_SPEED, RESIZE_WAITS, RESIZE_KEEPS = 18, 19, 20, 21, 22
"""Slots in the register FAILED: a size beyond its bounds, too many processors, no such speed, a
waiting job suspended, too much of what jobs hold besides processors."""

NEVER_ENDS = 1 << 40
"""Seconds that a suspended job takes."""


class Tables(NamedTuple):
    """What a run works on."""

    reg: Ints  # int64[COUNT]: registers.py
    job: Ints  # int64[n, WORDS]
    curve: Ints  # int64[n, 3]: a, b, beta, as bits
    fraction: Floats  # float64[n, 3]: the same numbers
    knot: Floats  # float64[points]
    speed: Ints  # int64[levels]: thousandths of full speed; the last is 0
    here: Ints  # int64[n + 1]: jobs that are submitted and not over, in order
    piece: Ints  # int64[P_ROWS, room]
    need: Ints  # int64[n, K]: what it holds, processors first, at its own size
    there: Ints  # int64[K]: what the machine has
    later: Ints  # int64[2, steps]: when it has others, and how many it has then


@routine
def speedup_at(kind: int, a: float, b: float, knot: Floats, procs: int) -> float:
    """S(p) (spec: changing 1.2)."""
    p = float(procs)
    if kind == AMDAHL:
        return 1.0 / (a + (1.0 - a) / p)
    if kind == DOWNEY:
        if b <= 1.0:
            if p <= a:
                return a * p / (a + b * (p - 1.0) / 2.0)
            if p <= 2.0 * a - 1.0:
                return a * p / (b * (a - 0.5) + p * (1.0 - b / 2.0))
            return a
        if p <= a + a * b - b:
            return p * a * (b + 1.0) / (b * (p + a - 1.0) + a)
        return a
    first, last = int(a), int(a) + 2 * (int(b) - 1)
    if p < knot[first]:
        return float(knot[first + 1] * p / knot[first])
    at = first
    while at < last and knot[at + 2] < p:
        at += 2
    if at == last:
        return float(knot[last + 1])
    slope = (knot[at + 3] - knot[at + 1]) / (knot[at + 2] - knot[at])
    return float(slope * (p - knot[at]) + knot[at + 1])


@routine
def rate_at(
    kind: int, a: float, b: float, beta: float, knot: Floats, own: int, procs: int, speed: int
) -> int:
    """Millionths of the progress at its own size and full speed (spec: changing 2.2)."""
    gain = speedup_at(kind, a, b, knot, procs) / speedup_at(kind, a, b, knot, own)
    r = floor(MILLION * gain + 1e-6)
    d = floor(MILLION / (beta * (FULL_SPEED / speed - 1.0) + 1.0) + 1e-6)
    return max(1, r * d // MILLION)


@routine
def seconds_at(jobs: Any, i: int, size: int, speed: int) -> int:
    """How long job i is expected to take from now on at a size and a speed, costs included."""
    if speed == 0:
        return NEVER_ENDS
    has = jobs.held[i] + jobs.suspended[i]
    wait = 0
    if size == has:
        wait = jobs.pause[i]
    elif has > 0 or jobs.stops[i] > 0:
        wait = jobs.cost[i]
    rate = rate_at(
        jobs.kind[i], jobs.curve_a[i], jobs.curve_b[i], jobs.beta[i], jobs.knot,
        jobs.procs[i], size, speed,
    )  # fmt: skip
    return int(wait + -(-jobs.left[i] * MILLION // rate))
