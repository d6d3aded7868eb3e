"""A simulation on a site that is driven from outside, pass by pass: observe, start, plan."""

from __future__ import annotations

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.following import refuse_following
from shadowtime.engine.python_policy import Observer, jobs_of, note_reasons
from shadowtime.engine.site import steps
from shadowtime.engine.site.plan import in_python
from shadowtime.engine.site.python_policy import fits_of
from shadowtime.engine.site.run_tables import as_site_schedule, prepared_run, with_more_room
from shadowtime.errors import UsageError
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import ARRIVED, BIG, NEVER, NOW
from shadowtime.kernel.site import fields as sf
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Snapshot
from shadowtime.schedule import Schedule
from shadowtime.types import Ints, Reason
from shadowtime.workload import Workload
from shadowtime.workload.series import with_bounds


class SiteSession:
    """A run on a site that waits for its decisions.

    Rules
    -----
    There is a pass where a policy on a site would have one, as long as some job waits. Waiting jobs
    are named by their place in the order of arrival at the pass. The place rule is best-fit. What
    is planned holds its nodes until the session advances. A job that a limit or a closed node keeps
    waiting is neither able nor planned, and others need not wait for it.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> session = SiteSession(jobs, site)
    >>> while session.running:
    ...     for place in range(len(session.ids)):
    ...         if session.fits(place):
    ...             session.start(place)
    ...     _ = session.advance()
    >>> session.schedule().start.tolist()
    [0, 9, 2]
    """

    def __init__(self, workload: Workload, site: Site, *, name: str = "session") -> None:
        refuse_following(workload, "a session")
        self.workload, self.site = workload, with_bounds(site, workload)
        self.policy = Policy(name=name)
        chosen = in_python(self.policy, self.site, workload)._replace(plans=1)
        self._made = prepared_run(workload, self.site, self.policy.estimate, chosen)
        self.state, self._ground = self._made.state, self._made.ground
        self._observer = Observer(self.site.as_nodes(), jobs_of(workload, self.state))
        self.running = True
        """False once nothing more will happen."""
        self.rows: Ints = np.zeros(0, np.int64)
        """The rows of the waiting jobs in the tables and the workload."""
        self._started: list[int] = []
        self._planned: list[int] = []
        self.advance()

    @property
    def now(self) -> int:
        """The present instant."""
        return int(self.state.reg[NOW])

    @property
    def ids(self) -> Ints:
        """The ids of the jobs that waited when the pass began, in order of arrival."""
        found: Ints = self.workload.job_id[self.rows]
        return found

    def observe(self) -> Snapshot:
        """What is known now, as a policy written as a Python class sees it."""
        return self._observer.snapshot(self.state, fits=fits_of(self.state, self._ground))

    def able(self) -> Ints:
        """Of each job: 1 if it could start now, 0 if it has to wait for nodes, else -1.

        -1: it was started or planned at this pass, or something else than nodes keeps it.
        """
        return self._able(self.rows)

    def able_at(self, place: int) -> int:
        """The same of one job."""
        return int(self._able(np.array([self._row(place)]))[0])

    def fits(self, place: int) -> bool:
        """True if a job could start now beside all that is running or planned."""
        return self.able_at(place) > 0

    def _able(self, rows: Ints) -> Ints:
        found = np.full(len(rows), -1, np.int8)
        left = np.flatnonzero(~np.isin(rows, [*self._started, *self._planned]))
        some = np.zeros(len(left), np.int8)
        steps.fits_now(self.state, self._ground, rows[left], some)
        found[left] = some
        return found.astype(np.int64)

    def start(self, place: int) -> None:
        """Start a waiting job now; rejected if no nodes hold it or a limit forbids it."""
        row, job = self._row(place), int(self.ids[place])
        if row in self._started:
            raise UsageError(f"job {job} was started already")
        if row in self._planned:
            raise UsageError(f"job {job} is planned at this pass: start it at a later one")
        if steps.begin_job(self.state, self._ground, row, int(Reason.HEAD)) != steps.STARTED:
            raise UsageError(f"job {job} cannot start at {self.now}: no nodes are free for it")
        self._started.append(row)

    def plan(self, place: int) -> int:
        """Hold nodes for a waiting job from its earliest start on: others no longer fit there.

        Returns that start, -1 if there is none. The first one is the promise of the job.
        """
        row = self._row(place)
        if row in self._started or row in self._planned:
            raise UsageError(f"job {int(self.ids[place])} was started or planned already")
        self.state, self._ground = with_more_room(self.state, self._ground)
        start = steps.plan_job(self.state, self._ground, row)
        if start >= NEVER:
            return -1
        self._planned.append(row)
        if self.state.job[row, f.PROMISED] < 0:
            self.state.job[row, f.PROMISED] = start
        return start

    def advance(self) -> bool:
        """Go to the next pass; False when nothing more will happen."""
        made = self._made
        if not self.running:
            return False
        for row in reversed(self._planned):
            steps.drop_planned(self.state, self._ground, row)
            known, mark = self._ground.job[row], self._ground.mark
            if mark[sf.ENTRIES] == known[sf.PLACE_FROM] + known[sf.PLACE_COUNT]:
                mark[sf.ENTRIES] = known[sf.PLACE_FROM]
        if len(self.rows):
            note_reasons(self.state, self._started, self.now)
            steps.finish_pass(self.state, made.world, self._ground, made.events)
        self._started, self._planned = [], []
        while True:
            code = steps.go_to_pass(self.state, made.world, self._ground, made.events)
            if code == ROOM_NEEDED:
                self.state, self._ground = with_more_room(self.state, self._ground)
                continue
            if made.volatile and code == PASS_DUE:
                steps.update_expected(self.state, self._ground)
            arrived = int(self.state.reg[ARRIVED])
            self.running = code == PASS_DUE
            waiting = self.state.wait[f.PROCS, :arrived] != BIG
            self.rows = np.flatnonzero(waiting & self.running)
            if len(self.rows) or not self.running:
                return self.running
            steps.finish_pass(self.state, made.world, self._ground, made.events)

    def ends(self) -> Ints:
        """When each job ended, -1 while it has not."""
        over = self._ground.job[:, sf.PHASE] == sf.ENDED
        return np.where(over, self.state.job[:, f.START] + self.workload.effective_run, -1)

    def schedule(self) -> Schedule:
        """The schedule, once nothing more happens; jobs that never started have none."""
        if self.running:
            raise UsageError("the run is not over: call advance() until it returns False")
        made = self._made
        return as_site_schedule(
            self.workload, self.site, self.policy.name, (), self.state, made.world, self._ground,
            made.asks, made.node_at,
        )  # fmt: skip

    def _row(self, place: int) -> int:
        if not 0 <= place < len(self.rows):
            raise UsageError(
                f"there is no job {place} in a queue of {len(self.rows)} at {self.now}"
            )
        return int(self.rows[place])
