"""Backfilling on a site: which of the jobs behind the plans may start, in what order."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.passes.phases import (
    BALANCE,
    LEAST_USED,
    NOT_WORSE,
    OWN,
    SHORTEST,
    fill_own_keys,
    keep_passing,
    keeps_balance,
    scores_better,
)
from shadowtime.engine.site.candidates import make_heap, removed_first, sorted_already
from shadowtime.engine.site.general_parts import AT_MOST, KEY, TEST
from shadowtime.kernel.balance import fullest_with, least_used, sum_with
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import FAILED
from shadowtime.kernel.running import BACKFILLED
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import ask_start, begin_placed, may_start
from shadowtime.kernel.slots import BACKFILL_KEY, BACKFILL_TEST, asks


@routine
def fill(state: Any, ground: Any, f: Any, size: int, custom: Any) -> None:
    """Backfilling: which of the rest may start, in what order."""
    thinned = asks(f, BACKFILL_TEST) or asks(f, BACKFILL_KEY)
    if thinned:
        size = keep_able(state, ground, f, size)
        if asks(f, BACKFILL_TEST):
            size = keep_passing(state, f, size, custom)
        if asks(f, BACKFILL_KEY):
            fill_own_keys(state, f, size, custom)
        if state.reg[FAILED] >= 0:
            return
    f.frozen[0] = fullest_with(state, f.scale, -1)
    f.frozen[1] = sum_with(state, f.scale, -1)
    if f.par[KEY] == BALANCE or f.par[KEY] == LEAST_USED:
        fill_by_score(state, ground, f, size)
        return
    shortest = int(f.par[KEY] == SHORTEST)
    simple = sorted_already(ground, f) and shortest == 0 and f.par[KEY] != OWN
    if shortest != 0 or (thinned and not simple):
        make_heap(state, ground, f, size, shortest)
    at = 0
    while at < size:
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, shortest)
        if not may_start(state, ground, job):
            continue
        if f.par[TEST] >= NOT_WORSE and not keeps_balance(state, f, job, f.par[TEST]):
            continue
        alt = ask_start(state, ground, job)
        if alt >= 0:
            begin_placed(state, ground, job, alt, number(BACKFILLED))


@kernel
def keep_able(state: Any, ground: Any, f: Any, size: int) -> int:
    """Drop the candidates that cannot start now, before functions are asked for the others."""
    kept = 0
    for i in range(size):
        if may_start(state, ground, f.jobs[f.heap[i]]):
            f.heap[kept] = f.heap[i]
            kept += 1
    return kept


@routine
def fill_by_score(state: Any, ground: Any, f: Any, size: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    left = f.par[AT_MOST]
    while True:
        kept = 0
        for i in range(size):
            job = f.jobs[f.heap[i]]
            if may_start(state, ground, job) and ask_start(state, ground, job) >= 0:
                f.heap[kept] = f.heap[i]
                kept += 1
        size = kept
        if size == 0:
            return
        best = 0
        resource = least_used(state, f.scale)
        for i in range(1, size):
            if scores_better(
                state, f, f.jobs[f.heap[i]], f.jobs[f.heap[best]], f.par[KEY], resource
            ):
                best = i
        job = f.jobs[f.heap[best]]
        alt = ask_start(state, ground, job)
        begin_placed(state, ground, job, alt, number(BACKFILLED))
        size -= 1
        f.heap[best] = f.heap[size]
        left -= 1
        if left == 0:
            return
