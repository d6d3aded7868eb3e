"""Where jobs run or are promised to, and from when on: as columns, and one by one by name.

They are the input and the outcome of a decision on a site, by row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.types import NO_LIMIT, AnyArray, Ints, Reason
from shadowtime.workload import Workload

Tasks = dict[str, int]
"""Tasks by name of the node."""


class Run(NamedTuple):
    """Where a job runs, or is promised to, and from when on."""

    start: int
    tasks: Tasks
    partition: str = ""
    """The partition it runs in; empty: the first of the job's own that has these nodes."""


class Plans(NamedTuple):
    """Runs as columns, a row for each: ten thousand promises pass through a decision like this.

    Examples
    --------
    >>> some = Plans.of([Run(7, {"a": 2, "b": 1}), Run(9, {"b": 4}, "long")])
    >>> some.take(np.array([1, 0])).runs()
    [Run(start=9, tasks={'b': 4}, partition='long'), Run(start=7, tasks={'a': 2, 'b': 1}, \
partition='')]
    >>> some.on(("b", "c")).inside().tolist()
    [False, True]
    """

    start: Ints
    partition: Ints
    """Which of ``partitions``."""
    first: Ints
    """Where the nodes of each begin in ``node`` and ``tasks``."""
    width: Ints
    """How many nodes each has."""
    node: Ints
    """Which of ``names``; -1: one that is not there any more."""
    tasks: Ints
    names: tuple[str, ...]
    partitions: tuple[str, ...]

    @staticmethod
    def of(runs: Collection[Run]) -> Plans:
        """From runs one by one."""
        number: dict[str, int] = {}
        within: dict[str, int] = {}
        node = [number.setdefault(name, len(number)) for run in runs for name in run.tasks]
        count = np.array([len(run.tasks) for run in runs], np.int64)
        partition = [within.setdefault(run.partition, len(within)) for run in runs]
        return Plans(
            start=np.array([run.start for run in runs], np.int64),
            partition=np.array(partition, np.int64),
            first=np.cumsum(count) - count,
            width=count,
            node=np.array(node, np.int64),
            tasks=np.array([some for run in runs for some in run.tasks.values()], np.int64),
            names=tuple(number),
            partitions=tuple(within),
        )

    def take(self, rows: Ints) -> Plans:
        """Some of them, in this order, with their own nodes alone."""
        count = self.width[rows]
        first = np.cumsum(count) - count
        at = np.repeat(self.first[rows] - first, count) + np.arange(int(count.sum()))
        return self._replace(
            start=self.start[rows],
            partition=self.partition[rows],
            first=first,
            width=count,
            node=self.node[at],
            tasks=self.tasks[at],
        )

    def on(self, names: tuple[str, ...]) -> Plans:
        """The same with nodes counted by their places in these names."""
        if names == self.names:
            return self
        place = {name: at for at, name in enumerate(names)}
        number = np.array([place.get(name, -1) for name in self.names], np.int64)
        return self._replace(node=number[self.node], names=names)

    def inside(self) -> AnyArray:
        """By row, whether all its nodes are there."""
        there = np.ones(len(self.start), np.bool_)
        there[np.repeat(np.arange(len(self.start)), self.width)[self.node < 0]] = False
        return there

    def runs(self) -> list[Run]:
        """One by one."""
        names = [self.names[at] for at in self.node.tolist()]
        tasks = self.tasks.tolist()
        columns = (self.start.tolist(), self.partition.tolist(), self.first.tolist())
        found = []
        for start, within, begin, count in zip(*columns, self.width.tolist(), strict=True):
            end = begin + count
            held = dict(zip(names[begin:end], tasks[begin:end], strict=True))
            found.append(Run(start, held, self.partitions[within]))
        return found


class RunsByRow(Mapping[int, Run]):
    """Runs by the row of their job, as columns.

    Examples
    --------
    >>> RunsByRow.of({3: Run(7, {"a": 2})}) == {3: Run(7, {"a": 2})}
    True
    """

    __slots__ = ("_at", "plans", "rows")

    def __init__(self, rows: Ints, plans: Plans) -> None:
        self.rows, self.plans = rows, plans
        self._at: dict[int, int] | None = None

    @staticmethod
    def of(runs: Mapping[int, Run]) -> RunsByRow:
        """The same runs as columns."""
        if isinstance(runs, RunsByRow):
            return runs
        return RunsByRow(np.fromiter(runs, np.int64, len(runs)), Plans.of(runs.values()))

    @property
    def at(self) -> dict[int, int]:
        """The place of each row: made where it is asked for."""
        if self._at is None:
            self._at = dict(zip(self.rows.tolist(), range(len(self.rows)), strict=True))
        return self._at

    def __getitem__(self, row: int) -> Run:
        return self.plans.take(np.array([self.at[row]])).runs()[0]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: object) -> bool:
        return row in self.at

    def __repr__(self) -> str:
        return repr(dict(zip(self, self.plans.runs(), strict=True)))


def joined(some: Sequence[Plans]) -> tuple[Ints, Ints, Ints, Ints]:
    """First place, count, nodes and tasks of several plans on the same names, one after another."""
    count = np.concatenate([one.width for one in some])
    node = np.concatenate([one.node for one in some])
    tasks = np.concatenate([one.tasks for one in some])
    return np.cumsum(count) - count, count, node, tasks


@dataclass(frozen=True, kw_only=True)
class Freed:
    """Nodes that came free during [begin, end): a run that ended early, a promise given back."""

    nodes: tuple[str, ...]
    begin: int
    end: int


def everything(site: Site, now: int) -> Freed:
    """All nodes from now on: what may have come free where nothing is known."""
    return Freed(nodes=tuple([node.name for node in site.nodes]), begin=now, end=NO_LIMIT)


@dataclass(frozen=True, kw_only=True)
class SiteJobs:
    """The jobs of a snapshot as the site's tables take them, by their rows in ``jobs``."""

    now: int
    jobs: Workload
    running: Mapping[int, Run] = field(default_factory=dict)
    promises: Mapping[int, Run] = field(default_factory=dict)
    """Plans of waiting jobs that a policy with kept promises made before."""
    freed: Sequence[Freed] | None = None
    """What came free early since the promises were made, behind what the verdict before handed
    over: only jobs that can use it are tried for an earlier start. None: not known, so anything
    may have."""
    asked: Mapping[int, int] = field(default_factory=dict)
    """How many entries of ``freed`` each promise has been compared with, if not none."""
    unfinished: bool = False
    """True if the verdict before left a sweep unfinished."""
    estimates: Mapping[int, int] = field(default_factory=dict)
    """How long jobs are expected to run, where the caller knows better than their requests."""
    blocked: Mapping[int, int] = field(default_factory=dict)
    """Since when each job that was ever the blocked head has been it."""
    promised: Mapping[int, int] = field(default_factory=dict)
    """The start that each job was promised first, where it was promised one before."""
    withdrawn: frozenset[int] = frozenset()
    """Jobs whose promise a limit withdrew, where no run has left since: they get no new one."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is to be done now: starts in order, with reasons; promises to remember; when to ask.

    ``freed``, ``asked`` and ``unfinished`` belong to the next snapshot: what not every promise has
    been compared with yet.
    """

    starts: Mapping[int, Run]
    reasons: Mapping[int, Reason]
    promises: Mapping[int, Run]
    wake: int | None
    freed: Sequence[Freed] = ()
    asked: Mapping[int, int] = field(default_factory=dict)
    unfinished: bool = False
    stops: Mapping[int, int] = field(default_factory=dict)
    """Running jobs that are to be stopped, each with the job that starts instead."""
    blocked: Mapping[int, int] = field(default_factory=dict)
    """As in a snapshot, with the head of this pass."""
    earliest: Mapping[int, int] = field(default_factory=dict)
    """The first promised start of jobs that were the blocked head in this pass."""
    nowhere: Sequence[int] = ()
    """Waiting jobs that would not fit, or not be let in, if the site were empty."""
    withdrawn: frozenset[int] = frozenset()
    """As in a snapshot, for the next one as long as no run leaves."""
