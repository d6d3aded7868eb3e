"""What a function that chooses a set of jobs is handed: the queue in columns, and what is free.

The function is called through a pointer that takes three whole numbers, so that compiled code and
a callback into Python have the same type and the pass is compiled once. The arrays themselves stay
where they are for a whole run; ``Choice.address`` holds their addresses.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import routine
from shadowtime.kernel.registers import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from shadowtime.kernel.profile import Profile
    from shadowtime.types import Floats, Ints

SELECT = 16
"""Slot in the register FAILED: the function chose a job that does not fit."""
SELECT_BROKE = 17
"""The same: it raised an error."""


if TYPE_CHECKING:
    Chooser: TypeAlias = Callable[[int, int, int], int]
    """A function of a user's own that decides a whole pass: now, jobs, where its tables lie."""


class Queue(NamedTuple):
    """The waiting jobs in order, a column each; -1 where something is unknown."""

    submit: Any
    request: Any
    estimate: Any
    procs: Any
    nodes: Any
    memory: Any
    """KB, of the whole job."""
    gpus: Any
    user: Any
    account: Any
    partition: Any
    qos: Any
    executable: Any
    blocked_at: Any
    """When it was first in order and could not start, -1 if never."""
    promised: Any
    """Its first promised start, -1 if none: write it once."""
    due: Any
    """When it is planned to start, -1 if it is not: kept between passes, and a pass is due then."""
    start: Any
    """Write 1: it starts now."""
    need: Any
    """A row a job: processors, then the further resources of the machine."""


COLUMNS = len(Queue._fields) - 1
(
    SUBMIT, REQUEST, ESTIMATE, PROCS, NODES, MEMORY, GPUS, USER, ACCOUNT, PARTITION, QOS,
    EXECUTABLE, BLOCKED_AT, PROMISED, DUE, START,
) = range(COLUMNS)  # fmt: skip


class Free(NamedTuple):
    """What will be free from now on: a step function of time, whose last level lasts for ever."""

    time: Ints  # int64[steps]: the first is now
    level: Ints  # int64[steps, K]
    count: Any  # int64[1]: steps in use


class Choice(NamedTuple):
    """The columns, and what the pass keeps beside them."""

    column: Ints  # int64[COLUMNS and those of the log, room]
    need: Ints  # int64[room, K]
    jobs: Ints  # int64[room]: the jobs in order
    due: Ints  # int64[room]: by job
    values: Floats  # float64[parameters]: of the function
    address: Ints  # int64[ADDRESSES]: of column, need, time, level, count; room, resources, steps;
    # values; series and how many words they take
    mark: Ints  # int64[3]: see below


SERIES_AT = 9
ADDRESSES = SERIES_AT + 2
HOW, WHERE, PENDING = range(3)
"""Marks: how the loop runs; where ``address`` lies; jobs of a queue that is to be answered."""
ONCE, STEPPING = 1, 2
"""The loop ends after one pass; or it ends at each pass and goes on with the answer."""


def make_choice(
    n: int, resources: int, profile: Profile, values: Sequence[float] = (), *, more: int = 0
) -> Choice:
    """Room for a queue of ``n`` jobs; ``profile`` is the pass's own, of one host.

    ``more`` columns of the log stand behind those of every queue (engine/columns.py).
    """
    made = Choice(
        column=np.zeros((COLUMNS + more, n + 1), np.int64),
        need=np.zeros((n + 1, resources), np.int64),
        jobs=np.zeros(n + 1, np.int64),
        due=np.full(n + 1, -1, np.int64),
        values=np.array([*values, 0.0], np.float64),
        address=np.zeros(ADDRESSES, np.int64),
        mark=np.zeros(3, np.int64),
    )
    held = (made.column, made.need, profile.time, profile.level, profile.count)
    made.address[:SERIES_AT] = [
        *(array.ctypes.data for array in held), n + 1, resources, profile.time.shape[1],
        made.values.ctypes.data,
    ]  # fmt: skip
    made.mark[WHERE] = made.address.ctypes.data
    return made


@cache
def select_signature() -> Any:
    """Now, how many jobs wait, where the addresses lie; not 0 if the function failed."""
    from numba import types

    return types.int64(types.int64, types.int64, types.int64)


@routine
def earliest(free: Free, need: Ints, seconds: int) -> int:
    """The first instant from which ``need`` is free for ``seconds``.

    Examples
    --------
    >>> free = Free(np.array([0, 10, 0]), np.array([[1], [4], [0]]), np.array([2]))
    >>> earliest(free, np.array([1]), 60), earliest(free, np.array([2]), 60)
    (0, 10)
    """
    count = free.count[0]
    first = 0
    while first < count:
        begin = free.time[first]
        step = first
        while step < count and free.time[step] < begin + seconds:
            if not holds(free, need, step):
                break
            step += 1
        if step >= count or free.time[step] >= begin + seconds:
            return int(begin)
        first = step + 1
    return NEVER


@routine
def holds(free: Free, need: Ints, step: int) -> bool:
    """True if ``need`` is free from a step on, until the next one."""
    for k in range(free.level.shape[1]):
        if need[k] > free.level[step, k]:
            return False
    return True


@routine
def occupy(free: Free, need: Ints, start: int, end: int) -> None:
    """Take ``need`` out of what is free during [start, end).

    Examples
    --------
    >>> free = Free(np.array([0, 10, 0, 0]), np.array([[1], [4], [0], [0]]), np.array([2]))
    >>> occupy(free, np.array([4]), 10, 70)
    >>> earliest(free, np.array([2]), 60)
    70
    """
    change(free, need, start, end, -1)


@routine
def release(free: Free, need: Ints, start: int, end: int) -> None:
    """Give back what was occupied.

    Examples
    --------
    >>> level = np.array([[1], [4], [0], [0], [0]])
    >>> free = Free(np.array([0, 10, 0, 0, 0]), level, np.array([2]))
    >>> occupy(free, np.array([4]), 10, 70)
    >>> release(free, np.array([4]), 10, 70)
    >>> free.count.tolist(), earliest(free, np.array([2]), 60)
    ([2], 10)
    """
    change(free, need, start, end, 1)


@routine
def change(free: Free, need: Ints, start: int, end: int, sign: int) -> None:
    """Add to what is free during [start, end), or take away; the past stays as it was."""
    start = max(start, free.time[0])
    if end <= start:
        return
    if free.count[0] + 2 > free.time.shape[0]:
        raise IndexError("too many plans: release what is no longer planned")
    first = step_at(free, start)
    beyond = step_at(free, end)
    for step in range(first, beyond):
        for k in range(free.level.shape[1]):
            free.level[step, k] += sign * need[k]
    drop_if_level(free, beyond)
    drop_if_level(free, first)


@routine
def step_at(free: Free, when: int) -> int:
    """The step that begins at an instant; made where there is none."""
    time, level, count = free.time, free.level, free.count[0]
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < when:
            low = middle + 1
        else:
            high = middle
    if low < count and time[low] == when:
        return low
    for i in range(count, low, -1):
        time[i] = time[i - 1]
        for k in range(level.shape[1]):
            level[i, k] = level[i - 1, k]
    time[low] = when
    for k in range(level.shape[1]):
        level[low, k] = level[low - 1, k]
    free.count[0] = count + 1
    return low


@routine
def drop_if_level(free: Free, step: int) -> None:
    """Remove a step at which nothing changes, so that plans that come and go leave no trace."""
    time, level, count = free.time, free.level, free.count[0]
    if step == 0 or step >= count:
        return
    for k in range(level.shape[1]):
        if level[step, k] != level[step - 1, k]:
            return
    for i in range(step, count - 1):
        time[i] = time[i + 1]
        for k in range(level.shape[1]):
            level[i, k] = level[i + 1, k]
    free.count[0] = count - 1
