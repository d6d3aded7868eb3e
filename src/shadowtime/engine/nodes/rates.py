"""Jobs that run at moving rates, in exact whole numbers (spec: algorithms 4.5).

A part is a job's share of one node. Every second it does RATE units of the run * UNIT units of its
work; all parts of a node have the same rate, which changes when the node's demand does. A job is
done at the first whole second at which all its parts are. When a node's demand rises, an end can
only move later, which is O(1); when it falls, only jobs whose last part lies there are looked at
again. The world of windows (stretch=window) gathers the penalty of the first ``run`` seconds of a
job instead and adds it to its run time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.types import Ints, Rows

UNKNOWN = -1
"""PIN of a job whose last part gained: which one is the last now is to be found."""


class Rates(NamedTuple):
    """The truth behind the table: what is left to do, and what became of every job."""

    par: Rows  # RATE_REGISTERS[1]
    part: Rows  # PARTS[P]: where a job's part of a node begins
    node: Rows  # DRAWING[N]
    drawn: Ints  # int64[N, H]: what the processes of a node really draw
    job: Rows  # COURSES[n]
    draws: Ints  # int64[n, H]: what a process of a job really draws
    moved: Ints  # int64[P + 1]: jobs whose end moved
    places: Ints  # int64[most nodes of all jobs]: log of places


def make_rates(
    *, run: Ints, procs: Ints, draws: Ints, nodes: int, cores: int, unit: int, windows: bool
) -> Rates:
    """No job runs yet: every node works at full rate; ``draws`` as ``demand`` of a table."""
    node = np.zeros(nodes, nf.DRAWING)
    node["rate"] = unit
    job = np.zeros(len(run), nf.COURSES)
    job["run"] = run
    job["parts"] = 1
    job["logged"] = -1
    return Rates(
        par=np.array([(unit, windows, 0, 0)], nf.RATE_REGISTERS),
        part=np.zeros(nodes * cores, nf.PARTS),
        node=node,
        drawn=np.zeros((nodes, draws.shape[1]), np.int64),
        job=job,
        draws=np.ascontiguousarray(draws, np.int64),
        moved=np.zeros(nodes * cores + 1, np.int64),
        places=np.empty(int(np.minimum(procs, nodes).sum()) + 1, np.int64),
    )


@kernel
def over_on(table: Table, rates: Rates, node: int) -> int:
    """Sum of the law's terms for what runs on a node now."""
    over = 0
    for h in range(len(table.hinge)):
        beyond = rates.drawn[node, h] - table.hinge["edge"][h]
        over += table.hinge["weight"][h] * max(0, beyond)
    return over


@kernel
def draw(table: Table, rates: Rates, p: int, job: int, sign: int) -> None:
    """The processes of a part begin (sign 1) or cease (-1) to draw on their node."""
    node = p // table.par["cores"][0]
    for h in range(len(table.hinge)):
        rates.drawn[node, h] += sign * table.proc["processes"][p] * rates.draws[job, h]


@kernel
def settle(table: Table, rates: Rates, p: int, job: int, over: int, rate: int, now: int) -> None:
    """Work of a part until now, at the rate that was in force."""
    since = rates.part["since"][p]
    if since == now:
        return
    left = rates.part["left"][p]
    rates.part["since"][p] = now
    if rates.par["windows"][0] != 0:
        own = table.job["start"][job] + rates.job["run"][job]  # windows behind it are not its own
        rates.part["left"][p] = left + over * (min(now, own) - min(since, own))
    elif left > 0:
        whole = left // rate
        rest = left - whole * rate
        if since + whole + min(rest, 1) > now:
            rates.part["left"][p] = left - rate * (now - since)
            return
        rates.part["left"][p] = 0
        # Done at since + whole + rest / rate: keep the latest such moment of the job.
        row = rates.job
        whole += since
        if whole > row["whole"][job] or (
            whole == row["whole"][job] and rest * row["parts"][job] > row["rest"][job] * rate
        ):
            row["whole"][job] = whole
            row["rest"][job] = rest
            row["parts"][job] = rate


@kernel
def done_at(table: Table, rates: Rates, p: int, job: int, node: int, now: int) -> int:
    """First whole second at which a part, settled now, is done if nothing changes."""
    left = rates.part["left"][p]
    if rates.par["windows"][0] != 0:
        base = table.par["base"][0]
        bare = table.job["start"][job] + rates.job["run"][job]
        penalty = left + rates.node["over"][node] * max(0, bare - now)
        return bare + (penalty + base - 1) // base
    rate = rates.node["rate"][node]
    return now + (left + rate - 1) // rate


@routine
def find_end(table: Table, rates: Rates, job: int, now: int) -> None:
    """Look at all parts of a job: when is the last one done, and which is it?"""
    cores = table.par["cores"][0]
    last = now
    pin = table.job["first"][job]
    p = pin
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node["over"][node], rates.node["rate"][node], now)
        end = done_at(table, rates, p, job, node, now)
        if end > last:
            last = end
            pin = p
        p = table.proc["next"][p]
    rates.job["done"][job] = last
    rates.job["pin"][job] = pin


@kernel
def will_end(table: Table, rates: Rates, job: int) -> int:
    """When a job ends as things stand: done, or killed at its limit."""
    return min(rates.job["done"][job], table.job["start"][job] + table.job["limit"][job])


@routine
def refresh(table: Table, rates: Rates, node: int, now: int) -> None:
    """The processes of a node changed: a new rate, and the ends that move with it.

    Where less is drawn than before, :func:`find_ends` has to follow.
    """
    over = over_on(table, rates, node)
    before = rates.node["over"][node]
    if over == before:
        return
    rate = rates.node["rate"][node]
    rates.node["over"][node] = over
    rates.node["rate"][node] = (
        rates.par["unit"][0] * table.par["base"][0] // (table.par["base"][0] + over)
    )
    cores = table.par["cores"][0]
    for p in range(node * cores, node * cores + cores):
        job = table.proc["owner"][p]
        if job < 0 or table.proc["processes"][p] == 0:
            continue
        settle(table, rates, p, job, before, rate, now)
        if over > before:
            end = done_at(table, rates, p, job, node, now)
            if end <= rates.job["done"][job]:
                continue
            rates.job["done"][job] = end
            rates.job["pin"][job] = p
        elif rates.job["pin"][job] == p:
            rates.job["pin"][job] = UNKNOWN
        else:
            continue
        rates.moved[rates.par["moved"][0]] = job
        rates.par["moved"][0] += 1


@kernel
def find_ends(table: Table, rates: Rates, now: int) -> None:
    """Find the last parts that are unknown; jobs that end when they did move nothing.

    Once for each job, behind all the nodes it shares with the one that ended: to do so at every
    node would cost the square of their number.
    """
    count = rates.par["moved"][0]
    moved = 0
    for i in range(count):
        job = rates.moved[i]
        known = rates.job["done"][job]
        find_end(table, rates, job, now)
        if rates.job["done"][job] != known:
            rates.moved[moved] = job
            moved += 1
    rates.par["moved"][0] = moved


@kernel
def set_out(table: Table, rates: Rates, job: int, now: int) -> None:
    """A job starts: write down its parts, all work still to be done, and where they lie."""
    cores = table.par["cores"][0]
    work = 0 if rates.par["windows"][0] != 0 else rates.job["run"][job] * rates.par["unit"][0]
    rates.job["logged"][job] = rates.par["places"][0]
    rates.job["whole"][job] = now
    rates.job["done"][job] = NEVER  # until find_end has looked
    p = table.job["first"][job]
    while p >= 0:
        rates.part["left"][p] = work
        rates.part["since"][p] = now
        draw(table, rates, p, job, 1)
        rates.places[rates.par["places"][0]] = (p // cores) << nf.PLACE_BITS | table.proc[
            "processes"
        ][p]
        rates.par["places"][0] += 1
        p = table.proc["next"][p]


@kernel
def conclude(table: Table, rates: Rates, job: int, now: int) -> None:
    """A job ends now: was it done, and what did the others cost it, exactly?

    WHOLE + REST / PARTS becomes the penalised time: of a finished job the delay of its last part,
    of a killed one the time in which its slowest part did nothing.
    """
    killed = rates.job["done"][job] > now
    cores = table.par["cores"][0]
    worst = 0
    p = table.job["first"][job]
    while p >= 0:
        node = p // cores
        settle(table, rates, p, job, rates.node["over"][node], rates.node["rate"][node], now)
        worst = max(worst, rates.part["left"][p])
        draw(table, rates, p, job, -1)
        p = table.proc["next"][p]
    rates.job["ended_at"][job] = now
    rates.job["cut"][job] = 1 if killed else 0
    bare = table.job["start"][job] + rates.job["run"][job]
    lost = -1
    unit = rates.par["unit"][0]
    if rates.par["windows"][0] != 0:
        lost = worst
        unit = table.par["base"][0]
    elif killed:
        lost = (now - bare) * unit + worst
    if lost >= 0:
        rates.job["whole"][job] = lost // unit
        rates.job["rest"][job] = lost % unit
        rates.job["parts"][job] = unit
    else:
        rates.job["whole"][job] -= bare
