"""A simulation that is driven from outside, pass by pass: observe, start, advance.

The loop is that of the pass which lets a function choose (passes/select.py); it stops where the
function would be called.
"""

from __future__ import annotations

from typing import NamedTuple

from shadowtime.cluster import Cluster
from shadowtime.engine.custom import own_of
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.failures import raise_failure
from shadowtime.engine.following import refuse_following
from shadowtime.engine.passes.select import run
from shadowtime.engine.plan import prepare
from shadowtime.engine.python_policy import Sizes
from shadowtime.engine.run_tables import as_schedule, refuse_unfit, with_more_room
from shadowtime.errors import PolicyError, UsageError
from shadowtime.kernel.choice import HOW, PENDING, STEPPING, Free, Queue, earliest, occupy
from shadowtime.kernel.fields import ESTIMATE, NEED, REQUEST, START
from shadowtime.kernel.registers import NOW, VOLATILE
from shadowtime.kernel.state import build
from shadowtime.policy.backfill import Selected
from shadowtime.policy.order import Fcfs, Order
from shadowtime.policy.policy import Policy
from shadowtime.schedule import Schedule
from shadowtime.types import Ints
from shadowtime.workload import Workload
from shadowtime.workload.series import bounded_amounts


def refuse_bounds(workload: Workload, where: str) -> None:
    """Reject series that bound an amount where nothing would keep them."""
    if bounded := bounded_amounts(workload):
        raise UsageError(
            f"the series {bounded[0]} is a bound that changes over time, which {where} on a pool "
            "does not keep: describe the machine as a site, or leave the series out"
        )


def start_none(now: int, jobs: Queue, free: Free) -> None:
    """Stands in for the function: the session decides."""


class Observation(NamedTuple):
    """What is known at a pass: arrays that are valid until the session advances."""

    now: int
    jobs: Queue
    """The waiting jobs in order, a column a field (``st.select`` lists them)."""
    free: Free
    """What will be free from now on, for ``st.earliest``, ``st.occupy`` and ``st.release``."""


class Session:
    """A run that waits for its decisions.

    Rules
    -----
    There is a pass at each instant at which jobs end, arrive or are planned to start and some job
    waits. ``observe`` shows the queue; its jobs are named by their place in it. ``start`` takes
    what a job needs out of ``free``, for its whole estimate. ``advance`` goes to the next pass,
    False when all jobs have ended. Run times are never shown.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> session = Session(jobs, Cluster.pool(4))
    >>> while session.running:
    ...     seen = session.observe()
    ...     for i in range(len(seen.jobs.procs)):
    ...         if session.fits(i):
    ...             session.start(i)
    ...     _ = session.advance()
    >>> session.schedule().start.tolist()
    [0, 9, 2]
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        *,
        order: Order | None = None,
        name: str = "session",
    ) -> None:
        part = Selected(start_none, compiled=False)
        self.policy = Policy(name=name, order=order or Fcfs(), backfill=part)
        self.workload = workload
        refuse_following(workload, "a session")
        refuse_unfit(workload, cluster)
        self._state, self._world = build(workload, cluster, estimate=workload.request)
        self._state.reg[VOLATILE] = bool((workload.effective_run > workload.request).any())
        self._sizes = Sizes(workload, self._world)
        self._own = own_of(self.policy, workload)
        self._made = prepare(self.policy, cluster, len(workload), self._own)
        self._choice = self._made.arguments[1]
        self._choice.mark[HOW] = STEPPING
        self._free: Free = self._own.chooser.free()
        self.running = True
        """False once all jobs have ended."""
        self.advance()

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self._state.reg[NOW])

    @property
    def ids(self) -> Ints:
        """The ids of the waiting jobs in order."""
        found: Ints = self.workload.job_id[self._choice.jobs[: self._choice.mark[PENDING]]]
        return found

    def observe(self) -> Observation:
        """What is known now."""
        return Observation(self.now, self._jobs, self._free)

    def fits(self, place: int) -> bool:
        """True if a job fits now, for its whole estimate, beside all that is running or planned."""
        jobs = self._job(place)
        if (jobs.need[place] > self._free.level[0]).any():
            return False
        return bool(earliest(self._free, jobs.need[place], int(jobs.estimate[place])) == self.now)

    def resize(self, place: int, procs: int) -> None:
        """Give a moldable waiting job another size, by its speed-up (workload/speedup.py).

        Its columns procs, need, request and estimate are then those of that size.
        """
        jobs, row = self._job(place), int(self._choice.jobs[place])
        why = self._sizes.resize(self._state, row, procs)
        if why:
            raise UsageError(f"job {int(self.ids[place])} cannot have {procs} processors: {why}")
        known = self._state.job[row]
        jobs.procs[place] = jobs.need[place, 0] = known[NEED]
        jobs.request[place], jobs.estimate[place] = known[REQUEST], known[ESTIMATE]

    def start(self, place: int, procs: int | None = None) -> None:
        """Start a waiting job now; rejected if it does not fit into what is free at this instant.

        ``procs`` gives a moldable job another size first.
        """
        if procs is not None:
            self.resize(place, procs)
        jobs, free = self._job(place), self._free
        job = int(self.ids[place])
        if jobs.start[place]:
            raise UsageError(f"job {job} was started already")
        if (jobs.need[place] > free.level[0]).any():
            raise UsageError(f"job {job} does not fit into what is free at {self.now}")
        jobs.start[place] = 1
        occupy(free, jobs.need[place], self.now, self.now + int(jobs.estimate[place]))

    def plan(self, place: int, when: int) -> None:
        """Reserve for a waiting job: others no longer fit there, and there is a pass then."""
        jobs = self._job(place)
        jobs.due[place] = when
        if jobs.promised[place] < 0:
            jobs.promised[place] = when
        occupy(self._free, jobs.need[place], when, when + int(jobs.estimate[place]))

    def earliest(self, place: int) -> int:
        """When a waiting job could start, beside all that is running or planned."""
        jobs = self._job(place)
        return int(earliest(self._free, jobs.need[place], int(jobs.estimate[place])))

    def advance(self) -> bool:
        """Go to the next pass; False when all jobs have ended."""
        if not self.running:
            return False
        arguments = self._made.arguments
        while (code := int(run(self._state, self._world, *arguments))) == ROOM_NEEDED:
            self._state = with_more_room(self._state)
        raise_failure(self.policy, code, self._state, self._own, self._name_of)
        self.running = code == PASS_DUE
        self._jobs: Queue = self._own.chooser.queue(int(self._choice.mark[PENDING]))
        return self.running

    def _name_of(self, job: int) -> str:
        return str(self.workload.job_id[job])

    def _job(self, place: int) -> Queue:
        waiting = len(self._jobs.procs)
        if not 0 <= place < waiting:
            raise UsageError(f"there is no job {place} in a queue of {waiting} at {self.now}")
        return self._jobs

    def schedule(self) -> Schedule:
        """The schedule, once all jobs have ended."""
        if self.running:
            raise UsageError("the run is not over: call advance() until it returns False")
        left = self.workload.job_id[self._state.job[:, START] < 0]
        if len(left):
            raise PolicyError(
                f"{self.policy.name} never started job {int(left[0])}: nothing is left to wait for"
            )
        made = self._sizes.as_started(self._state)
        return as_schedule(made, self._state, self._world, name=self.policy.name, claims=())
