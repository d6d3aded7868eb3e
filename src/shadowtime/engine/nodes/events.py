"""The event loop of a world whose ends move: instants as everywhere (spec 1.1), rates as in 4.5."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import DONE, PASS_DUE, admit, compact, drop_stale_ends, next_instant
from shadowtime.kernel.estimates import FIXED, learn_end
from shadowtime.kernel.fields import ENDS_AT, RANK, WHICH
from shadowtime.kernel.fields import START as BEGAN
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.fields import CORES, FIRST, MOVED, NEXT, STALE, START
from shadowtime.kernel.nodes.rates import conclude, find_end, refresh, set_out, will_end
from shadowtime.kernel.nodes.table import vacate
from shadowtime.kernel.registers import (
    BITS,
    DECISIONS,
    ENDED,
    ENDS,
    EVENTS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
)


@routine
def advance(s: Any, w: Any, t: Any, r: Any) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = s.reg
    drop_stale_ends(s, w)
    now = next_instant(s, w)
    if now >= NEVER:
        return DONE
    reg[NOW] = now
    reg[DECISIONS] = 0
    reg[ENDED] = 0
    carry_out_ends(s, w, t, r, now)
    admit(s, w, now)
    reg[PASSES] += 1
    return PASS_DUE


@kernel
def carry_out_ends(s: Any, w: Any, t: Any, r: Any, now: int) -> None:
    """End what ends now, by job id; those who stay speed up."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    cores = t.par[CORES]
    while reg[ENDS] > 0 and w.ends[0] >> reg[BITS] == now:
        job = w.of_rank[w.ends[0] & mask]
        reg[ENDS] = pop(w.ends, reg[ENDS])
        if w.truth[job, ENDS_AT] != now:
            continue
        w.truth[job, ENDS_AT] = -1
        s.ended[reg[ENDED]] = job
        reg[ENDED] += 1
        conclude(t, r, job, now)
        vacate(t, job)
        p = t.job[job, FIRST]
        while p >= 0:
            refresh(t, r, p // cores, now)
            p = t.proc[p, NEXT]
        queue_ends(s, w, t, r)
        if reg[LEARNER] != FIXED:
            s.job[job, BEGAN] = t.job[job, START]
            learn_end(s, job)
        reg[EVENTS] += 1
        t.par[STALE] = 1


@routine
def queue_ends(s: Any, w: Any, t: Any, r: Any) -> None:
    """Put the ends that moved into the heap; the old ones go stale."""
    reg = s.reg
    for i in range(r.par[MOVED]):
        job = r.moved[i]
        end = will_end(t, r, job)
        if end != w.truth[job, ENDS_AT]:
            w.truth[job, ENDS_AT] = end
            if reg[ENDS] == w.ends.shape[0]:
                compact(s, w)
            reg[ENDS] = push(w.ends, reg[ENDS], end << reg[BITS] | w.truth[job, RANK])
    r.par[MOVED] = 0


@routine
def carry_out_starts(s: Any, w: Any, t: Any, r: Any) -> None:
    """Let the jobs run that the pass started: all their parts first, then the rates."""
    now = s.reg[NOW]
    count = s.reg[DECISIONS]
    cores = t.par[CORES]
    for i in range(count):
        set_out(t, r, s.did[WHICH, i], now)
    for i in range(count):
        job = s.did[WHICH, i]
        p = t.job[job, FIRST]
        while p >= 0:
            refresh(t, r, p // cores, now)
            p = t.proc[p, NEXT]
        queue_ends(s, w, t, r)
    for i in range(count):
        job = s.did[WHICH, i]
        find_end(t, r, job, now)
        r.moved[0] = job
        r.par[MOVED] = 1
        queue_ends(s, w, t, r)
