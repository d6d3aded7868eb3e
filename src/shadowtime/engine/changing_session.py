"""A simulation of jobs that change which is driven from outside: observe, resize, advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.changing import Run
from shadowtime.engine.events import PASS_DUE
from shadowtime.engine.following import refuse_following
from shadowtime.engine.run_tables import refuse_unfit
from shadowtime.engine.session import Observation
from shadowtime.errors import UsageError
from shadowtime.kernel import changing as g
from shadowtime.kernel.choice import COLUMNS, HOW, PENDING, STEPPING, Free, Queue
from shadowtime.kernel.registers import ARRIVED, NOW
from shadowtime.policy.changing import Resized, speeds_of
from shadowtime.policy.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload


def keep_sizes(now: int, jobs: Queue, free: Free) -> None:
    """Stands in for the function: the session decides."""


class ChangingSession:
    """A run of jobs that change which waits for its decisions (spec: changing 3).

    Rules
    -----
    There is a pass at every submission and end. ``observe`` shows all jobs that are submitted and
    not over, in order of arrival, in the columns of ``st.resize``; what is not given another size
    or speed keeps what it has. ``resize`` may be called in any order: only when the session
    advances must all sizes together fit. Run times are never shown.

    Examples
    --------
    >>> import numpy as np
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[2, 2], extra={
    ...     "serial": np.array([0.0, 0.0])})
    >>> session = ChangingSession(jobs, Cluster.pool(4))
    >>> while session.running:
    ...     for place in range(len(session.ids)):
    ...         session.resize(place, 0 if place else 4)
    ...     _ = session.advance()
    >>> session.schedule().end.tolist()
    [5, 8]
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        *,
        speeds: Mapping[float, float] | None = None,
        name: str = "session",
    ) -> None:
        refuse_following(workload, "a session")
        refuse_unfit(workload, cluster)
        part = Resized(function=keep_sizes, compiled=False, speeds=speeds_of(speeds))
        self.workload, self.cluster, self.procs = workload, cluster, cluster.procs
        self._run = Run.of(workload, cluster, Policy(name=name, backfill=part))
        self._run.asking.choice.mark[HOW] = STEPPING
        self.running = True
        """False once all jobs have ended."""
        self.advance()

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self._run.tables.reg[NOW])

    @property
    def speeds(self) -> list[int]:
        """The declared speeds, the first being that of waiting jobs."""
        part: Any = self._run.policy.backfill
        return [speed for speed, _ in part.speeds]

    @property
    def all_came(self) -> bool:
        """True if no job will be submitted any more."""
        return int(self._run.tables.reg[ARRIVED]) == len(self.workload)

    @property
    def ids(self) -> Ints:
        """The ids of the jobs that are there, in order of arrival."""
        count = int(self._run.asking.choice.mark[PENDING])
        found: Ints = self.workload.job_id[self._run.tables.here[:count]]
        return found

    @property
    def sizes(self) -> Ints:
        """What the jobs are to have from now on: the processors of each."""
        chosen: Ints = self._column(g.SIZE_)
        return chosen

    @property
    def left(self) -> Ints:
        """What no job is to have from now on, processors first; suspended jobs keep the rest."""
        tables, count = self._run.tables, len(self.ids)
        taken = tables.need[tables.here[:count]] * (self.sizes > 0)[:, None]
        taken[:, 0] = np.where(self._column(g.SPEED_) > 0, self.sizes, 0)
        found: Ints = tables.there - taken.sum(axis=0)
        return found

    @property
    def runs(self) -> AnyArray:
        """Which of the jobs run, also suspended ones."""
        return (self._column(g.HELD) > 0) | (self._column(g.SUSPENDED_) > 0)

    def observe(self) -> Observation:
        """What is known now."""
        chooser = self._run.asking.chooser
        return Observation(self.now, chooser.queue(len(self.ids)), chooser.free())

    def resize(self, place: int, procs: int, speed: int | None = None) -> None:
        """Give a job so many processors from now on, and a speed.

        With 0 processors it waits or is stopped, at the speed 0 a running one is suspended.
        """
        if not 0 <= place < len(self.ids):
            raise UsageError(f"there is no job {place} among the {len(self.ids)} at {self.now}")
        least, most = (int(self._column(column)[place]) for column in (g.LEAST_, g.MOST_))
        job = int(self.ids[place])
        if procs != 0 and not least <= procs <= most:
            raise UsageError(
                f"job {job} cannot have {procs} processors: it may have {least} to {most}, or 0 to "
                "wait"
            )
        if speed is not None and speed not in (*self.speeds, 0):
            raise UsageError(f"job {job} cannot have the speed {speed}: declared are {self.speeds}")
        if speed == 0 < procs and not self.runs[place]:
            raise UsageError(f"job {job} cannot have the speed 0: only running jobs are suspended")
        self._column(g.SIZE_)[place] = procs
        if speed is not None:
            self._column(g.SPEED_)[place] = speed

    def advance(self) -> bool:
        """Carry out what was given, and go to the next pass; False when all jobs have ended."""
        if not self.running:
            return False
        for name, left, there in zip(
            self.cluster.resources, self.left.tolist(), self._run.tables.there.tolist(), strict=True
        ):
            if left < 0:
                what = "sizes together are" if name == "procs" else "jobs together hold"
                unit = "processors" if name == "procs" else name
                raise UsageError(
                    f"all {what} {there - left} {unit} at {self.now}, and the pool has {there}: "
                    "shrink or stop a job first"
                )
        self.running = self._run.go_on() == PASS_DUE
        return self.running

    def ends(self) -> Ints:
        """When each job ended, -1 while it has not."""
        found: Ints = self._run.tables.job[:, g.END].copy()
        return found

    def schedule(self) -> Schedule:
        """The schedule, once all jobs have ended."""
        if self.running:
            raise UsageError("the run is not over: call advance() until it returns False")
        return self._run.schedule()

    def _column(self, which: int) -> Ints:
        choice = self._run.asking.choice
        found: Ints = choice.column[COLUMNS + which, : int(choice.mark[PENDING])]
        return found
