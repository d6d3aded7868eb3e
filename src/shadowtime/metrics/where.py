"""Which jobs results are about: ``partition=gpu,user!=root``, ``procs>=64``, ``gpus>0``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from shadowtime.errors import UsageError, near
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload

NAMED = {
    "user": "user",
    "account": "group",
    "group": "group",
    "qos": "queue",
    "queue": "queue",
    "partition": "partition",
}
"""Keys with names, and the column of the log."""
COUNTED = ("job", "procs", "cpus", "nodes", "gpus", "run", "request")
"""Keys with whole numbers; times in seconds."""
KEYS = (*NAMED, *COUNTED)
_COMPARE: dict[str, Callable[[AnyArray, int], AnyArray]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PART = re.compile(r"\s*([A-Za-z_]+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*")


@dataclass(frozen=True)
class Condition:
    """One condition; several values are alternatives."""

    key: str
    sign: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Where:
    """Conditions that all must hold; none: every job.

    Rules
    -----
    Conditions are separated by commas, alternatives by ``|``. Names are the log's own, or
    numbers where it has none. A name that no job has is rejected with the nearest ones.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> named = {"partition": ("", "gpu", "long"), "user": ("", "eva", "root")}
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 9, 9], procs=[1, 8, 8],
    ...                       partition=[1, 1, 2], user=[1, 2, 1], names=named)
    >>> Where.parse("partition=gpu,user!=root").mask(jobs).tolist()
    [True, False, False]
    >>> Where.parse("procs>=8").mask(jobs).tolist(), str(Where.parse(" procs >= 8"))
    ([False, True, True], 'procs>=8')
    >>> Where.parse("partition=gpus").mask(jobs)
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --where: no job has partition gpus: did you mean gpu?
    """

    conditions: tuple[Condition, ...] = ()
    option: str = field(default="--where", compare=False)
    """Where the conditions were given, for errors."""

    @staticmethod
    def parse(text: str, *, option: str = "--where") -> Where:
        """From what ``--where``, or another option, takes."""
        found = []
        for part in filter(str.strip, text.split(",")):
            match = _PART.fullmatch(part)
            if match is None or not match[3]:
                raise UsageError(
                    f"{option} {part.strip()!r}: write KEY=VALUE, as in partition=gpu,user!=root"
                )
            key = match[1].lower()
            if key not in KEYS:
                raise UsageError(f"{option}: there is no key {match[1]!r}{near(key, KEYS)}")
            values = tuple(value.strip() for value in match[3].split("|"))
            if key in NAMED and match[2] not in ("=", "!="):
                raise UsageError(f"{option} {part.strip()!r}: {key} is a name: use = or !=")
            if key in COUNTED and not all(re.fullmatch(r"\d{1,15}", one) for one in values):
                raise UsageError(f"{option} {part.strip()!r}: {key} is a whole number")
            found.append(Condition(key, match[2], values))
        return Where(tuple(found), option)

    def mask(self, workload: Workload) -> AnyArray:
        """True for the jobs that fulfil all conditions."""
        found = np.ones(len(workload), bool)
        for one in self.conditions:
            found &= _holds(workload, one, self.option)
        if self.conditions and not bool(found.any()):
            raise UsageError(f"{self.option} {self}: no job of {workload.name} matches it")
        return found

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def __str__(self) -> str:
        return ",".join(f"{one.key}{one.sign}{'|'.join(one.values)}" for one in self.conditions)


def _holds(workload: Workload, one: Condition, option: str) -> AnyArray:
    if one.key in COUNTED:
        column = number_of(workload, one.key)
        each = [_COMPARE[one.sign](column, int(value)) for value in one.values]
        every = one.sign == "!="
        held: AnyArray = np.logical_and.reduce(each) if every else np.logical_or.reduce(each)
        return held
    column = getattr(workload, NAMED[one.key])
    known = {workload.name_of(NAMED[one.key], n): n for n in np.unique(column).tolist()}
    for value in one.values:
        if value not in known:
            raise UsageError(
                f"{option}: no job has {one.key} {value}{near(value, sorted(filter(None, known)))}"
            )
    chosen = np.isin(column, [known[value] for value in one.values])
    return ~chosen if one.sign == "!=" else chosen


def number_of(workload: Workload, key: str) -> Ints:
    """A column of whole numbers by its key; -1 where the log does not record it."""
    if key in ("procs", "cpus"):
        return workload.procs
    if key == "job":
        return workload.job_id
    if key in ("run", "request"):
        column: Ints = getattr(workload, key)
        return column
    for name in ("gpus", "gpu") if key == "gpus" else ():
        if name in workload.resources:
            return workload.demand[:, workload.resources.index(name)]
    if key in workload.extra:
        return np.asarray(workload.extra[key], np.int64)
    asked = workload.requests
    if asked is None:
        return np.full(len(workload), UNKNOWN, np.int64)
    if key == "nodes":
        each = [one.nodes for one in asked.distinct]
    else:
        each = [
            sum(
                gres.count * {"node": one.nodes, "task": one.tasks, "job": 1}[gres.per]
                for gres in one.gres
                if gres.name.partition(":")[0] == "gpu"
            )
            for one in asked.distinct
        ]
    return np.array(each, np.int64)[asked.index] if each else np.empty(0, np.int64)
