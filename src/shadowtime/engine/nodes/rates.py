"""Jobs that run at moving rates, in exact whole numbers (spec: algorithms 4.5).

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

from shadowtime.engine.nodes.fields import (
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
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER

UNKNOWN = -1
"""PIN of a job whose last part gained: which one is the last now is to be found."""


class Rates(NamedTuple):
    """The truth behind the table: what is left to do, and what became of every job."""

    par: Any  # int64[4]
    part: Any  # int64[P, 2]: where a job's part of a node begins
    node: Any  # int64[N, DRAWN + H]
    job: Any  # int64[n, DRAWS + H]
    moved: Any  # int64[P + 1]: jobs whose end moved
    places: Any  # int64[most nodes of all jobs]: log of places


def make_rates(
    *, run: Any, procs: Any, draws: Any, nodes: int, cores: int, unit: int, windows: bool
) -> Rates:
    """No job runs yet: every node works at full rate; ``draws`` as ``demand`` of a table."""
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
def over_on(table: Any, rates: Any, node: int) -> int:
    """Sum of the law's terms for what runs on a node now."""
    over = 0
    for h in range(table.par[HINGES]):
        beyond = rates.node[node, DRAWN + h] - table.par[LAW + 2 * h + EDGE]
        over += table.par[LAW + 2 * h + WEIGHT] * max(0, beyond)
    return over


@kernel
def draw(table: Any, rates: Any, p: int, job: int, sign: int) -> None:
    """The processes of a part begin (sign 1) or cease (-1) to draw on their node."""
    node = p // table.par[CORES]
    for h in range(table.par[HINGES]):
        rates.node[node, DRAWN + h] += sign * table.proc[p, PROCESSES] * rates.job[job, DRAWS + h]


@kernel
def settle(table: Any, rates: Any, p: int, job: int, over: int, rate: int, now: int) -> None:
    """Work of a part until now, at the rate that was in force."""
    since = rates.part[p, SINCE]
    if since == now:
        return
    left = rates.part[p, LEFT]
    rates.part[p, SINCE] = now
    if rates.par[WINDOWS] != 0:
        own = table.job[job, START] + rates.job[job, RUN]  # windows behind it are not its own
        rates.part[p, LEFT] = left + over * (min(now, own) - min(since, own))
    elif left > 0:
        whole = left // rate
        rest = left - whole * rate
        if since + whole + min(rest, 1) > now:
            rates.part[p, LEFT] = left - rate * (now - since)
            return
        rates.part[p, LEFT] = 0
        # Done at since + whole + rest / rate: keep the latest such moment of the job.
        row = rates.job
        whole += since
        if whole > row[job, WHOLE] or (
            whole == row[job, WHOLE] and rest * row[job, PARTS] > row[job, REST] * rate
        ):
            row[job, WHOLE] = whole
            row[job, REST] = rest
            row[job, PARTS] = rate


@kernel
def done_at(table: Any, rates: Any, p: int, job: int, node: int, now: int) -> int:
    """First whole second at which a part, settled now, is done if nothing changes."""
    left = rates.part[p, LEFT]
    if rates.par[WINDOWS] != 0:
        base = table.par[BASE]
        bare = table.job[job, START] + rates.job[job, RUN]
        penalty = left + rates.node[node, OVER] * max(0, bare - now)
        return bare + (penalty + base - 1) // base
    rate = rates.node[node, RATE]
    return now + (left + rate - 1) // rate


@routine
def find_end(table: Any, rates: Any, job: int, now: int) -> None:
    """Look at all parts of a job: when is the last one done, and which is it?"""
    cores = table.par[CORES]
    last = now
    pin = table.job[job, FIRST]
    p = pin
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node[node, OVER], rates.node[node, RATE], now)
        end = done_at(table, rates, p, job, node, now)
        if end > last:
            last = end
            pin = p
        p = table.proc[p, NEXT]
    rates.job[job, DONE] = last
    rates.job[job, PIN] = pin


@kernel
def will_end(table: Any, rates: Any, job: int) -> int:
    """When a job ends as things stand: done, or killed at its limit."""
    return min(rates.job[job, DONE], table.job[job, START] + table.job[job, LIMIT])


@routine
def refresh(table: Any, rates: Any, node: int, now: int) -> None:
    """The processes of a node changed: a new rate, and the ends that move with it.

    Where less is drawn than before, :func:`find_ends` has to follow.
    """
    over = over_on(table, rates, node)
    before = rates.node[node, OVER]
    if over == before:
        return
    rate = rates.node[node, RATE]
    rates.node[node, OVER] = over
    rates.node[node, RATE] = rates.par[UNIT] * table.par[BASE] // (table.par[BASE] + over)
    cores = table.par[CORES]
    for p in range(node * cores, node * cores + cores):
        job = table.proc[p, OWNER]
        if job < 0 or table.proc[p, PROCESSES] == 0:
            continue
        settle(table, rates, p, job, before, rate, now)
        if over > before:
            end = done_at(table, rates, p, job, node, now)
            if end <= rates.job[job, DONE]:
                continue
            rates.job[job, DONE] = end
            rates.job[job, PIN] = p
        elif rates.job[job, PIN] == p:
            rates.job[job, PIN] = UNKNOWN
        else:
            continue
        rates.moved[rates.par[MOVED]] = job
        rates.par[MOVED] += 1


@kernel
def find_ends(table: Any, rates: Any, now: int) -> None:
    """Find the last parts that are unknown; jobs that end when they did move nothing.

    Once for each job, behind all the nodes it shares with the one that ended: to do so at every
    node would cost the square of their number.
    """
    count = rates.par[MOVED]
    moved = 0
    for i in range(count):
        job = rates.moved[i]
        known = rates.job[job, DONE]
        find_end(table, rates, job, now)
        if rates.job[job, DONE] != known:
            rates.moved[moved] = job
            moved += 1
    rates.par[MOVED] = moved


@kernel
def set_out(table: Any, rates: Any, job: int, now: int) -> None:
    """A job starts: write down its parts, all work still to be done, and where they lie."""
    cores = table.par[CORES]
    work = 0 if rates.par[WINDOWS] != 0 else rates.job[job, RUN] * rates.par[UNIT]
    rates.job[job, LOGGED] = rates.par[PLACES]
    rates.job[job, WHOLE] = now
    rates.job[job, DONE] = NEVER  # until find_end has looked
    p = table.job[job, FIRST]
    while p >= 0:
        rates.part[p, LEFT] = work
        rates.part[p, SINCE] = now
        draw(table, rates, p, job, 1)
        rates.places[rates.par[PLACES]] = (p // cores) << PLACE_BITS | table.proc[p, PROCESSES]
        rates.par[PLACES] += 1
        p = table.proc[p, NEXT]


@kernel
def conclude(table: Any, rates: Any, job: int, now: int) -> None:
    """A job ends now: was it done, and what did the others cost it, exactly?

    WHOLE + REST / PARTS becomes the penalised time: of a finished job the delay of its last part,
    of a killed one the time in which its slowest part did nothing.
    """
    killed = rates.job[job, DONE] > now
    cores = table.par[CORES]
    worst = 0
    p = table.job[job, FIRST]
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node[node, OVER], rates.node[node, RATE], now)
        worst = max(worst, rates.part[p, LEFT])
        draw(table, rates, p, job, -1)
        p = table.proc[p, NEXT]
    rates.job[job, ENDED_AT] = now
    rates.job[job, CUT] = 1 if killed else 0
    bare = table.job[job, START] + rates.job[job, RUN]
    lost = -1
    unit = rates.par[UNIT]
    if rates.par[WINDOWS] != 0:
        lost = worst
        unit = table.par[BASE]
    elif killed:
        lost = (now - bare) * unit + worst
    if lost >= 0:
        rates.job[job, WHOLE] = lost // unit
        rates.job[job, REST] = lost % unit
        rates.job[job, PARTS] = unit
    else:
        rates.job[job, WHOLE] -= bare
