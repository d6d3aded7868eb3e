"""A run of slurmctld event by event: submissions, ends, both passes, preemption, drains."""

from __future__ import annotations

import gc
import math
import operator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.watch import Watched
from shadowtime.slurm.backfill import BackfillPass, backfill_pass
from shadowtime.slurm.event_queue import RANKS, EventQueue
from shadowtime.slurm.from_site import changes_of, requeue_delay, setting, state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.kept_queue import KeptQueue
from shadowtime.slurm.lane import Lane, Pass
from shadowtime.slurm.latency import BY_MAIN
from shadowtime.slurm.main_pass import MainPass, main_pass
from shadowtime.slurm.outcome import Allocation, Outcome, SlurmRun
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.pass_times import PassTimes
from shadowtime.slurm.phase import RUN_STEP
from shadowtime.slurm.priority import RunPriorities
from shadowtime.slurm.put_off import evicted, rotate
from shadowtime.slurm.saved import restore, saved
from shadowtime.slurm.state import SlurmState
from shadowtime.slurm.submissions import Dependencies, submissions
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from shadowtime.slurm.phase import Phase

LIMIT_CHECK = 30
"""Seconds between two checks of time limits."""


class Loop:
    """The clock and everything that waits for it."""

    def __init__(
        self,
        workload: Workload,
        site: Site,
        requests: Requests,
        phase: Phase,
        parameters: Parameters,
        shortcuts: bool,
        compiled: bool,
        opening: int,
        watched: Watched | None = None,
        usage_at: int = 0,
    ) -> None:
        self.watched = watched
        self.workload, self.site, self.requests, self.phase = workload, site, requests, phase
        plain = state_of(site)
        self.state = SlurmState.of(
            plain.machine,
            parameters,
            accounts=plain.accounts,
            preemption=plain.preemption,
            licences=plain.licences,
            shortcuts=shortcuts,
            compiled=compiled,
        )
        if shortcuts:
            self.state.queue = KeptQueue(compiled=compiled)
        count = len(workload)
        self.out = SlurmRun([-1] * count, [-1] * count, [0] * count, [""] * count)
        self.events = EventQueue()
        self.waiting: dict[int, Job] = {}
        self.rows: dict[tuple[int, int | None], int] = {}
        """(record, task) to row."""
        self.over = 0
        """Jobs that have ended."""
        self.begun: set[int] = set()
        """Rows of jobs that have started and are not in ``over_in``."""
        self.over_in: list[bytes] = []
        """Jobs that are over, as checkpoints packed them (saved.py)."""
        self.row_of: dict[int, int] = {}
        """Running record to row."""
        self.ready: dict[int, float] = {}
        self.ends: dict[int, float] = {}
        self.left: dict[int, float] = {}
        """Seconds of work that suspended records have left."""
        self.last_priority = 0
        """Of the job that was submitted last."""
        self.opening = opening
        self.usage_at = opening + usage_at
        self.times = PassTimes(
            parameters=parameters, opening=opening, tick=phase.main, backfill=phase.backfill
        )
        by = workload.extra.get("started_by", np.zeros(count))
        self.longer = np.where(by == BY_MAIN, phase.ran_longer, 0.0).tolist()
        """Seconds that jobs ran longer than the log records."""
        self.world_at = 0
        """When nodes or reservations changed last."""
        self.leaving: list[int] = []
        """Nodes that have not answered after an end, one mask per job."""
        self.idle_passes = 0
        self.builtin = setting(site.config, "SchedulerType").endswith("builtin")
        self.priorities = RunPriorities(site, self.state.accounts)
        self.depends = Dependencies(workload, requests) if requests.dependencies else None
        self.requeue_after = requeue_delay(site)
        self.lane = Lane(self)
        """Runs what is ordinary, where it may."""

    def run(self) -> SlurmRun:
        """From the first submission, or a checkpoint, to the last end."""
        self._open()
        watched = self.watched
        if watched is not None and (raw := watched.found()) is not None:
            restore(self, raw)
        frozen = gc.get_freeze_count() > 0  # by somebody else, who lets go of it
        if not frozen:
            gc.freeze()  # Python need not look through these jobs again and again
        try:
            self._go_on()
        finally:
            if not frozen:
                gc.unfreeze()
        return self.out

    def _go_on(self) -> None:
        """Event by event, until nothing is left to happen."""
        times, events, watched = self.times, self.events, self.watched
        times.until_look = 0
        carry_out = {kind: getattr(self, f"_on_{kind}") for kind in RANKS}
        while events or not times.idle or (self.waiting and self.running):
            if self._over():
                break
            if self.lane.may_begin():
                self.lane.load()
                left = self.lane.run()
                if left is not None:
                    self._go_on_with(left)
                continue
            main = times.main
            if watched is not None:
                times.until_look -= 1
                if times.until_look < 0:
                    times.until_look = watched.watch.stride
                    if watched.due:
                        self.report(watched)
            if events.next_time <= min(main, times.next_backfill):
                event = events.pop()
                times.quiet_until = 0
                carry_out[event.kind](event.time, event.what)
            elif main <= times.next_backfill:
                self._main(main)
            else:
                self._backfill(times.next_backfill)

    def report(self, watched: Watched) -> None:
        """How far the run is."""
        times = self.times
        now = min(self.events.next_time, times.main, times.next_backfill) - self.opening
        watched.look(now, self.over, partial(saved, self))

    def _open(self) -> None:
        """What is known before the first event: submissions, cancellations, changes of nodes."""
        machine = self.state.machine
        made = submissions(self.workload, self.requests, self.site, self.state, self.phase)
        self.rows = made.rows
        self.state.records = len(self.workload)
        for when, job in made.arrivals:
            self.events.at(when, "submit", job)
        for row, cancelled in enumerate(self.requests.cancel_at.tolist()):
            if cancelled >= 0:
                self.events.at(float(cancelled), "cancel", row)
        for moment, change in changes_of(self.site, machine, self.workload.epoch or 0):
            self.events.at(moment, "world", change)
        first = self.priorities.first_tick(
            epoch=self.workload.epoch, opening=self.usage_at, offset=self.phase.tick
        )
        if first is not None:
            self.events.at(first, "tick")
            if self.state.accounts.bounds_minutes:
                self.events.at(self.opening + LIMIT_CHECK * self.phase.tick, "sweep")
        self.opened, self.first_rows = self.events.number, len(self.rows)
        self.asks = list({id(job.ask): job.ask for _, job in made.arrivals}.values())

    def _over(self) -> bool:
        """Only ticks and passes are left, and nothing runs: jobs that wait will never start."""
        idle = self.idle_passes > 2 or self.times.asleep
        return self.events.only_periodic and not self.running and self.times.idle and idle

    @property
    def running(self) -> bool:
        """A job runs."""
        return bool(self.state.running)

    def _on_world(self, time: float, what: tuple[str, Any]) -> None:
        self.world_at = math.ceil(time)
        kind, value = what
        if kind == "down":
            self.state.up &= ~value
        elif kind == "up":
            self.state.up |= value
        elif kind == "reserve":
            self.state.windows = (*self.state.windows, value)
        self.times.work(time)

    def _on_tick(self, time: float, _: None) -> None:
        """Usage is charged, and the queue sorted by new priorities."""
        following = self.priorities.tick(time, self.state.running, self.waiting.values())
        queue = self.state.queue
        if queue is not None:
            queue.rank_again()
        if queue is None or queue.sort_again(self.state) or self._rests_on_ticks():
            self.times.fresh = True
        if self.waiting:
            self.times.wake(time)
        self.events.at(following, "tick")

    def ticked_in_lane(self, time: float) -> None:
        """As :meth:`_on_tick`, while the lane has the state."""
        queue = self.state.queue
        assert queue is not None
        following = self.lane.tick(time)
        if queue.sort_again(self.state):
            self.times.fresh = True
        if self.times.reg["waiting"][0] > 0:
            self.times.wake(time)
        self.events.at(following, "tick")

    def submitted_in_lane(self, time: float, job: Job) -> None:
        """As :meth:`_on_submit`, while the lane has the state."""
        self.last_priority = job.priority
        self._on_ready(time, job)
        self.priorities.entered.clear()
        self.lane.submitted(job)

    def _rests_on_ticks(self) -> bool:
        """What a main pass finds rests on more than the order of priorities, or on the time."""
        accounts = self.state.accounts
        if accounts.bounds_any_minutes or accounts.bounds_run_minutes:
            return True
        if self.state.parameters.bf_min_prio_reserve or self.state.parameters.bf_min_age_reserve:
            return True
        each = self.waiting.values()
        return any(job.ask.required or job.evicted_at is not None for job in each)

    def _on_sweep(self, time: float, _: None) -> None:
        """The check of time limits: jobs whose GrpTRESMins is used up are killed.

        spec: slurm 6.5.
        """
        for job in list(self.state.running):
            if self.state.accounts.used_up(job):
                self.ends[job.id] = time
                self._on_end(time, (job.id, time), killed=True)
        self.events.at(time + LIMIT_CHECK, "sweep")

    def _on_submit(self, time: float, job: Job) -> None:
        self.last_priority = job.priority
        if self.depends is None:
            self._on_ready(time, job)
        else:
            rows = [self.rows[job.id, task] for task in job.tasks or (None,)]
            self.depends.hold(job, rows)
            self.look_at_dependents(time)

    def look_at_dependents(self, time: float) -> None:
        """A job arrived, started, ended or left: jobs that wait for no other enter the queue."""
        if self.depends is not None:
            kill = self.state.parameters.kill_invalid_depend
            for job in self.depends.released(kill_invalid=kill):
                self._on_ready(time, job)

    def _on_ready(self, time: float, job: Job) -> None:
        if job.is_array:  # tasks may run already where a run continues the present
            job.started_tasks = sum(one.array == job.id for one in self.state.running)
        self.waiting[job.id] = job
        self.state.waiting.append(job)
        self.priorities.enter(job, math.floor(time))
        if self.state.queue is not None:
            self.state.queue.put(self.state, job)
        self.times.work(time)

    def _on_cancel(self, time: float, row: int) -> None:
        begun = self.out.start[row] >= 0 or row in self.row_of.values()
        if self.depends is not None and not begun:
            self.depends.leave(row)
            self.look_at_dependents(time)
        for job in list(self.waiting.values()):
            task = next((one for one in job.tasks if self.rows.get((job.id, one)) == row), None)
            if task is not None:
                job.tasks.remove(task)
                if not job.tasks:
                    self._drop({job.id})
            elif not job.tasks and self.rows.get((job.id, None)) == row:
                self._drop({job.id})
        self.times.note(time)  # it may have stood before others

    def _drop(self, ids: set[int]) -> None:
        """Remove jobs from the queue."""
        for number in ids:
            job = self.waiting.pop(number)
            self.state.waiting = [one for one in self.state.waiting if one is not job]
            if self.state.queue is not None:
                self.state.queue.take_out(self.state, job)

    def _main(self, time: float) -> None:
        """The main pass where there is work; every sched_interval over the whole queue.

        spec: slurm 1.2.
        """
        work, full = self.times.begin_main(time)
        if work or (self.waiting and (self.times.fresh or not self.state.repeats_itself)):
            self._pass(time, "main", full=full)

    def _backfill(self, time: float) -> None:
        """A backfill pass, where anything has changed since the last one (spec: slurm 1.5)."""
        times = self.times
        if not times.begin_backfill(time, waiting=bool(self.waiting)):
            return
        if not self.running and times.idle:
            self.idle_passes += 1
        else:
            self.idle_passes = 0
        if self.builtin or not self.waiting or math.floor(time) < times.quiet_until:
            return
        if times.changed or not self.state.chooser.shortcuts:
            self._pass(time, "backfill")

    def _pass(self, time: float, kind: str, *, full: bool = False) -> None:
        state = self.state
        now = math.floor(time)
        self.out.passes += 1
        tests = kind == "backfill" or self.builtin
        self.priorities.before_pass(self.waiting, now, tests=tests)
        notes = state.board.notes(state)
        waited = len(self.waiting)
        if kind == "main":
            made = main_pass(state, now, full=full)
        else:
            made = backfill_pass(state, now, plans=False)
        self._finish(Pass(kind, full, 0, [], time, notes, 0, waited), made)

    def _go_on_with(self, left: Pass) -> None:
        """Python finishes a pass that the lane has begun."""
        now = math.floor(left.time)
        if left.kind == "main":
            made = MainPass(self.state, now, full=left.full, records=left.records).run(left.asked)
        else:
            made = BackfillPass(self.state, now, None, False, left.records).run(left.asked)
        self._finish(left, made)

    def _finish(self, over: Pass, made: Outcome) -> None:
        """After a pass: what it changes for the next ones, and its starts."""
        state, time, kind = self.state, over.time, over.kind
        now = math.floor(time)
        starts = bool(made.starts or over.started)
        if kind == "main":
            # A backfill pass would pass over other jobs, or for other reasons.
            if state.board.notes(state) != over.notes or (starts and state.accounts.enforced):
                self.times.changed = True
            nothing = not starts and not made.victims
            self.times.fresh = not (nothing and (over.full or self._shallow(over.waited)))
        else:
            self.times.changed = not made.no_start
            self.times.quiet_until = 0 if starts else made.valid_until
            if state.accounts.enforced and state.accounts.bounds_jobs:
                kept, met = state.queue, state.accounts.met
                unmet = state.waiting if kept is None else kept.unmet(met)
                state.accounts.note_waiting(unmet, state.running, state.machine.sections)
        if made.starts:
            self._begun({one.job for one in made.starts})
        begun = {one.record: one for one in made.starts}
        for victim, (_, preemptor) in zip(made.evicted, made.victims, strict=True):
            if victim.id in begun:  # it started in this very pass
                self._started(time, begun.pop(victim.id), kind, victim)
            evicted(self, time, victim)
            if preemptor in self.waiting:
                self.waiting[preemptor].evicted_at = now
        for one in begun.values():
            self._started(time, one, kind, state.running.find(one.record))
        if made.starts and state.preemption.gang:
            rotate(self, time)
        if starts:
            self.times.started(time)

    def _shallow(self, waited: int) -> bool:
        """True where every main pass sees the whole queue of so many jobs."""
        wish = self.state.parameters
        return not wish.partition_job_depth and waited <= wish.default_queue_depth

    def _begun(self, ids: set[int]) -> None:
        """Jobs have started; the rest of an array keeps waiting."""
        state = self.state
        arrays = any(self.waiting[number].tasks for number in ids)
        left = {job.id: job for job in state.waiting if job.id in ids} if arrays else {}
        for number in ids:
            before = self.waiting[number]
            if number in left:
                self.waiting[number] = left[number]
            else:
                del self.waiting[number]
            if state.queue is not None:
                state.queue.take_out(state, before)
                if number in left:
                    state.queue.put(state, left[number])

    def _started(self, time: float, one: Allocation, kind: str, job: Job) -> None:
        row = self.rows[one.job, one.task]
        record = one.record
        self.row_of[record] = row
        if self.watched is not None:
            self.begun.add(row)
        now = math.floor(time)
        if kind == "main" and self.phase.is_early(row):
            # time() shows the second before, in which nothing else may have allowed the start.
            allowed = self.workload.submit[row], self.requests.begin[row], self.world_at
            now = min(now, max(now - 1, *map(int, allowed)))
        self.out.start[row] = now
        self.out.nodes[row] = one.nodes
        self.out.scheduler[row] = kind
        run = float(self.workload.run[row]) + self.longer[row]
        self.out.holding[row] = job.holding
        if one.task is None and job.array in self.waiting:
            self.waiting[job.array].started_tasks += 1  # a task that was requeued
        if job.waited_for:
            self.out.waited_for[row] = job.waited_for
        end = time + max(0.0, min(run, job.limit) + self.phase.part_of_second(row, RUN_STEP) - 0.5)
        self.ends[record] = end
        self.events.at(end, "end", (record, end))
        if self.depends is not None:
            self.depends.start(row)
            self.look_at_dependents(time)

    def _on_end(self, time: float, what: tuple[int, float], *, killed: bool = False) -> None:
        record, expected = what
        if self.ends.get(record) != expected:
            return
        state = self.state
        job = state.running.find(record)
        row = self.row_of.pop(record)
        del self.ends[record]
        self.out.end[row] = math.floor(time)
        self.over += 1
        state.release(job)
        state.completing |= job.nodes
        if state.preemption.gang:
            rotate(self, time)
        self.priorities.end(job, time)
        if job.array and job.array in self.waiting:
            self.waiting[job.array].started_tasks -= 1
        self.leave(time, job.nodes, at_once=killed)
        if self.depends is not None:
            self.depends.end(row)
            self.look_at_dependents(time)

    def leave(self, time: float, nodes: int, *, at_once: bool) -> None:
        """Nodes complete an end: unusable until they have answered (spec: slurm 1.7)."""
        self.leaving.append(nodes)
        self.times.note(time)  # limits and licences are free at once
        self.events.at(time + self.phase.latency, "free", (nodes, at_once))

    def _on_free(self, time: float, what: tuple[int, bool]) -> None:
        """Nodes answered: usable again. After a kill the main pass runs at once.

        spec: slurm 1.3.
        """
        nodes, at_once = what
        self.leaving.remove(nodes)
        self.state.completing = reduce(operator.or_, self.leaving, 0)
        if at_once:
            self.times.work_at_once(time)
        else:
            self.times.work(time)
