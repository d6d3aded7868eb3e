"""What jobs on a site were promised for good, as columns from one pass to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shadowtime import plain
from shadowtime.engine.live_pass.notes import ByJob
from shadowtime.engine.site.plans import Plans, Run
from shadowtime.errors import InputError
from shadowtime.policy.snapshot import Promise
from shadowtime.types import Ints

WRITTEN = ("start", "partition", "width", "node", "tasks")
"""Columns of the plans in a state file; where nodes begin follows from their number."""


class Promises(ByJob[Promise]):
    """Promises by job: a row of plans and the checksum of the request for each.

    Examples
    --------
    >>> one = Promise("7", 90, partition="long", place=(("n1", 4),), ask=3)
    >>> kept = Promises.of({"7": one})
    >>> kept["7"] == one, kept.rows_of(["8", "7"]).tolist()
    (True, [-1, 0])
    >>> Promises.from_columns(kept.to_columns()) == kept
    True
    """

    __slots__ = ("ask", "plans")

    def __init__(self, ids: Sequence[str], plans: Plans, ask: Ints) -> None:
        super().__init__(dict(zip(ids, range(len(ids)), strict=True)))
        self.plans, self.ask = plans, ask

    @staticmethod
    def of(promises: Mapping[str, Promise]) -> Promises:
        """The same promises as columns."""
        if isinstance(promises, Promises):
            return promises
        runs = [Run(one.start, dict(one.place), one.partition) for one in promises.values()]
        ask = np.array([one.ask for one in promises.values()], np.int64)
        return Promises(list(promises), Plans.of(runs), ask)

    def __getitem__(self, job: str) -> Promise:
        at = self._at[job]
        run = self.plans.take(np.array([at])).runs()[0]
        return self._promise(job, run, int(self.ask[at]))

    def _promise(self, job: str, run: Run, ask: int) -> Promise:
        place = tuple(run.tasks.items())
        return Promise(job, run.start, partition=run.partition, place=place, ask=ask)

    def to_columns(self) -> dict[str, list[Any]]:
        """Plain values for a state file: lists of whole numbers are written ten times faster than
        a list for each job."""
        plans = self.plans.take(np.arange(len(self)))
        return {
            "jobs": list(self._at),
            "ask": self.ask.tolist(),
            **{name: getattr(plans, name).tolist() for name in WRITTEN},
            "names": list(plans.names),
            "partitions": list(plans.partitions),
        }

    @staticmethod
    def from_columns(values: Mapping[str, Any]) -> Promises:
        """The promises that :meth:`to_columns` wrote; InputError names the column that is wrong."""

        def texts(name: str) -> tuple[str, ...]:
            found = plain.items(plain.entry(values, name), f"{name} of the promises")
            return tuple(plain.text(one, f"{name} of the promises") for one in found)

        def numbers(name: str, count: int, high: int = plain.LARGEST) -> Ints:
            column = f"{name} of the promises"
            found = plain.wholes(plain.entry(values, name), column, low=0, high=high)
            if len(found) != count:
                raise InputError(f"{column} must have {count} numbers, not {len(found)}")
            return np.array(found, np.int64)

        jobs, names, partitions = texts("jobs"), texts("names"), texts("partitions")
        if len(set(jobs)) < len(jobs):
            raise InputError("jobs of the promises must not name a job twice")
        width = numbers("width", len(jobs), high=len(names))
        nodes = int(width.sum())
        plans = Plans(
            start=numbers("start", len(jobs)),
            partition=numbers("partition", len(jobs), high=len(partitions) - 1),
            first=np.cumsum(width) - width,
            width=width,
            node=numbers("node", nodes, high=len(names) - 1),
            tasks=numbers("tasks", nodes),
            names=names,
            partitions=partitions,
        )
        return Promises(jobs, plans, numbers("ask", len(jobs)))
