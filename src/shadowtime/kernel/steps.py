"""What will be free of a pool of processors, as two rows of steps: the profile of one number.

The general profile is written for hosts and K resources, so its loops run over both and each value
costs a product of indices. Here a step is a place in two rows. A search for room passes the steps
where it begins and ends, so cutting a job out needs no second search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import FREE
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import BITS, NOW, RUNNING
from shadowtime.kernel.running import need_on
from shadowtime.kernel.vector import ONE
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

NOWHERE = -1
"""Stands for a step where there is no room."""
START = np.uint64(0)


class Steps(NamedTuple):
    """Room for a step function; how many steps there are is passed along."""

    time: Ints  # int64[room]: when each step begins
    level: Ints  # int64[room]: what is free from then on; the last level lasts forever


@kernel
def build_steps(state: State, steps: Steps) -> Any:
    """Start from the running jobs, which stand in order of their expected ends; how many steps."""
    now = state.reg[NOW]
    bits = state.reg[BITS]
    mask = (1 << bits) - 1
    free = state.host[FREE, 0, 0]
    last = START
    steps.time[last] = now
    steps.level[last] = free
    at, running = START, np.uint64(state.reg[RUNNING])
    while at < running:
        key = state.running[at]
        end = max(key >> bits, now + 1)
        free += need_on(state, key & mask, 0, 0)
        if steps.time[last] != end:
            last += ONE
            steps.time[last] = end
        steps.level[last] = free
        at += ONE
    return np.int64(last) + 1


@kernel
def cut(steps: Steps, count: int, first: Any, beyond: Any, until: int, need: int) -> int:
    """Take ``need`` out of the steps from ``first`` until an instant; how many steps there are now.

    ``beyond`` is the first step that does not begin before that instant.
    """
    size = np.uint64(count)
    if beyond == size or steps.time[beyond] != until:
        at = size
        while at > beyond:
            steps.time[at] = steps.time[at - ONE]
            steps.level[at] = steps.level[at - ONE]
            at -= ONE
        steps.time[beyond] = until
        steps.level[beyond] = steps.level[beyond - ONE]
        count += 1
    at = first
    while at < beyond:
        steps.level[at] -= need
        at += ONE
    return count


@kernel
def reserve_earliest(steps: Steps, count: int, need: int, length: int) -> tuple[Any, int]:
    """Cut out the earliest stretch of ``length`` with room for ``need``.

    Returns the step where it begins, or NOWHERE, and how many steps there are now.
    """
    size = np.uint64(count)
    first = START
    while first < size:
        if steps.level[first] < need:
            first += ONE
            continue
        until = steps.time[first] + length
        beyond = first + ONE
        while beyond < size and steps.time[beyond] < until and steps.level[beyond] >= need:
            beyond += ONE
        if beyond == size or steps.time[beyond] >= until:
            return np.int64(first), cut(steps, count, first, beyond, until, need)
        first = beyond + ONE
    return NOWHERE, count


@kernel
def take_now(steps: Steps, count: int, need: int, length: int) -> int:
    """Cut out the stretch from now on; how many steps there are now, NOWHERE without room."""
    size = np.uint64(count)
    until = steps.time[START] + length
    beyond = START
    while beyond < size and steps.time[beyond] < until:
        if steps.level[beyond] < need:
            return NOWHERE
        beyond += ONE
    return cut(steps, count, START, beyond, until, need)
