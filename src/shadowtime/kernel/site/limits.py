"""Bounds of QOS, accounts and licences: what a start would add, and whether that is allowed.

A bucket is who shares a bound (a QOS, a user in it, an account); its columns are what is counted:
jobs, amounts in use (and nodes), amounts times limits of the running jobs, amounts times seconds
used so far, wall time used so far, licences.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import REQUEST, START
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site.fields import (
    ALT,
    ALT_COUNT,
    ALT_FROM,
    ALT_SHAPE,
    BOUND,
    CHARGE,
    CHOSEN,
    DIVISOR,
    GIVEN,
    LEAST,
    LEVEL,
    PER_TASK,
    PLACE_COUNT,
    PLACE_FROM,
    PLACED,
    TASKS,
    USED,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.steps import amount

LICENCES = 3
"""First of the columns of licences in the table of alternatives."""
ASKED_FOR, IN_SCRATCH, IN_PLACE = 0, 1, 2
"""Where the amounts come from: the request, the placement found last, the job's own place."""


@routine
def charge(s: Any, g: Any, job: int, alt: int, source: int) -> None:
    """Work out what a run adds to each column."""
    line = g.scratch[CHARGE]
    shape = g.alt[alt, ALT_SHAPE]
    resources = g.step.shape[1] - LEVEL
    if source == ASKED_FOR:
        nodes = g.shape[shape, LEAST]
        for k in range(resources):
            line[1 + k] = (
                g.shape[shape, TASKS] * g.shape[shape, PER_TASK + k] // g.shape[shape, DIVISOR]
                + nodes * g.shape[shape, PER_TASK + resources + k]
            )
    else:
        for k in range(resources):
            line[1 + k] = 0
        nodes = g.mark[PLACED] if source == IN_SCRATCH else g.job[job, PLACE_COUNT]
        first = g.job[job, PLACE_FROM]
        for at in range(nodes):
            if source == IN_SCRATCH:
                node, tasks = g.scratch[CHOSEN, at], g.scratch[GIVEN, at]
            else:
                node, tasks = g.place[first + at] >> 32, g.place[first + at] & 0xFFFFFFFF
            for k in range(resources):
                line[1 + k] += amount(g, shape, node, tasks, k)
    line[0] = 1
    line[1 + resources] = nodes
    request = max(1, s.job[job, REQUEST])
    for k in range(resources + 1):
        line[2 + resources + k] = line[1 + k] * request
        line[3 + 2 * resources + k] = line[1 + k] * request
    line[4 + 3 * resources] = request
    for k in range(LICENCES, g.alt.shape[1]):
        line[5 + 3 * resources + k - LICENCES] = g.alt[alt, k]


@routine
def within(s: Any, g: Any, job: int, alt: int, source: int) -> bool:
    """True if a start passes no bound."""
    if g.alt[alt, ALT_COUNT] == 0:
        return True
    charge(s, g, job, alt, source)
    line = g.scratch[CHARGE]
    first = g.alt[alt, ALT_FROM]
    for at in range(first, first + g.alt[alt, ALT_COUNT]):
        bucket = g.bucket[at]
        for k in range(g.limit.shape[2]):
            if g.limit[USED, bucket, k] + line[k] > g.limit[BOUND, bucket, k]:
                return False
    return True


@routine
def account_start(s: Any, g: Any, job: int) -> None:
    """Count a job that starts in its place."""
    alt = g.job[job, ALT]
    if g.alt[alt, ALT_COUNT] == 0:
        return
    charge(s, g, job, alt, number(IN_PLACE))
    first = g.alt[alt, ALT_FROM]
    for at in range(first, first + g.alt[alt, ALT_COUNT]):
        for k in range(g.limit.shape[2]):
            g.limit[USED, g.bucket[at], k] += g.scratch[CHARGE, k]


@routine
def account_end(s: Any, g: Any, job: int, now: int) -> None:
    """Count a job out; what it used of its minutes and wall time stays."""
    alt = g.job[job, ALT]
    if g.alt[alt, ALT_COUNT] == 0:
        return
    charge(s, g, job, alt, number(IN_PLACE))
    line = g.scratch[CHARGE]
    resources = g.step.shape[1] - LEVEL
    used = now - s.job[job, START]
    first = g.alt[alt, ALT_FROM]
    for at in range(first, first + g.alt[alt, ALT_COUNT]):
        bucket = g.bucket[at]
        for k in range(g.limit.shape[2]):
            g.limit[USED, bucket, k] -= line[k]
        for k in range(resources + 1):
            g.limit[USED, bucket, 3 + 2 * resources + k] += line[1 + k] * used
        g.limit[USED, bucket, 4 + 3 * resources] += used


@kernel
def columns(resources: int, licences: int) -> int:
    """How many columns a bucket has."""
    return 5 + 3 * resources + licences
