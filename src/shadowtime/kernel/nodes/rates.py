"""Jobs that run at moving rates, in exact whole numbers (spec 4.5).

A part is a job's share of one node. Every second it does RATE units of the run * UNIT units of its
work; all parts of a node have the same rate, which changes when the node's demand does. A job is
done at the first whole second at which all its parts are. When a node's demand rises, an end can
only move later, which is O(1); when it falls, only jobs whose last part lies there are looked at
again. The world of windows (stretch=window) gathers the penalty of the first ``run`` seconds of a
job instead and adds it to its run time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.fields import (
    BASE,
    CORES,
    CUT,
    DONE,
    DRAWN,
    DRAWS,
    EDGE,
    ENDED_AT,
    FIRST,
    HINGES,
    LAW,
    LEFT,
    LIMIT,
    LOGGED,
    MOVED,
    NEXT,
    OVER,
    OWNER,
    PARTS,
    PIN,
    PLACE_BITS,
    PLACES,
    PROCESSES,
    RATE,
    REST,
    RUN,
    SINCE,
    START,
    UNIT,
    WEIGHT,
    WHOLE,
    WINDOWS,
)
from shadowtime.kernel.registers import NEVER


class Rates(NamedTuple):
    """The truth behind the table: what is left to do, and what became of everybody."""

    par: Any  # int64[4]
    part: Any  # int64[P, 2]: where a job's part of a node begins
    node: Any  # int64[N, DRAWN + H]
    job: Any  # int64[n, DRAWS + H]
    moved: Any  # int64[P + 1]: jobs whose end moved
    places: Any  # int64[most nodes of all jobs]: log of places


def make_rates(
    *, run: Any, procs: Any, draws: Any, nodes: int, cores: int, unit: int, windows: bool
) -> Rates:
    """Nobody runs yet: every node works at full rate; ``draws`` as ``demand`` of a table."""
    hinges = draws.shape[1]
    node = np.zeros((nodes, DRAWN + hinges), np.int64)
    node[:, RATE] = unit
    job = np.zeros((len(run), DRAWS + hinges), np.int64)
    job[:, DRAWS:] = draws
    job[:, RUN] = run
    job[:, PARTS] = 1
    job[:, LOGGED] = -1
    return Rates(
        par=np.array([unit, windows, 0, 0], np.int64),
        part=np.zeros((nodes * cores, 2), np.int64),
        node=node,
        job=job,
        moved=np.zeros(nodes * cores + 1, np.int64),
        places=np.empty(int(np.minimum(procs, nodes).sum()) + 1, np.int64),
    )


@kernel
def over_on(t: Any, r: Any, node: int) -> int:
    """Sum of the law's terms for what runs on a node now."""
    over = 0
    for h in range(t.par[HINGES]):
        beyond = r.node[node, DRAWN + h] - t.par[LAW + 2 * h + EDGE]
        over += t.par[LAW + 2 * h + WEIGHT] * max(0, beyond)
    return over


@kernel
def draw(t: Any, r: Any, p: int, job: int, sign: int) -> None:
    """The processes of a part begin (sign 1) or cease (-1) to draw on their node."""
    node = p // t.par[CORES]
    for h in range(t.par[HINGES]):
        r.node[node, DRAWN + h] += sign * t.proc[p, PROCESSES] * r.job[job, DRAWS + h]


@kernel
def settle(t: Any, r: Any, p: int, job: int, over: int, rate: int, now: int) -> None:
    """Work of a part until now, at the rate that was in force."""
    since = r.part[p, SINCE]
    if since == now:
        return
    left = r.part[p, LEFT]
    r.part[p, SINCE] = now
    if r.par[WINDOWS] != 0:
        own = t.job[job, START] + r.job[job, RUN]  # windows behind it are not its own
        r.part[p, LEFT] = left + over * (min(now, own) - min(since, own))
    elif left > 0:
        whole = left // rate
        rest = left - whole * rate
        if since + whole + min(rest, 1) > now:
            r.part[p, LEFT] = left - rate * (now - since)
            return
        r.part[p, LEFT] = 0
        # Done at since + whole + rest / rate: keep the latest such moment of the job.
        row = r.job
        whole += since
        if whole > row[job, WHOLE] or (
            whole == row[job, WHOLE] and rest * row[job, PARTS] > row[job, REST] * rate
        ):
            row[job, WHOLE] = whole
            row[job, REST] = rest
            row[job, PARTS] = rate


@kernel
def done_at(t: Any, r: Any, p: int, job: int, node: int, now: int) -> int:
    """First whole second at which a part, settled now, is done if nothing changes."""
    left = r.part[p, LEFT]
    if r.par[WINDOWS] != 0:
        base = t.par[BASE]
        bare = t.job[job, START] + r.job[job, RUN]
        penalty = left + r.node[node, OVER] * max(0, bare - now)
        return bare + (penalty + base - 1) // base
    rate = r.node[node, RATE]
    return now + (left + rate - 1) // rate


@routine
def find_end(t: Any, r: Any, job: int, now: int) -> None:
    """Look at all parts of a job: when is the last one done, and which is it?"""
    cores = t.par[CORES]
    last = now
    pin = t.job[job, FIRST]
    p = pin
    while p >= 0:
        node = p // cores
        settle(t, r, p, job, r.node[node, OVER], r.node[node, RATE], now)
        end = done_at(t, r, p, job, node, now)
        if end > last:
            last = end
            pin = p
        p = t.proc[p, NEXT]
    r.job[job, DONE] = last
    r.job[job, PIN] = pin


@kernel
def will_end(t: Any, r: Any, job: int) -> int:
    """When a job ends as things stand: done, or killed at its limit."""
    return min(r.job[job, DONE], t.job[job, START] + t.job[job, LIMIT])


@routine
def refresh(t: Any, r: Any, node: int, now: int) -> None:
    """The processes of a node changed: a new rate, and the ends that move with it."""
    over = over_on(t, r, node)
    before = r.node[node, OVER]
    if over == before:
        return
    rate = r.node[node, RATE]
    r.node[node, OVER] = over
    r.node[node, RATE] = r.par[UNIT] * t.par[BASE] // (t.par[BASE] + over)
    cores = t.par[CORES]
    for p in range(node * cores, node * cores + cores):
        job = t.proc[p, OWNER]
        if job < 0 or t.proc[p, PROCESSES] == 0:
            continue
        settle(t, r, p, job, before, rate, now)
        known = r.job[job, DONE]
        if over > before:
            end = done_at(t, r, p, job, node, now)
            if end > known:
                r.job[job, DONE] = end
                r.job[job, PIN] = p
        elif r.job[job, PIN] == p:
            find_end(t, r, job, now)
        if r.job[job, DONE] != known:
            r.moved[r.par[MOVED]] = job
            r.par[MOVED] += 1


@kernel
def set_out(t: Any, r: Any, job: int, now: int) -> None:
    """A job starts: write down its parts, all work still to be done, and where they lie."""
    cores = t.par[CORES]
    work = 0 if r.par[WINDOWS] != 0 else r.job[job, RUN] * r.par[UNIT]
    r.job[job, LOGGED] = r.par[PLACES]
    r.job[job, WHOLE] = now
    r.job[job, DONE] = NEVER  # until find_end has looked
    p = t.job[job, FIRST]
    while p >= 0:
        r.part[p, LEFT] = work
        r.part[p, SINCE] = now
        draw(t, r, p, job, 1)
        r.places[r.par[PLACES]] = (p // cores) << PLACE_BITS | t.proc[p, PROCESSES]
        r.par[PLACES] += 1
        p = t.proc[p, NEXT]


@kernel
def conclude(t: Any, r: Any, job: int, now: int) -> None:
    """A job ends now: was it done, and what did the others cost it, exactly?

    WHOLE + REST / PARTS becomes the penalised time: of a finished job the delay of its last part,
    of a killed one the time in which its slowest part did nothing.
    """
    killed = r.job[job, DONE] > now
    cores = t.par[CORES]
    worst = 0
    p = t.job[job, FIRST]
    while p >= 0:
        node = p // cores
        settle(t, r, p, job, r.node[node, OVER], r.node[node, RATE], now)
        worst = max(worst, r.part[p, LEFT])
        draw(t, r, p, job, -1)
        p = t.proc[p, NEXT]
    r.job[job, ENDED_AT] = now
    r.job[job, CUT] = 1 if killed else 0
    bare = t.job[job, START] + r.job[job, RUN]
    lost = -1
    unit = r.par[UNIT]
    if r.par[WINDOWS] != 0:
        lost = worst
        unit = t.par[BASE]
    elif killed:
        lost = (now - bare) * unit + worst
    if lost >= 0:
        r.job[job, WHOLE] = lost // unit
        r.job[job, REST] = lost % unit
        r.job[job, PARTS] = unit
    else:
        r.job[job, WHOLE] -= bare
