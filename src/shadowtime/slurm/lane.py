"""Runs between passes without Python: loads the tables of a run, and tells what happened there.

While only ordinary things happen, jobs start and end in kernel/slurm/run.py. Python submits jobs
and ticks priorities meanwhile. For all else (arrays, licences, dependencies, preemption, nodes that
fail, reservations) the loop gets its own objects back, and goes on by itself for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import run as r
from shadowtime.slurm.run_state import RunState

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.loop import Loop
    from shadowtime.slurm.queue import Record

PAUSE, LONGEST = 64, 1 << 16
"""Events that the loop carries out itself before the tables are loaded again: twice as many each
time that fewer happened in the tables than it takes to load them."""
MOST_GONE = 4096
"""Jobs that have started, before the loop's own lists are brought up to date."""
STRIDE = 1 << 40
"""Turns after which Python looks how far the run is, where nobody wants to know."""


class Pass(NamedTuple):
    """A pass that Python goes on with."""

    kind: str
    full: bool
    asked: int
    records: list[Record]
    time: float
    notes: int
    started: int
    """Jobs that it has started so far."""
    waited: int


class Lane(RunState):
    """Runs on in the tables, as long as what happens is ordinary."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop)
        self.pause, self.rest, self.since = 0, PAUSE, 0
        """Events until the next load, as many as the next time, and the last one before the load.
        """
        self.usual = self._is_usual()
        if self.usual:
            self.write_rules()

    def leave(self) -> None:
        """As of a state; the loop goes on by itself for a while."""
        state = self.loop.state
        events = int(self.books.reg["number"][0]) - self.since
        super().leave()
        worth = events > len(state.running) + len(state.waiting)
        self.rest = PAUSE if worth else min(2 * self.rest, LONGEST)
        self.pause = self.rest

    def load(self) -> None:
        """As of a state."""
        times = self.loop.times  # others than before, in a run that was continued
        self.books = self.books._replace(reg=times.reg, clock=times.clock)
        self.write_rules()
        super().load()
        self.since = int(self.books.reg["number"][0])
        if self.loop.watched is None:
            times.reg["budget"] = STRIDE

    def _is_usual(self) -> bool:
        """The site and its settings have nothing that passes ask Python about at every job."""
        state = self.loop.state
        wish, accounts, machine = state.parameters, state.accounts, state.machine
        bounds = (
            wish.bf_min_prio_reserve, wish.bf_min_age_reserve, wish.bf_running_job_reserve,
            wish.bf_one_resv_per_job, wish.bf_job_part_count_reserve, wish.bf_max_job_user,
            wish.bf_max_job_part, wish.bf_max_job_assoc, wish.bf_max_job_user_part,
            wish.bf_max_job_start, wish.sched_max_job_start, wish.assoc_limit_stop,
        )  # fmt: skip
        flags = frozenset[str]().union(*accounts.flags.values())
        return not (
            any(bounds)
            or not state.chooser.shortcuts
            or state.queue is None
            or self.loop.depends is not None
            or state.preemption.gang
            or state.board.any_owner
            or machine.pools
            or machine.weights_stay
            or accounts.bounds_any_minutes
            or accounts.bounds_run_minutes
            or accounts.bounds_ageing
            or flags & {"partitiontimelimit", "noreserve"}
            or any(node.cores * node.threads != node.cpus for node in machine.nodes)
            or any(node.gpus > 62 for node in machine.nodes)
        )

    def is_odd(self, job: Job) -> bool:
        """Passes ask Python about the job."""
        ask, state = job.ask, self.loop.state
        if job.tasks or job.licences or job.reservation or job.evicted_at is not None:
            return True
        if ask.either or ask.parts or ask.required or ask.own_user:
            return True
        return bool(job.least_time and state.parameters.rules.limit_raised)

    def may_begin(self) -> bool:
        """The loop's state may be loaded now: nothing odd waits or runs."""
        self.pause -= 1
        if not self.usual or self.pause > 0:
            return False
        loop = self.loop
        state = loop.state
        self.pause = self.rest
        if state.windows or any(map(self.is_odd, loop.waiting.values())):
            return False
        odd = any(
            job.licences or job.array or job.suspended_at is not None for job in state.running
        )
        return not odd

    def submitted(self, job: Job) -> None:
        """A job came into the queue while the tables were in use."""
        if len(self.gone) > MOST_GONE:
            self.tell()
            self.forget_gone()
        self.note_kinds(job)
        self.enter(job)
        self.entered[job.id] = int(self.books.reg["tests"][0])
        if self.counted != self.kinds():
            self.recount()

    def tick(self, time: float) -> float:
        """PriorityCalcPeriod: usage and all priorities; returns the next tick."""
        loop, books = self.loop, self.books
        self.tell()
        self.note_tested()
        priorities, queue = loop.priorities, loop.state.queue
        assert queue is not None
        runner = books.runner[books.by_record[: books.reg["running"][0]]]
        branch = books.waiter["branch"][runner["slot"]]
        rows = queue.rows[: len(queue)]
        ids = rows[:, k.Q_ID]
        following, found = priorities.ticked(
            time,
            (branch, runner["billing"], runner["start"].astype(np.float64)),
            ids.tolist(),
            keep=[job.id for job in queue.nowhere],
        )
        rows[:, k.Q_PRIORITY] = found
        return following

    def run(self) -> Pass | None:
        """On to where the loop must go on by itself; the tables are in use no more then."""
        loop, books = self.loop, self.books
        events = loop.events
        while True:
            books, reg, clock = self.books, self.books.reg, self.books.clock
            clock["python"], reg["only_periodic"] = events.next_time, events.only_periodic
            reg["number"] = events.number
            board = loop.state.board
            queue = loop.state.queue
            assert queue is not None
            if books.queue is not queue.rows or books.size is not queue.size:
                books = self.books = books._replace(queue=queue.rows, size=queue.size)
            if board.board.met is not loop.state.accounts.met.numbers:
                board.board = board.board._replace(met=loop.state.accounts.met.numbers)
            what = board.run(books)
            events.number = int(reg["number"][0])
            if reg["kind"][0] == k.NO_PASS and what in (r.MAKE_ROOM, r.EVENT):
                reg["budget"] += 1  # this turn is not over
            if what == r.MAKE_ROOM:
                self.make_room()
            elif what == r.ORDER:
                board.lay_out(queue, loop.state)
                reg["written"] = queue.version
            elif what == r.EVENT and self._carry_out():
                continue
            elif what == r.LOOK:
                watched = loop.watched
                reg["budget"] = STRIDE if watched is None else watched.watch.stride + 1
                if watched is not None and watched.due:
                    self.leave()
                    loop.report(watched)
                    return None
            elif what == r.HAND_OVER:
                return self._hand_over()
            elif what in (r.DONE, r.EVENT):
                self.leave()
                return None

    def _carry_out(self) -> bool:
        """The next event of Python's, where the tables may stay in use."""
        loop, events = self.loop, self.loop.events
        event = events.peek()
        if event.kind == "submit" and not self.is_odd(event.what):
            events.pop()
            loop.times.until_look -= 1
            loop.times.quiet_until = 0
            loop.submitted_in_lane(event.time, event.what)
            return True
        if event.kind == "tick":
            events.pop()
            loop.times.until_look -= 1
            loop.times.quiet_until = 0
            loop.ticked_in_lane(event.time)
            return True
        return False

    def _hand_over(self) -> Pass:
        loop, reg, board = self.loop, self.books.reg, self.loop.state.board
        queue = loop.state.queue
        assert queue is not None
        mark = board.board.mark
        laid = board.board.queue[: mark[b.RECORDS], [b.ROW, b.SLOT]]
        made = Pass(
            kind="main" if reg["kind"][0] == k.MAIN else "backfill",
            full=bool(reg["full"][0]),
            asked=int(reg["asked"][0]),
            records=queue.listed(laid),
            time=float(self.books.clock["time"][0]),
            notes=int(reg["notes"][0]) + loop.state.accounts.met.changes,
            started=int(reg["started"][0]),
            waited=int(reg["waited"][0]),
        )
        for slot in self.books.started[: made.started].tolist():
            queue.take_out(loop.state, self.jobs[slot])
        reg["kind"] = reg["stage"] = 0
        self.leave()
        mark[b.ENDS] = mark[b.TABLE_ENDS] = -1
        return made
