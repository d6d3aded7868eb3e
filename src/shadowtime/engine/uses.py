"""Which functions of a user's own a policy has, in which slots, and what they see of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import PolicyError
from shadowtime.kernel import record, slots
from shadowtime.kernel.slots import LEARN_TIMER, PLACE, TIMERS
from shadowtime.policy import Policy, functions
from shadowtime.policy.written import ALL, KEYS, Written
from shadowtime.types import Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.columns import Column

NUMBERS = {
    functions.ORDER: slots.ORDER,
    functions.BACKFILL_KEY: slots.BACKFILL_KEY,
    functions.BACKFILL_TEST: slots.BACKFILL_TEST,
    functions.RESERVE: slots.RESERVE,
    functions.PLAN: slots.PLAN,
    functions.ESTIMATE: slots.ESTIMATE,
    functions.VICTIM: slots.VICTIM,
    functions.PLACE: slots.PLACE,
    functions.BEGIN: slots.BEGIN,
}
"""The number of a slot in compiled code; a function that chooses sets has a pointer of its own."""
LEARNING = {"submit": slots.LEARN_SUBMIT, "start": slots.LEARN_START, "end": slots.LEARN_END}


@dataclass(frozen=True)
class Use:
    """A function in a slot: what it is called with."""

    slot: int
    takes: functions.Slot
    function: Callable[..., Any]
    handed: int
    """How many of the slot's arguments it takes."""
    values: tuple[Any, ...] = ()
    column: int = 0
    """First column of its memory, how many, and whose row."""
    width: int = 0
    whose: int = 0
    every: int = 0
    """Seconds between two calls of a timer."""
    columns: tuple[Column, ...] = ()
    """Further columns of the log in the records that it gets."""
    series: tuple[str, ...] = ()
    """Names of the run's series in the record that it gets, if it takes one."""

    @property
    def row(self) -> str:
        """Its row of the memory, as it stands in the filler."""
        row = "-1" if self.whose == ALL else f"fact[at, {self.whose}]"
        if self.takes is functions.TIMER:  # it is asked for rows of the memory
            row = "at"
        return f"memory[{row}, {self.column}:{self.column + self.width}]"

    @property
    def arguments(self) -> str:
        """The call's arguments, as they stand in the filler."""
        if not self.takes.by_record:
            return "int(now - row.submit), int(row.estimate), int(row.procs)"
        given = ["now", "row", self.row, "out[i]"]
        if self.takes is functions.TIMER:
            given = ["now", self.row]
        elif self.slot == PLACE:
            given = ["now", "row", "node_record(jobs, i)", self.row]
        given = given[: self.handed]
        if functions.takes_series(self.function):
            given.append(functions.SERIES)
        return ", ".join([*given, *map(repr, self.values)])


def uses_of(policy: Policy) -> tuple[Use, ...]:
    """Every function of a policy, in the order of slots; each part has columns of its own."""
    parts = [
        (NUMBERS[part.takes], part, part.learners, part.timers)
        for filled in policy.parts.values()
        for part in filled.functions
        if part.takes in NUMBERS
    ]
    return uses_of_parts(tuple(sorted(parts, key=lambda each: each[0])))


@lru_cache(maxsize=256)
def uses_of_parts(parts: tuple[tuple[int, Written, Any, Any], ...]) -> tuple[Use, ...]:
    """The functions of some parts, which are given with their slot and what they learn."""
    found: list[Use] = []
    column = 0
    timer = LEARN_TIMER
    for slot, part, learners, timers in parts:
        place = (column, part.memory, KEYS.index(part.by))
        if part.called_by.by_record:
            values = tuple(part.settings().values())
            taken = functions.handed_to(part.takes, part.function)
            found.append(Use(slot, part.takes, part.function, taken, values, *place))
        else:
            found.append(Use(slot, part.called_by, part.function, len(part.called_by.arguments)))
        for moment, function in learners:
            found.append(Use(LEARNING[moment], functions.LEARN, function, 3, (), *place))
        for every, function in timers:
            found.append(Use(timer, functions.TIMER, function, 2, (), *place, every))
            timer += 1
        column += part.memory
    if timer > LEARN_TIMER + TIMERS:
        raise PolicyError(f"a policy may have {TIMERS} timers, not {timer - LEARN_TIMER}")
    return tuple(sorted(found, key=lambda use: use.slot))


def no_facts() -> Ints:
    """Where no function asks for them."""
    return np.zeros((1, record.FACTS), np.int64)


def facts_of(workload: Workload, whose: tuple[int, ...] = ()) -> Ints:
    """The table for a workload; ``whose`` rows of a memory are wanted: written.KEYS by number.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4], user=[7, 2])
    >>> facts_of(jobs, (0,))[:, [record.ROW, record.USER, record.GPUS]].tolist()
    [[1, 7, -1], [0, 2, -1]]
    """
    made = np.full((len(workload), record.FACTS), record.UNKNOWN, np.int64)
    keys = (workload.user, workload.group, workload.executable)
    made[:, record.USER], made[:, record.ACCOUNT], made[:, record.EXECUTABLE] = keys
    made[:, record.ROW : record.ROW + len(keys)] = 0
    for column in whose:
        made[:, record.ROW + column] = np.unique(keys[column], return_inverse=True)[1]
    made[:, record.PARTITION], made[:, record.QOS] = workload.partition, workload.queue
    for column, name in ((record.MEMORY, "memory"), (record.GPUS, "gpus")):
        if name in workload.resources:
            made[:, column] = workload.demand[:, workload.resources.index(name)]
    if workload.requests is not None:
        nodes = np.array([asked.nodes for asked in workload.requests.distinct], np.int64)
        made[:, record.NODES] = nodes[workload.requests.index]
    return made
