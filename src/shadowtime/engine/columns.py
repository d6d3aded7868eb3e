"""Columns of the log that functions of a user's own read: ``job.deadline``, ``job.power``.

A function sees the fields of every job (kernel/record.py) and, by the same dot, any further column
of the log: those of ``Workload.extra`` and what a job takes of the machine's further resources.
Only columns that some function names are put into its record, so that the compiled code of a
function stays the same whatever else a log holds.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from keyword import iskeyword
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shadowtime.engine.digest import names_in
from shadowtime.engine.estimates import predicted_seconds
from shadowtime.errors import PolicyError, suggested
from shadowtime.kernel.choice import Queue
from shadowtime.kernel.record import FACTS, Job, record
from shadowtime.policy import Policy
from shadowtime.policy.functions import fields_read, plain, where
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload, follows

if TYPE_CHECKING:
    from shadowtime.engine.uses import Use
    from shadowtime.policy.predictors import FromLog


@dataclass(frozen=True)
class Column:
    """A column in the record of a job or in a queue: its name there, what it holds."""

    name: str
    fractions: bool = False
    whole: bool = False
    """True if it belongs to no job: functions of a whole queue get all of it."""


def field_name(column: str) -> str:
    """A column's name behind the dot: other signs become underscores.

    A keyword, or what a queue has beside the columns of jobs, gets an underscore.

    Examples
    --------
    >>> [field_name(name) for name in ("license/matlab", "io-rate", "class", "due", "2nd")]
    ['license_matlab', 'io_rate', 'class_', 'due_', 'c2nd']
    """
    name = re.sub(r"\W", "_", column)
    if iskeyword(name) or (name in Queue._fields and name not in Job._fields):
        return f"{name}_"
    return name if name[:1].isalpha() else f"c{name}"


def columns_of(workload: Workload) -> dict[str, AnyArray]:
    """Every further column of a log by its name behind the dot; fields of all jobs come first.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[1], demand={"power": [300]},
    ...     extra={"deadline": np.array([50]), "user": np.array([7])})
    >>> sorted(columns_of(jobs))
    ['deadline', 'power']
    """
    given = dict(zip(workload.resources[1:], workload.demand[:, 1:].T, strict=True))
    flow: dict[str, AnyArray] = {}
    if len(workload.follows):
        flow = {name: find(workload) for name, find in follows.COLUMNS.items()}
    every = {**flow, **workload.extra, **given}
    found = {field_name(name): values for name, values in every.items()}
    return {name: values for name, values in found.items() if name not in Job._fields}


def predicted(policy: Policy, workload: Workload) -> dict[str, AnyArray]:
    """The columns that predictors fill for the functions of a policy, in whole seconds."""
    return {
        name: predicted_seconds(cast("FromLog", part), workload)[0]
        for filled in policy.parts.values()
        for one in filled.functions
        for name, part in one.columns
    }


def every_column(known: Mapping[str, AnyArray]) -> tuple[Column, ...]:
    """All columns of a log, for functions whose code is not compiled."""
    return tuple(Column(name, _fractions(values)) for name, values in sorted(known.items()))


def _fractions(values: AnyArray) -> bool:
    return np.asarray(values).dtype.kind == "f"


def columns_read(
    functions: Iterable[Callable[..., Any]], known: Mapping[str, AnyArray]
) -> tuple[Column, ...]:
    """The columns of a log that some functions name, in the order of their names."""
    named: set[str] = set()
    for function in functions:
        named |= names_read(plain(function))
    return every_column({name: known[name] for name in named & {*known}})


@lru_cache(maxsize=256)
def names_read(function: Callable[..., Any]) -> frozenset[str]:
    """The names in a function's code and in that of the functions which it calls.

    Examples
    --------
    >>> sorted(names_read(lambda now, job: job.deadline - job.estimate))
    ['deadline', 'estimate']
    """
    found: set[str] = set()
    left: list[Any] = [function]
    seen: set[int] = set()
    while left:
        one = plain(left.pop())
        if not isinstance(one, FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        names = names_in(one.__code__)
        found |= names
        left += [one.__globals__[name] for name in names if name in one.__globals__]
        left += [cell.cell_contents for cell in one.__closure__ or ()]
    return frozenset(found)


def numbers_of(values: AnyArray, column: Column) -> Ints:
    """A column as the table of facts holds it: whole numbers, fractions as their bits.

    Texts become numbers, equal for equal texts.

    Examples
    --------
    >>> numbers_of(np.array(["b", "a", "b"]), Column("kind")).tolist()
    [1, 0, 1]
    """
    given = np.asarray(values)
    if column.fractions:
        return given.astype(np.float64).view(np.int64)
    if given.dtype.kind not in "iub":
        given = np.unique(given.astype(str), return_inverse=True)[1]
    return given.astype(np.int64)


def add_columns(fact: Ints, columns: tuple[Column, ...], known: Mapping[str, AnyArray]) -> Ints:
    """The table of facts with these columns behind its own."""
    if not columns:
        return fact
    more = [numbers_of(known[column.name], column) for column in columns]
    return np.ascontiguousarray(np.column_stack([fact, *more]))


@lru_cache(maxsize=64)
def record_with(columns: tuple[Column, ...]) -> Any:
    """The type of a job's record that holds these columns too."""
    return namedtuple("Job", [*Job._fields, *(column.name for column in columns)])


@lru_cache(maxsize=64)
def queue_with(columns: tuple[Column, ...]) -> Any:
    """The type of a queue that holds these columns too."""
    return namedtuple("Queue", [*Queue._fields, *(column.name for column in columns)])


def record_text(columns: tuple[Column, ...]) -> list[str]:
    """The lines of a filler that make ``row``, the record of the job in row ``at``.

    Examples
    --------
    >>> record_text(())
    ['row = record(now, job, fact, at)']
    >>> record_text((Column("deadline"), Column("risk", fractions=True)))[1][-54:]
    'fact[at, 11], np.int64(fact[at, 12]).view(np.float64))'
    """
    if not columns:
        return ["row = record(now, job, fact, at)"]
    fields = [f"known.{name}" for name in Job._fields]
    for k, column in enumerate(columns):
        whole = f"fact[at, {FACTS + k}]"
        fields.append(f"np.int64({whole}).view(np.float64)" if column.fractions else whole)
    return ["known = record(now, job, fact, at)", f"row = Job({', '.join(fields)})"]


def record_of(now: int, table: Ints, fact: Ints, at: int, columns: tuple[Column, ...]) -> Any:
    """The record of the job in row ``at`` as plain Python numbers, to find out why one failed."""
    own: list[float] = [int(value) for value in plain(record)(now, table, fact, at)]
    for k, column in enumerate(columns):
        whole = fact[at, FACTS + k]
        own.append(float(whole.view(np.float64)) if column.fractions else int(whole))
    return record_with(columns)(*own)


def refuse_unknown_fields(uses: Iterable[Use], known: Mapping[str, AnyArray]) -> None:
    """Reject a function that reads a field which neither every job nor this log has."""
    every = [*Job._fields, *sorted(known)]
    for use in uses:
        if "job" not in use.takes.arguments:
            continue
        for name, line in fields_read("job", use.function).items():
            if name not in every:
                raise PolicyError(
                    f"the {use.takes.name} function {where(use.function, line)} reads job.{name}: "
                    f"neither every job nor this log has a column {name!r}. "
                    + suggested(name, every)
                )
