"""Amounts counted over the whole site and over time, such as licences.

Each is a list of steps like that of a node, in the rows behind the nodes: what runs holds its part
until its expected end, what is planned from its start on.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site.fields import ALT_AMOUNTS, AMOUNTS, LEVEL, NEXT, TIME, Ground
from shadowtime.kernel.site.steps import change_amount, current


@routine
def hold_amounts(ground: Ground, alt: int, now: int, begin: int, end: int, sign: int) -> None:
    """Take (-1) or give back (+1) what an alternative takes during [begin, end)."""
    first = ground.node.shape[0] - ground.mark[AMOUNTS]
    for k in range(ground.mark[AMOUNTS]):
        taken = ground.alt[alt, ALT_AMOUNTS + k]
        if taken > 0:
            change_amount(ground, first + k, now, begin, end, sign * taken)


@kernel
def takes_amounts(ground: Ground, alt: int) -> bool:
    """True if an alternative takes anything that is counted."""
    for k in range(ground.mark[AMOUNTS]):
        if ground.alt[alt, ALT_AMOUNTS + k] > 0:
            return True
    return False


@routine
def amounts_from(ground: Ground, alt: int, now: int, start: int, length: int) -> int:
    """The first start from one on at which all that an alternative takes is free throughout."""
    first = ground.node.shape[0] - ground.mark[AMOUNTS]
    k = 0
    while k < ground.mark[AMOUNTS]:
        later = start
        if ground.alt[alt, ALT_AMOUNTS + k] > 0:
            later = amount_from(
                ground, first + k, ground.alt[alt, ALT_AMOUNTS + k], now, start, length
            )
        if later >= NEVER:
            return NEVER
        k = k + 1 if later == start else 0  # the others are asked again from there on
        start = later
    return start


@kernel
def amount_from(ground: Ground, row: int, taken: int, now: int, start: int, length: int) -> int:
    """The same for one amount."""
    at = current(ground, row, now)
    following = ground.step[at, NEXT]
    while following >= 0 and ground.step[following, TIME] <= start:
        at = following
        following = ground.step[at, NEXT]
    end = start + length
    while True:
        if ground.step[at, LEVEL] < taken:
            if following < 0:
                return NEVER
            start = ground.step[following, TIME]
            end = start + length
        if following < 0 or ground.step[following, TIME] >= end:
            return start
        at = following
        following = ground.step[at, NEXT]
