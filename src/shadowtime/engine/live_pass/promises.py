"""What jobs on a site were promised for good, as columns from one pass to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.live_pass.notes import ByJob
from shadowtime.engine.site.plans import Plans, Run
from shadowtime.policy.snapshot import Promise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.types import Ints


class Promises(ByJob[Promise]):
    """Promises by job: a row of plans and the checksum of the request for each.

    Examples
    --------
    >>> one = Promise("7", 90, partition="long", place=(("n1", 4),), ask=3)
    >>> kept = Promises.of({"7": one})
    >>> kept["7"] == one, kept.rows_of(["8", "7"]).tolist()
    (True, [-1, 0])
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

    def to_lists(self) -> dict[str, Any]:
        """Plain values by job: start, partition, place and the checksum of the request."""
        runs = zip(self._at, self.plans.runs(), self.ask.tolist(), strict=True)
        return {
            job: [run.start, run.partition, list(run.tasks.items()), ask] for job, run, ask in runs
        }
