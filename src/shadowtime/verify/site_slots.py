"""The slow reference for functions in slots on a site, from docs/guides/your-own-policy.md alone.

A function gets the guide's job record, and the memory of the job's user. The
passes of site.py ask here wherever a policy may bring a function.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from shadowtime.verify.slots import Function, Functions, Predictions


class Asked:
    """A policy's functions along one run: their memory, and the questions that a pass asks."""

    def __init__(self, functions: Functions, world: Any) -> None:
        self.do, self.world = functions, world
        self.memory: dict[Any, list[float]] = {}
        self.estimates = Predictions(functions.predict, world.jobs)
        self.ticked: int | None = None

    def row_of_memory(self, user: int) -> list[float]:
        return self.memory.setdefault("all" if self.do.shared else user, [0.0] * 4)

    def seen(self, row: int, run: Any = None) -> SimpleNamespace:
        """The job record."""
        world = self.world
        job = world.jobs[row]
        return SimpleNamespace(
            submit=job.submit,
            wait=world.now - job.submit,
            request=job.request,
            estimate=world.estimate(row) if run is None else run.estimate,
            procs=world.procs(row),
            user=job.user,
            start=-1 if run is None else run.start,
            ran=0 if run is None else world.now - run.start,
            promised=world.promised.get(row, -1),
            blocked_at=world.blocked.get(row, -1),
        )

    def call(self, function: Function, row: int, *more: Any, run: Any = None) -> Any:
        user = self.row_of_memory(self.world.jobs[row].user)
        return function(self.world.now, self.seen(row, run), user, *more)

    # -- questions of a pass
    def may_overtake(self, row: int) -> bool:
        return self.do.test is None or bool(self.call(self.do.test, row))

    def gets_plan(self, row: int) -> bool:
        return self.do.reserve is None or bool(self.call(self.do.reserve, row))

    def not_before(self, row: int, start: int) -> int:
        """The instant before which the plan must not begin."""
        if self.do.plan is None:
            return start
        return max(start, int(self.call(self.do.plan, row, float(start))))

    # -- news of an instant: ends, submissions, then timers; starts behind the pass
    def tick(self, until: int) -> None:
        every, function = self.do.learn.get("timer", (1 << 40, None))
        if self.ticked is None:  # the first instant
            self.ticked = self.world.now
        for when in range((self.ticked // every + 1) * every, until + 1, every):
            users = {"all"} if self.do.shared else {job.user for job in self.world.jobs}
            for user in users:
                function(when, self.memory.setdefault(user, [0.0] * 4))
        self.ticked = max(self.ticked, until)

    def ended(self, row: int, run: Any) -> None:
        if "end" in self.do.learn:
            self.call(self.do.learn["end"], row, run=run)

    def submitted(self, row: int) -> None:
        job = self.world.jobs[row]
        if self.do.predict is not None:
            number = math.floor(self.call(self.do.predict, row) + 0.5)
            self.estimates.guess[job.id] = int(max(1, min(job.request, number)))
        if "submit" in self.do.learn:
            self.call(self.do.learn["submit"], row)

    def started(self, rows: list[int]) -> None:
        if "start" in self.do.learn:
            for row in rows:
                self.call(self.do.learn["start"], row, run=self.world.last[row])
