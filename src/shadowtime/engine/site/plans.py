"""Where jobs run or are promised to, and from when on: as columns, and one by one by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shadowtime.types import AnyArray, Ints

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
