"""Slurm's scheduler on nodes: plans for all queued jobs at every pass (spec: algorithms 6.3).

In arrival order every job gets the earliest start at which its nodes have, for its whole limit,
the cores it needs and (LessC, HPerf) the bandwidth it is counted with; nodes are filled in index
order. A job that can start now does. Under HPerf a finished job leaves a record of its tag behind.

A cluster that is not simulated has entries of its own: one pass, and running jobs taken on.
"""

from __future__ import annotations

from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.rates import Rates
from shadowtime.engine.nodes.running_table import Table, claim, enlist
from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.engine.nodes.slurm import earliest, putting_off, startable
from shadowtime.engine.nodes.slurm.waiting import add_arrivals, bring_up_to_date, strike
from shadowtime.engine.nodes.slurm.writing import clear_list, list_node, write
from shadowtime.kernel import fields, running
from shadowtime.kernel import registers as r
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.state import State, World
from shadowtime.types import AnyArray

BLOCKED_AT, PROMISED, REASON = fields.BLOCKED_AT, fields.PROMISED, fields.REASON
FEW = 4
"""To plan more jobs than this is not worth it where none behind them may start any more."""


@entry
def run(state: State, world: World, table: Table, rates: Rates, b: av.Availability) -> int:
    """The event loop with this pass."""
    while True:
        if b.par["resume"][0] == 0:
            code = advance(state, world, table, rates)
            if code != PASS_DUE:
                return int(code)
        now = state.reg[r.NOW]
        table.par["now"][0] = now
        if b.par["resume"][0] == 0:
            if state.reg[r.ENDED] > 0:
                b.par["valid"][0] = 0
            forget_ended(world, table, rates, b, now)
            look_up_arrivals(state, b)
        if state.reg[r.WAITING] > 0:
            if b.par["running"][0] + state.reg[r.WAITING] + 3 > len(b.when):
                b.par["resume"][0] = 1
                b.par["valid"][0] = 0
                return ROOM_NEEDED  # more segments in the book
            b.par["resume"][0] = 0
            decide(state, b, now)
            occupy(state, table, b, now)
            carry_out_starts(state, world, table, rates)


@routine
def decide(state: State, b: av.Availability, now: int) -> None:
    """One pass: touches the queue, the log of decisions and the book alone.

    Plans only matter to later jobs that could start now, so the pass ends with the last of them;
    which one becomes clear as plans are made, and is asked again after 1, 2, 4, ... jobs. No job
    is harmed by a plan that begins when all of those would have ended (HORIZON): such a job is put
    off, until a job comes whose own plan might meet it.

    Until a job ends or a segment begins, time changes no plan: what could start now could have
    started at the last pass. So the pass then goes on where that one ended, with the newcomers.
    """
    par = b.par
    first = par["listed"][0]
    segments = par["segments"][0]
    if not goes_on(state, b, now):
        start_over(state, b, now)
        first = 0
        segments = 1  # only running jobs are in the book, and they give back
    startable.find_startable(b, first, segments)
    if par["may"][0] > 0 and par["bound"][0] < par["horizon"][0]:
        putting_off.settle(b, par["horizon"][0])
    ask = par["next"][0] + 1
    step = 1
    unasked = 0  # jobs that were postponed since the last check which may start
    while par["next"][0] < par["listed"][0]:
        i = par["next"][0]
        if i >= ask:
            step *= 2
            ask = i + step
            unasked = 0
            startable.ask_again(b, i)
        last = par["last"][0]
        horizon = par["horizon"][0]
        if par["blocked"][0] != 0:
            if i > last:
                return
            if (
                i & (av.BLOCK - 1) == 0
                and i + av.BLOCK <= last
                and putting_off.pass_over_block(b, horizon)
            ):
                unasked += av.BLOCK
                continue
            stop = min(ask, last + 1, (i | (av.BLOCK - 1)) + 1)
            unasked += putting_off.pass_over_known(b, stop, horizon)
            i = par["next"][0]
            if i == stop:
                continue
        if b.asked[i] == av.GONE:
            putting_off.pass_over(b, r.NEVER)
            continue
        job = b.found[i]
        if i > last and state.job[job, BLOCKED_AT] >= 0:
            return
        since = earliest.earliest_known(b, i)
        until = horizon if par["blocked"][0] != 0 else r.NEVER
        length = b.job["length"][job]
        at = earliest.earliest_start(b, job, since, until)
        start = par["soonest"][0]
        if at >= 0 and unasked > FEW and start + length > par["bound"][0]:
            unasked = 0
            startable.ask_again(b, i)
            if i > par["last"][0]:
                return
            until = par["horizon"][0]
        while start < until and start + length > par["bound"][0]:
            putting_off.settle(b, start + length)
            at = earliest.earliest_start(b, job, start, until)
            start = par["soonest"][0]
        earliest.remember_earliest(b, job, start)
        if start >= until:
            putting_off.pass_over(b, start)
            unasked += 1
            continue
        write(b, at, av.cut(b, start + length))
        putting_off.pass_over(b, r.NEVER)
        if start == now:
            reason = running.HEAD if state.job[job, BLOCKED_AT] < 0 else running.RESERVED
            state.job[job, REASON] = running.BACKFILLED if par["blocked"][0] != 0 else reason
            begin(state, b, job, now)
            strike(b, i)
            startable.drop_too_wide(b)
            continue
        earliest.remember_plan(b, job, start)
        if par["blocked"][0] == 0:
            par["blocked"][0] = 1
            if state.job[job, BLOCKED_AT] < 0:
                state.job[job, BLOCKED_AT] = now
                state.job[job, PROMISED] = start


@kernel
def goes_on(state: State, b: av.Availability, now: int) -> bool:
    """True if the book of the last pass still holds; the newcomers are then in the list."""
    par = b.par
    segments = par["segments"][0]
    if par["valid"][0] == 0 or (segments > 1 and b.when["begin"][1] <= now):
        return False
    if segments + state.reg[r.WAITING] + 2 > len(b.when):
        return False
    if not add_arrivals(state, b, par["kinds"][0]):
        return False  # the book does not tell what there is for a new kind
    b.when["begin"][0] = now
    return True


@kernel
def start_over(state: State, b: av.Availability, now: int) -> None:
    """List the waiting jobs, and the running ones alone in the book."""
    par = b.par
    bring_up_to_date(state, b)
    par["valid"][0] = 1
    par["blocked"][0] = 0
    putting_off.clear_off(b)
    fill(b, now)


@kernel
def fill(b: av.Availability, now: int) -> None:
    """Write the running jobs into the book: until their limits, or the next second if past."""
    av.clear(b, now)
    for i in range(b.par["running"][0]):
        job = b.running[i]
        first = b.job["from"][job]
        count = b.job["count"][job]
        clear_list(b)
        for k in range(count):
            spot = b.places[first + k]
            some = spot & ((1 << av.PLACE_BITS) - 1)
            list_node(b, b.when["row"][0], spot >> av.PLACE_BITS, some, b.job["wish"][job])
        write(b, 0, av.cut(b, max(b.job["until"][job], now + 1)))


@kernel
def begin(state: State, b: av.Availability, job: int, now: int) -> None:
    """Start a job now on the listed nodes."""
    par = b.par
    b.job["until"][job] = now + b.job["length"][job]
    b.job["from"][job] = par["places"][0]
    for k in range(par["listed_runs"][0]):
        for node in range(b.node["where"][k], b.node["up_to"][k]):
            b.places[par["places"][0]] = node << av.PLACE_BITS | b.node["take"][k]
            par["places"][0] += 1
    b.job["count"][job] = par["places"][0] - b.job["from"][job]
    b.running[par["running"][0]] = job
    par["running"][0] += 1
    dequeue(state, job)
    running.log(state, r.STARTED, job)


@routine
def occupy(state: State, table: Table, b: av.Availability, now: int) -> None:
    """The jobs that were started take their processors in the world."""
    for i in range(state.reg[r.DECISIONS]):
        job = state.did[fields.WHICH, i]
        until = b.job["until"][job]
        for p in range(b.job["from"][job], b.job["from"][job] + b.job["count"][job]):
            node = b.places[p] >> av.PLACE_BITS
            claim(
                table,
                job,
                node,
                b.places[p] & ((1 << av.PLACE_BITS) - 1),
                until,
                table.par["hold"][0],
            )
        enlist(table, job, until)
        table.job["start"][job] = now


# ---------------------------------------------------------------------------- learning
@routine
def forget_ended(world: World, table: Table, rates: Rates, b: av.Availability, now: int) -> None:
    """Take ended jobs off the running list; what they drew becomes a record of their tag."""
    kept = 0
    for i in range(b.par["running"][0]):
        job = b.running[i]
        if world.truth[job, fields.ENDS_AT] >= 0:
            b.running[kept] = job
            kept += 1
        elif b.par["by_tag"][0] != 0 and b.job["tag"][job] >= 0:
            tag = b.job["tag"][job]
            b.tag["sum"][tag] += measured(table, rates, b, job, now)
            b.tag["records"][tag] += 1
    b.par["running"][0] = kept


@kernel
def measured(table: Table, rates: Rates, b: av.Availability, job: int, now: int) -> int:
    """What was measured for an ended job, in grains; its own slowdown counts if BY_RATE."""
    amount = b.job["measured"][job]
    elapsed = now - table.job["start"][job]
    if b.par["by_rate"][0] == 0 or elapsed == 0:
        return amount
    unit = rates.par["unit"][0]
    work = 0
    p = table.job["first"][job]
    for i in range(b.job["from"][job], b.job["from"][job] + b.job["count"][job]):
        some = b.places[i] & ((1 << av.PLACE_BITS) - 1)
        work += some * (rates.job["run"][job] * unit - rates.part["left"][p])
        p = table.proc["next"][p]
    return av.share_of(amount, work, b.job["procs"][job] * unit * elapsed)


@kernel
def look_up_arrivals(state: State, b: av.Availability) -> None:
    """The demand of every new job, by its tag; frozen unless predict=start."""
    if b.par["by_tag"][0] != 0:
        for job in range(b.par["looked"][0], state.reg[r.ARRIVED]):
            av.look_up(b, job)
    b.par["looked"][0] = state.reg[r.ARRIVED]


@entry
def once(state: State, b: av.Availability, unfit: AnyArray, now: int) -> None:
    """The pass alone; no plan is made for jobs that the machine as it is could never hold."""
    for job in unfit:
        dequeue(state, job)
    decide(state, b, now)


@entry
def take_on(
    state: State, world: World, table: Table, rates: Rates, b: av.Availability, now: int
) -> None:
    """Let the jobs in the book's list run on in the simulated world."""
    state.reg[r.NOW] = now
    table.par["now"][0] = now
    state.reg[r.DECISIONS] = 0
    for i in range(b.par["running"][0]):
        running.log(state, r.STARTED, b.running[i])
    occupy(state, table, b, now)
    carry_out_starts(state, world, table, rates)
    state.reg[r.DECISIONS] = 0
