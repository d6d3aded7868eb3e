"""A job's request to a site: nodes, tasks, memory, GRES, features, partitions, times, dependencies.

Logs hold many jobs and few different requests, so a workload keeps each distinct ``Request`` once
and an index per job. What differs from job to job (begin, dependency, array, nice, cancellation)
lies in columns beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from shadowtime.errors import InputError
from shadowtime.types import AnyArray, Ints

NEVER = -1
"""In ``begin`` and ``cancel_at``: not given."""


@dataclass(frozen=True, kw_only=True)
class Gres:
    """An amount of a countable resource, per node, task or job."""

    name: str
    count: int
    per: Literal["node", "task", "job"] = "node"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a job asks for; amounts follow from it (spec: slurm 9).

    Rules
    -----
    ``max_nodes`` None: no bound. ``tasks_per_node`` None: no bound. ``least_cpus`` must be free on
    each of its nodes; None: those of a task. ``memory`` is KB per node or
    per cpu (``memory_per``); None: not asked, 0: all of a node's. ``partitions`` in the order the
    user gave. ``features`` is the expression as written (``a&b``, ``a|b``, ``[a*2&b*1]``).

    Examples
    --------
    >>> Request(nodes=2, tasks=8).cpus
    8
    """

    nodes: int = 1
    max_nodes: int | None = None
    aim: Literal["most", "least", "spread"] = "most"
    """How many nodes of a range it aims at; "spread": as many as it has tasks."""
    tasks: int = 1
    cpus_per_task: int = 1
    tasks_per_node: int | None = None
    least_cpus: int | None = None
    memory: int | None = None
    memory_per: Literal["node", "cpu"] = "node"
    gres: tuple[Gres, ...] = ()
    cpus_per_gpu: int | None = None
    """None: not asked, where a partition may have a default (DefCpuPerGPU); 0: none even so."""
    features: str = ""
    exclusive: bool = False
    exclusive_user: bool = False
    """Its nodes run no jobs of other users meanwhile."""
    contiguous: bool = False
    partitions: tuple[str, ...] = ()
    qos: str = ""
    account: str = ""
    reservation: str = ""
    wanted: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    amounts: tuple[tuple[str, int], ...] = ()
    """What it takes of what is counted over the whole site (cluster/amounts.py)."""
    beyond: tuple[str, ...] = ()
    """Options of its submission that are not modelled: it runs as if they were not there."""
    counts: bool = field(default=True, repr=False)
    """False for a further part of a job that is written as several: limits count its amounts but
    no other job."""

    @property
    def cpus(self) -> int:
        """The smallest sufficient number of cpus."""
        return self.tasks * self.cpus_per_task


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """Job ``job`` (its row) waits for jobs by id: ``after``, ``afterok``, ``afternotok``,
    ``afterany``, ``aftercorr`` or ``singleton`` (no ids)."""

    job: int
    kind: str
    on: tuple[int, ...] = ()
    any_of: bool = False
    """True: one of several dependencies suffices (``?`` between them)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Requests:
    """The requests of a workload: distinct values, an index per job, and columns per job.

    Rules
    -----
    Times are on the workload's clock (its first submission at 0, or as read), -1 where not given.
    ``array`` is the id of the array's record, -1 outside arrays; ``throttle`` 0 is "no bound".
    ``least_time`` is --time-min in seconds, -1 without. ``priority`` is -1 where unknown.

    Examples
    --------
    >>> asked = Requests.of_jobs([Request(), Request(nodes=2), Request()])
    >>> len(asked.distinct), asked.index.tolist(), asked[1].nodes
    (2, [0, 1, 0], 2)
    """

    distinct: tuple[Request, ...]
    index: Ints
    begin: Ints
    cancel_at: Ints
    array: Ints
    task: Ints
    throttle: Ints
    nice: Ints
    priority: Ints
    least_time: Ints
    requeue: Ints
    """1 where the job may be requeued after a failure or preemption."""
    dependencies: tuple[Dependency, ...] = field(default=())
    inferred: Mapping[str, int] = field(default_factory=dict)
    """Jobs touched by each rule that inferred what the log does not say."""
    memory_said: AnyArray | None = None
    """Which jobs named their memory; None where nothing tells it, or all is inferred."""

    COLUMNS = (
        "begin",
        "cancel_at",
        "array",
        "task",
        "throttle",
        "nice",
        "priority",
        "least_time",
        "requeue",
    )

    def __post_init__(self) -> None:
        for name in self.COLUMNS:
            if len(getattr(self, name)) != len(self.index):
                raise InputError(f"column {name} has {len(getattr(self, name))} rows")

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, job: int) -> Request:
        return self.distinct[int(self.index[job])]

    @staticmethod
    def of_jobs(
        each: Sequence[Request],
        *,
        dependencies: Sequence[Dependency] = (),
        **columns: Sequence[int] | Ints,
    ) -> Requests:
        """From one Request per job; columns that are left out say "not given"."""
        number: dict[Request, int] = {}
        ids = list(map(id, each))  # a request is slow to hash, and most are shared
        known = {
            key: number.setdefault(one, len(number))
            for key, one in dict(zip(ids, each, strict=True)).items()
        }
        index = np.array(list(map(known.__getitem__, ids)), np.int64)
        given = {name: np.asarray(values, np.int64) for name, values in columns.items()}
        usual = {"throttle": 0, "nice": 0, "requeue": 1}
        for name in Requests.COLUMNS:
            given.setdefault(name, np.full(len(each), usual.get(name, NEVER), np.int64))
        return Requests(
            distinct=tuple(number),
            index=index,
            dependencies=tuple(dependencies),
            inferred={},
            **given,
        )

    def take(self, at: AnyArray) -> Requests:
        """The jobs at these places (a mask or increasing indices)."""
        if len(at) == len(self) and np.array_equal(np.arange(len(self))[at], np.arange(len(self))):
            return self
        kept: tuple[Dependency, ...] = ()
        if self.dependencies:
            place = {old: new for new, old in enumerate(np.arange(len(self))[at].tolist())}
            kept = tuple(
                replace(one, job=place[one.job]) for one in self.dependencies if one.job in place
            )
        columns = {name: getattr(self, name)[at] for name in self.COLUMNS}
        said = None if self.memory_said is None else self.memory_said[at]
        return replace(self, index=self.index[at], dependencies=kept, memory_said=said, **columns)
