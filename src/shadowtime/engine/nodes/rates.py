"""Jobs that run at moving rates, in exact whole numbers (spec: algorithms 4.5).

A part is a job's share of one node. Every second it does RATE units of the run * UNIT units of its
work; all parts of a node have the same rate, which changes when the node's demand does. A job is
done at the first whole second at which all its parts are. When a node's demand rises, an end can
only move later, which is O(1); when it falls, only jobs whose last part lies there are looked at
again. The world of windows (stretch=window) gathers the penalty of the first ``run`` seconds of a
job instead and adds it to its run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.nodes import fields as nf
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table
    from shadowtime.types import Ints

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
    *, run: Ints, procs: Ints, draws: Ints, nodes: int, cores: int, unit: int, windows: bool
) -> Rates:
    """No job runs yet: every node works at full rate; ``draws`` as ``demand`` of a table."""
    hinges = draws.shape[1]
    node = np.zeros((nodes, nf.DRAWN + hinges), np.int64)
    node[:, nf.RATE] = unit
    job = np.zeros((len(run), nf.DRAWS + hinges), np.int64)
    job[:, nf.DRAWS :] = draws
    job[:, nf.RUN] = run
    job[:, nf.PARTS] = 1
    job[:, nf.LOGGED] = -1
    return Rates(
        par=np.array([unit, windows, 0, 0], np.int64),
        part=np.zeros((nodes * cores, 2), np.int64),
        node=node,
        job=job,
        moved=np.zeros(nodes * cores + 1, np.int64),
        places=np.empty(int(np.minimum(procs, nodes).sum()) + 1, np.int64),
    )


@kernel
def over_on(table: Table, rates: Rates, node: int) -> int:
    """Sum of the law's terms for what runs on a node now."""
    over = 0
    for h in range(table.par[nf.HINGES]):
        beyond = rates.node[node, nf.DRAWN + h] - table.par[nf.LAW + 2 * h + nf.EDGE]
        over += table.par[nf.LAW + 2 * h + nf.WEIGHT] * max(0, beyond)
    return over


@kernel
def draw(table: Table, rates: Rates, p: int, job: int, sign: int) -> None:
    """The processes of a part begin (sign 1) or cease (-1) to draw on their node."""
    node = p // table.par[nf.CORES]
    for h in range(table.par[nf.HINGES]):
        rates.node[node, nf.DRAWN + h] += (
            sign * table.proc[p, nf.PROCESSES] * rates.job[job, nf.DRAWS + h]
        )


@kernel
def settle(table: Table, rates: Rates, p: int, job: int, over: int, rate: int, now: int) -> None:
    """Work of a part until now, at the rate that was in force."""
    since = rates.part[p, nf.SINCE]
    if since == now:
        return
    left = rates.part[p, nf.LEFT]
    rates.part[p, nf.SINCE] = now
    if rates.par[nf.WINDOWS] != 0:
        own = table.job[job, nf.START] + rates.job[job, nf.RUN]  # windows behind it are not its own
        rates.part[p, nf.LEFT] = left + over * (min(now, own) - min(since, own))
    elif left > 0:
        whole = left // rate
        rest = left - whole * rate
        if since + whole + min(rest, 1) > now:
            rates.part[p, nf.LEFT] = left - rate * (now - since)
            return
        rates.part[p, nf.LEFT] = 0
        # Done at since + whole + rest / rate: keep the latest such moment of the job.
        row = rates.job
        whole += since
        if whole > row[job, nf.WHOLE] or (
            whole == row[job, nf.WHOLE] and rest * row[job, nf.PARTS] > row[job, nf.REST] * rate
        ):
            row[job, nf.WHOLE] = whole
            row[job, nf.REST] = rest
            row[job, nf.PARTS] = rate


@kernel
def done_at(table: Table, rates: Rates, p: int, job: int, node: int, now: int) -> int:
    """First whole second at which a part, settled now, is done if nothing changes."""
    left = rates.part[p, nf.LEFT]
    if rates.par[nf.WINDOWS] != 0:
        base = table.par[nf.BASE]
        bare = table.job[job, nf.START] + rates.job[job, nf.RUN]
        penalty = left + rates.node[node, nf.OVER] * max(0, bare - now)
        return bare + (penalty + base - 1) // base
    rate = rates.node[node, nf.RATE]
    return now + (left + rate - 1) // rate


@routine
def find_end(table: Table, rates: Rates, job: int, now: int) -> None:
    """Look at all parts of a job: when is the last one done, and which is it?"""
    cores = table.par[nf.CORES]
    last = now
    pin = table.job[job, nf.FIRST]
    p = pin
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node[node, nf.OVER], rates.node[node, nf.RATE], now)
        end = done_at(table, rates, p, job, node, now)
        if end > last:
            last = end
            pin = p
        p = table.proc[p, nf.NEXT]
    rates.job[job, nf.DONE] = last
    rates.job[job, nf.PIN] = pin


@kernel
def will_end(table: Table, rates: Rates, job: int) -> int:
    """When a job ends as things stand: done, or killed at its limit."""
    return min(rates.job[job, nf.DONE], table.job[job, nf.START] + table.job[job, nf.LIMIT])


@routine
def refresh(table: Table, rates: Rates, node: int, now: int) -> None:
    """The processes of a node changed: a new rate, and the ends that move with it.

    Where less is drawn than before, :func:`find_ends` has to follow.
    """
    over = over_on(table, rates, node)
    before = rates.node[node, nf.OVER]
    if over == before:
        return
    rate = rates.node[node, nf.RATE]
    rates.node[node, nf.OVER] = over
    rates.node[node, nf.RATE] = (
        rates.par[nf.UNIT] * table.par[nf.BASE] // (table.par[nf.BASE] + over)
    )
    cores = table.par[nf.CORES]
    for p in range(node * cores, node * cores + cores):
        job = table.proc[p, nf.OWNER]
        if job < 0 or table.proc[p, nf.PROCESSES] == 0:
            continue
        settle(table, rates, p, job, before, rate, now)
        if over > before:
            end = done_at(table, rates, p, job, node, now)
            if end <= rates.job[job, nf.DONE]:
                continue
            rates.job[job, nf.DONE] = end
            rates.job[job, nf.PIN] = p
        elif rates.job[job, nf.PIN] == p:
            rates.job[job, nf.PIN] = UNKNOWN
        else:
            continue
        rates.moved[rates.par[nf.MOVED]] = job
        rates.par[nf.MOVED] += 1


@kernel
def find_ends(table: Table, rates: Rates, now: int) -> None:
    """Find the last parts that are unknown; jobs that end when they did move nothing.

    Once for each job, behind all the nodes it shares with the one that ended: to do so at every
    node would cost the square of their number.
    """
    count = rates.par[nf.MOVED]
    moved = 0
    for i in range(count):
        job = rates.moved[i]
        known = rates.job[job, nf.DONE]
        find_end(table, rates, job, now)
        if rates.job[job, nf.DONE] != known:
            rates.moved[moved] = job
            moved += 1
    rates.par[nf.MOVED] = moved


@kernel
def set_out(table: Table, rates: Rates, job: int, now: int) -> None:
    """A job starts: write down its parts, all work still to be done, and where they lie."""
    cores = table.par[nf.CORES]
    work = 0 if rates.par[nf.WINDOWS] != 0 else rates.job[job, nf.RUN] * rates.par[nf.UNIT]
    rates.job[job, nf.LOGGED] = rates.par[nf.PLACES]
    rates.job[job, nf.WHOLE] = now
    rates.job[job, nf.DONE] = NEVER  # until find_end has looked
    p = table.job[job, nf.FIRST]
    while p >= 0:
        rates.part[p, nf.LEFT] = work
        rates.part[p, nf.SINCE] = now
        draw(table, rates, p, job, 1)
        rates.places[rates.par[nf.PLACES]] = (p // cores) << nf.PLACE_BITS | table.proc[
            p, nf.PROCESSES
        ]
        rates.par[nf.PLACES] += 1
        p = table.proc[p, nf.NEXT]


@kernel
def conclude(table: Table, rates: Rates, job: int, now: int) -> None:
    """A job ends now: was it done, and what did the others cost it, exactly?

    WHOLE + REST / PARTS becomes the penalised time: of a finished job the delay of its last part,
    of a killed one the time in which its slowest part did nothing.
    """
    killed = rates.job[job, nf.DONE] > now
    cores = table.par[nf.CORES]
    worst = 0
    p = table.job[job, nf.FIRST]
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node[node, nf.OVER], rates.node[node, nf.RATE], now)
        worst = max(worst, rates.part[p, nf.LEFT])
        draw(table, rates, p, job, -1)
        p = table.proc[p, nf.NEXT]
    rates.job[job, nf.ENDED_AT] = now
    rates.job[job, nf.CUT] = 1 if killed else 0
    bare = table.job[job, nf.START] + rates.job[job, nf.RUN]
    lost = -1
    unit = rates.par[nf.UNIT]
    if rates.par[nf.WINDOWS] != 0:
        lost = worst
        unit = table.par[nf.BASE]
    elif killed:
        lost = (now - bare) * unit + worst
    if lost >= 0:
        rates.job[job, nf.WHOLE] = lost // unit
        rates.job[job, nf.REST] = lost % unit
        rates.job[job, nf.PARTS] = unit
    else:
        rates.job[job, nf.WHOLE] -= bare
