"""Backfilling in phases: who of the rest may start, in what order."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import ESTIMATE
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.order import heapify, pop_first
from shadowtime.kernel.place import host_around, host_now
from shadowtime.kernel.profile import occupy
from shadowtime.kernel.registers import NOW, SHADOW
from shadowtime.kernel.running import BACKFILLED, begin

AROUND = 0
"""Test: fits now and for its whole estimate around every reservation."""
BY_SHADOW = 1
"""Test: fits now and is expected to end by the shadow time (PV-EASY's first phase)."""
FITS = 2
"""Test: fits now, whatever its estimate (greedy; PV-EASY's second phase)."""

ORDER = 0
"""Key: the queue's own order."""
SHORTEST = 1
"""Key: estimate ascending, then the queue's order."""

TEST, KEY, RESCORE, AT_MOST = 0, 1, 2, 3
PHASES = 5


@kernel
def run_phases(s: Any, f: Any, size: int) -> None:
    """Try the candidates in the heap, phase by phase; who does not start is tried in the next."""
    for number in range(f.par[PHASES]):
        test = f.phase[number, TEST]
        shortest = f.phase[number, KEY] == SHORTEST
        size = keep_narrow(s, f, size)
        if size == 0:
            return
        if number < f.par[PHASES] - 1:
            size = run_and_keep(s, f, size, test, shortest)
        else:
            run_last(s, f, size, test, shortest)


@kernel
def keep_narrow(s: Any, f: Any, size: int) -> int:
    """Drop the candidates that fit on no host now; they cannot start in this pass any more."""
    kept = 0
    for i in range(size):
        place = f.heap[i]
        if host_now(s, f.jobs[place]) >= 0:
            f.heap[kept] = place
            kept += 1
    return kept


@kernel
def host_by_test(s: Any, f: Any, job: int, test: int) -> int:
    """Where the job may start now under a test, -1 if it may not."""
    if test == AROUND:
        return host_around(s, f.profile, job, s.job[job, ESTIMATE])
    if test == BY_SHADOW and s.reg[NOW] + s.job[job, ESTIMATE] > s.reg[SHADOW]:
        return -1
    return host_now(s, job)


@kernel
def start_backfilled(s: Any, f: Any, job: int, host: int, test: int) -> None:
    """Start a job ahead of the blocked ones."""
    if test == AROUND:
        now = s.reg[NOW]
        occupy(s, f.profile, job, host, now, now + s.job[job, ESTIMATE])
    begin(s, job, host, BACKFILLED)


@kernel
def run_last(s: Any, f: Any, size: int, test: int, shortest: bool) -> None:
    """The last phase: each candidate once, in order."""
    heapify(s, f.heap, size, f.jobs, f.key, shortest)
    while size > 0:
        job = f.jobs[f.heap[0]]
        size = pop_first(s, f.heap, size, f.jobs, f.key, shortest)
        host = host_by_test(s, f, job, test)
        if host >= 0:
            start_backfilled(s, f, job, host, test)


@kernel
def run_and_keep(s: Any, f: Any, size: int, test: int, shortest: bool) -> int:
    """A phase with another one behind it: those who do not start are kept, at the array's end."""
    heapify(s, f.heap, size, f.jobs, f.key, shortest)
    total, kept = size, 0
    while size > 0:
        place = f.heap[0]
        job = f.jobs[place]
        size = pop_first(s, f.heap, size, f.jobs, f.key, shortest)
        host = host_by_test(s, f, job, test)
        if host >= 0:
            start_backfilled(s, f, job, host, test)
        else:  # the heap has shrunk by at least as much as is kept: the ends never meet
            kept += 1
            f.heap[total - kept] = place
    for i in range(kept):
        f.heap[i] = f.heap[total - kept + i]
    return kept
