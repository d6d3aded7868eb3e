"""Whole runs: submissions, ends, both passes at their times, preemption, drains, reservations."""

from __future__ import annotations

import functools
import heapq
import math
import operator
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.priority.factors import default_memory
from shadowtime.slurm.ageing import hold_age, let_age
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.compiled import MOST_OTHERS, CompiledPasses, pays_to_compile
from shadowtime.slurm.from_site import setting, state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.kept_queue import KeptQueue
from shadowtime.slurm.main_pass import main_pass
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.priority import Multifactor, first_tick
from shadowtime.slurm.state import State, Window

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.outcome import Outcome, Start
    from shadowtime.slurm.usage import Holding
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Request, Requests

FIRST_PRIORITY = 4_294_901_759
"""What priority/basic gives the first job; every further one gets one less."""
CREDENTIAL = 120
"""Seconds that a credential lives: a requeued job waits that long and one more."""
NEVER = math.inf
GROUP_GRAIN = 30
"""Seconds: the will-run test rounds the end of its first group to these (3.6)."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """When passes fall, which no log tells: seconds after the first submission's second.

    ``latency`` is how long nodes take to answer after an end.
    """

    tick: float = 0.5
    backfill: float = 0.0
    latency: float = 0.1

    @staticmethod
    def some(count: int, interval: int) -> list[Phase]:
        """Phases spread evenly over a second and over the interval of backfill passes."""
        return [
            Phase(tick=(k + 0.5) / count, backfill=interval * ((k * 0.618) % 1.0))
            for k in range(count)
        ]


@dataclass(slots=True)
class SlurmRun:
    """What happened to each job of a workload: -1 where it never started."""

    start: list[int]
    end: list[int]
    nodes: list[int]
    scheduler: list[str]
    """"main" or "backfill"."""
    preemptions: int = 0
    passes: int = 0
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """(row, start, end) of runs whose work was lost because the job was requeued."""
    holding: dict[int, Holding] = field(default_factory=dict)
    """What each started job holds, by row."""
    waited_for: dict[int, str] = field(default_factory=dict)
    """What each started job was last passed over for (sacct's Reason), by row."""

    def moved(self, seconds: int) -> SlurmRun:
        """The same run so much later."""
        for column in (self.start, self.end):
            column[:] = [time + seconds if time >= 0 else time for time in column]
        self.lost = [(row, start + seconds, end + seconds) for row, start, end in self.lost]
        return self


def run_slurm(
    workload: Workload,
    site: Site,
    requests: Requests,
    *,
    phase: Phase | None = None,
    parameters: Parameters | None = None,
    shortcuts: bool = True,
    compiled: bool | None = None,
) -> SlurmRun:
    """One run of a workload under Slurm's own scheduler on a site.

    Rules
    -----
    Starts are whole seconds as sacct has them. Passes fall as ``phase`` says; parts of seconds
    that the log cut off are spread evenly. Priorities are those of PriorityType: basic (in the
    order of submission) or multifactor, with the site's own weights and ticks.
    Plans are rounded to bf_resolution and to half minutes of the wall clock, which the log's epoch
    tells, not to those since the first submission.
    ``shortcuts`` False makes every pass whole, for tests of the shortcuts. ``compiled`` says
    whether compiled code makes backfill passes wherever it can; by default it does in long logs,
    where most of the queue is for it.
    What a run gives depends on neither.
    """
    wish = parameters or Parameters.of_config(site.config)
    ahead = (workload.epoch or 0) % math.lcm(GROUP_GRAIN, wish.bf_resolution)
    if ahead:
        workload, requests = _later(workload, requests, ahead)
    loop = _Loop(workload, site, requests, phase or Phase(), wish, shortcuts, ahead)
    if shortcuts and (pays_to_compile(len(workload)) if compiled is None else compiled):
        others = 1.0 if compiled else MOST_OTHERS
        loop.state.compiled = CompiledPasses(loop.state, most_others=others)
    return loop.run().moved(-ahead)


def _later(workload: Workload, requests: Requests, seconds: int) -> tuple[Workload, Requests]:
    """The same jobs on a clock that reads 0 so much earlier."""
    begin, cancel = (
        np.where(column >= 0, column + seconds, column)
        for column in (requests.begin, requests.cancel_at)
    )
    moved = workload.replace(
        submit=workload.submit + seconds, epoch=(workload.epoch or 0) - seconds
    )
    return moved, replace(requests, begin=begin, cancel_at=cancel)


class _Event(NamedTuple):
    """Ordered by time, rank and number; no two have the same number."""

    time: float
    rank: int
    number: int
    kind: str
    what: Any = None


RANKS = {
    name: rank
    for rank, name in enumerate(
        ("end", "free", "world", "tick", "sweep", "cancel", "submit", "ready")
    )
}
PERIODIC = ("tick", "sweep")
LIMIT_CHECK = 30
"""Seconds between two checks of time limits."""


class _Loop:
    """The clock and everything that waits for it."""

    def __init__(
        self,
        workload: Workload,
        site: Site,
        requests: Requests,
        phase: Phase,
        parameters: Parameters,
        shortcuts: bool,
        opening: int,
    ) -> None:
        self.workload, self.site, self.requests, self.phase = workload, site, requests, phase
        plain = state_of(site)
        self.state = State.of(
            plain.machine,
            parameters,
            accounts=plain.accounts,
            preemption=plain.preemption,
            licences=plain.licences,
            shortcuts=shortcuts,
        )
        if shortcuts and self.state.preemption.kind != "qos":
            self.state.queue = KeptQueue()
        count = len(workload)
        self.out = SlurmRun([-1] * count, [-1] * count, [0] * count, [""] * count)
        self.heap: list[_Event] = []
        self.number = 0
        self.waiting: dict[int, Job] = {}
        self.rows: dict[tuple[int, int | None], int] = {}
        """(record, task) to row."""
        self.row_of: dict[int, int] = {}
        """Running record to row."""
        self.ready: dict[int, float] = {}
        self.ends: dict[int, float] = {}
        self.main_due = NEVER
        self.last_main = -NEVER
        self.opening = opening
        self.next_full = opening + phase.tick
        """When the main pass runs in any case: sched_interval after the last such one."""
        self.fresh = True
        """Something happened since a main pass that looked at everything started nothing."""
        self.next_backfill = opening + phase.backfill
        self.changed = True
        """Something happened since a backfill pass found that no waiting job could start."""
        self.news = True
        """Something happened that makes the backfill thread run at all (1.5)."""
        self.asleep_since = NEVER
        self.leaving: list[int] = []
        """Nodes that have not answered after an end, one mask per job."""
        self.quiet_until = 0
        """No backfill pass before then starts anything, unless something happens."""
        self.idle_passes = 0
        self.builtin = setting(site.config, "SchedulerType").endswith("builtin")
        self.multifactor: Multifactor | None = None
        if "multifactor" in setting(site.config, "PriorityType"):
            self.multifactor = Multifactor(site)
        self.tested: set[int] = set()
        expire = re.search(r"cred_expire=(\d+)", setting(site.config, "AuthInfo"))
        self.requeue_after = (int(expire[1]) if expire else CREDENTIAL) + 1

    def at(self, time: float, kind: str, what: Any = None) -> None:
        """Something will happen."""
        self.number += 1
        heapq.heappush(self.heap, _Event(time, RANKS[kind], self.number, kind, what))

    def run(self) -> SlurmRun:
        """From the first submission to the last end."""
        self._submissions()
        self._world()
        if self.multifactor is not None:
            period = self.multifactor.weights.period
            known = first_tick(self.site, self.workload.epoch)
            first = self.opening + period * self.phase.tick if known is None else float(known)
            self.multifactor.shares.last = first - period
            self.at(first, "tick")
            if self.state.accounts.bounds_minutes:
                self.at(self.opening + LIMIT_CHECK * self.phase.tick, "sweep")
        while self.heap or self.main_due < NEVER or (self.waiting and self.running):
            if self._over():
                break
            nearest = self.heap[0].time if self.heap else NEVER
            main = min(self.main_due, self.next_full)
            if nearest <= min(main, self.next_backfill):
                event = heapq.heappop(self.heap)
                self.quiet_until = 0
                getattr(self, f"_on_{event.kind}")(event.time, event.what)
            elif main <= self.next_backfill:
                self._main(main)
            else:
                self._backfill(self.next_backfill)
        return self.out

    def _over(self) -> bool:
        """Nothing but ticks and passes is left, and nobody runs: what waits, waits for ever."""
        rest = all(event.kind in PERIODIC for event in self.heap) if len(self.heap) < 3 else False
        idle = self.idle_passes > 2 or self.next_backfill == NEVER
        return rest and not self.running and self.main_due == NEVER and idle

    @property
    def running(self) -> bool:
        """Somebody runs."""
        return bool(self.state.running)

    def _submissions(self) -> None:
        requests, workload = self.requests, self.workload
        arrays: dict[int, Job] = {}
        ready_at: dict[int, float] = {}
        asks: dict[int, tuple[tuple[str, ...], Ask]] = {}
        """By the place of the request: logs hold many jobs and few requests."""
        priority = FIRST_PRIORITY
        names = workload.names.get("user", ()) if workload.names else ()
        for row in range(len(workload)):
            array = int(requests.array[row])
            request = requests[row]
            submit = float(workload.submit[row])
            if array >= 0 and array in arrays:
                job = arrays[array]
                task = int(requests.task[row])
                job.tasks.append(task)
                job.tasks.sort()
                self.rows[job.id, task] = row
                ready_at[array] = min(ready_at[array], max(submit, float(requests.begin[row])))
                continue
            kind = int(requests.index[row])
            if kind not in asks:
                asks[kind] = self._ask(request)
            partitions, ask = asks[kind]
            user = int(workload.user[row])
            job = Job(
                id=row + 1,
                ask=ask,
                limit=int(workload.limit[row]),
                record=row,
                user=names[user] if 0 <= user < len(names) else str(user),
                account=request.account,
                qos=request.qos,
                partitions=partitions,
                priority=priority,
                submit=int(submit),
                eligible=int(submit),
                least_time=max(0, int(requests.least_time[row])),
                licences=request.licences,
                nice=int(requests.nice[row]),
                reservation=request.reservation,
                throttle=int(requests.throttle[row]),
                requeues=bool(requests.requeue[row]),
            )
            priority -= 1
            if array >= 0:
                arrays[array] = job
                job.array = job.id
                job.tasks = [int(requests.task[row])]
                self.rows[job.id, job.tasks[0]] = row
                ready_at[array] = max(submit, float(requests.begin[row]))
            else:
                self.rows[job.id, None] = row
            begin = float(requests.begin[row])
            if array < 0:
                self.at(max(submit + self._part(row, 0.4142), begin), "submit", job)
        for row, when in enumerate(requests.cancel_at.tolist()):
            if when >= 0:
                self.at(float(when), "cancel", row)
        for array, job in arrays.items():
            # Each task's eligible time is that of its own start; the first one's is the array's.
            self.at(ready_at[array] + self._part(job.record, 0.4142), "submit", job)
        self.state.records = len(workload)

    def _ask(self, request: Request) -> tuple[tuple[str, ...], Ask]:
        """Where a request goes and what it asks for there."""
        partitions = tuple(request.partitions)
        if not partitions:
            default = next((one for one in self.site.partitions if one.default), None)
            partitions = (default.name,) if default else tuple(self.state.machine.sections)[:1]
        memory, per_cpu = default_memory(self.site, partitions[0])
        machine = self.state.machine
        ask = ask_of(request, machine, default_memory=memory, default_memory_per_cpu=per_cpu)
        return partitions, ask

    def _part(self, row: int, step: float) -> float:
        """The part of a second that the log cut off, spread evenly over jobs and phases."""
        return (row * step + self.phase.tick) % 1.0

    def _world(self) -> None:
        origin = self.workload.epoch or 0
        for outage in self.site.outages:
            mask = self.state.machine.mask([outage.node])
            self.at(outage.begin - origin, "world", ("down", mask))
            self.at(outage.end - origin, "world", ("up", mask))
        for one in self.site.reservations:
            window = Window(
                name=one.name,
                nodes=self.state.machine.mask(one.nodes),
                begin=int(one.begin - origin),
                end=int(one.end - origin),
            )
            known = one.known_at - origin if one.known_at is not None else 0
            self.at(min(known, window.begin), "world", ("reserve", window))
            self.at(window.end, "world", ("open", window))

    def _on_world(self, time: float, what: tuple[str, Any]) -> None:
        kind, value = what
        if kind == "down":
            self.state.up &= ~value
        elif kind == "up":
            self.state.up |= value
        elif kind == "reserve":
            self.state.windows = (*self.state.windows, value)
        self._work(time)

    def _on_tick(self, time: float, _: None) -> None:
        """PriorityCalcPeriod: usage and all priorities anew (5.2)."""
        factors = self.multifactor
        assert factors is not None
        now, accounts = math.floor(time), self.state.accounts
        last = now if factors.last is None else factors.last
        fade = factors.shares.fade_to(now)
        accounts.fade(fade)
        for job in self.state.running:
            accounts.charge(job, max(0.0, now - max(last, job.start)) * fade)
        factors.tick(now, self.state.running)
        accounts.counted_to = now
        for job in self.waiting.values():
            tested = job.id in self.tested
            job.priority = factors.of(job, math.floor(time), tested=tested)
        if self.state.queue is not None:
            self.state.queue.sort_again()
        self.fresh = True
        if self.waiting:
            self._wake(time)
        self.at(time + factors.weights.period, "tick")

    def _on_sweep(self, time: float, _: None) -> None:
        """The check of time limits: jobs whose GrpTRESMins is used up are killed (21.6)."""
        for job in list(self.state.running):
            if self.state.accounts.used_up(job):
                self.ends[job.id] = time
                self._on_end(time, (job.id, time), killed=True)
        self.at(time + LIMIT_CHECK, "sweep")

    def _on_submit(self, time: float, job: Job) -> None:
        self.waiting[job.id] = job
        self.state.waiting.append(job)
        if self.multifactor is not None:
            job.eligible = math.floor(time)
            hold_age(self.state.accounts, job)
            job.priority = self.multifactor.of(job, math.floor(time), tested=False)
        if self.state.queue is not None:
            self.state.queue.put(self.state, job)
        self._work(time)

    _on_ready = _on_submit

    def _on_cancel(self, time: float, row: int) -> None:
        for job in list(self.waiting.values()):
            task = next((one for one in job.tasks if self.rows.get((job.id, one)) == row), None)
            if task is not None:
                job.tasks.remove(task)
                if not job.tasks:
                    self._drop({job.id})
            elif not job.tasks and self.rows.get((job.id, None)) == row:
                self._drop({job.id})

    def _drop(self, ids: set[int]) -> None:
        """These wait no longer."""
        for number in ids:
            job = self.waiting.pop(number)
            self.state.waiting = [one for one in self.state.waiting if one is not job]
            if self.state.queue is not None:
                self.state.queue.take_out(self.state, job)

    def _work(self, time: float) -> None:
        """There is work for the main pass: at the next tick that batch_sched_delay allows."""
        self._note(time)
        delay = self.state.parameters.batch_sched_delay
        earliest = max(time, self.last_main + delay)
        tick = math.ceil(earliest - self.phase.tick) + self.phase.tick
        self.main_due = min(self.main_due, tick)

    def _note(self, time: float) -> None:
        """Something changed: passes have something to look at."""
        self.changed = self.fresh = True
        self._wake(time)

    def _wake(self, time: float) -> None:
        """The backfill thread that found nothing new looks again every second (1.5)."""
        self.news = True
        if self.next_backfill == NEVER:
            since = self.asleep_since
            self.next_backfill = since + max(0, math.ceil(time - since))

    def _main(self, time: float) -> None:
        """The main pass where there is work; every sched_interval over the whole queue (1.2)."""
        full = time >= self.next_full
        work = time >= self.main_due
        if full:
            self.next_full = time + max(1, self.state.parameters.sched_interval)
        if work or full:
            self.main_due = NEVER
            self.last_main = time
        if work or (self.waiting and (self.fresh or not self._repeats_itself())):
            self._pass(time, "main", full=full)

    def _repeats_itself(self) -> bool:
        """True where a main pass after one that started nothing starts nothing either.

        Reservations open with time, and every test of a GPU job leaves weights behind (16.4).
        """
        state = self.state
        return state.chooser.shortcuts and not state.windows and not state.machine.has_gpus

    def _backfill(self, time: float) -> None:
        """A backfill pass, where anything has changed since the last one (1.5).

        While jobs wait, the passes themselves change what is noted about them.
        """
        if not self.news:
            self.asleep_since, self.next_backfill = time, NEVER
            return
        self.news = bool(self.waiting)
        self.next_backfill = time + self.state.parameters.bf_interval
        if not self.running and self.main_due == NEVER:
            self.idle_passes += 1
        else:
            self.idle_passes = 0
        if self.builtin or not self.waiting:
            return
        if math.floor(time) < self.quiet_until:
            return
        if self.changed or not self.state.chooser.shortcuts:
            self._pass(time, "backfill")

    def _pass(self, time: float, kind: str, *, full: bool = False) -> None:
        state = self.state
        before = {job.id: job for job in state.running} if state.preemption.on else {}
        now = math.floor(time)
        self.out.passes += 1
        if self.multifactor is not None:
            if kind == "backfill" or self.builtin:
                self.tested.update(self.waiting)
            if state.accounts.enforced:
                let_age(state.accounts, self.waiting.values(), now)
        made: Outcome
        if kind == "main":
            made = main_pass(state, now, full=full)
            nothing = not made.starts and not made.victims
            self.fresh = not (nothing and (full or self._shallow()))
        else:
            made = backfill_pass(state, now, plans=False)
            self.changed = not made.nobody
            self.quiet_until = made.valid_until
            state.accounts.note_waiting(state.waiting, state.running, state.machine.sections)
        if made.starts:
            self._begun({one.job for one in made.starts})
        for victim, preemptor in made.victims:
            self._evicted(time, before[victim])
            if preemptor in self.waiting:
                self.waiting[preemptor].evicted_at = now
        for one in made.starts:
            self._started(time, one, kind)
        if made.starts:
            self.fresh, self.quiet_until = True, 0
            self._wake(time)

    def _shallow(self) -> bool:
        """True where every main pass sees the whole queue."""
        wish = self.state.parameters
        return not wish.partition_job_depth and len(self.waiting) <= wish.default_queue_depth

    def _begun(self, ids: set[int]) -> None:
        """These have started; what is left of an array goes on waiting."""
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

    def _started(self, time: float, one: Start, kind: str) -> None:
        row = self.rows[one.job, one.task]
        record = one.record
        self.row_of[record] = row
        self.out.start[row] = math.floor(time)
        self.out.nodes[row] = one.nodes
        self.out.scheduler[row] = kind
        run = float(self.workload.run[row])
        job = next(job for job in self.state.running if job.id == record)
        self.out.holding[row] = job.holding
        if job.waited_for:
            self.out.waited_for[row] = job.waited_for
        end = time + max(0.0, min(run, job.limit) + self._part(row, 0.618) - 0.5)
        self.ends[record] = end
        self.at(end, "end", (record, end))

    def _on_end(self, time: float, what: tuple[int, float], *, killed: bool = False) -> None:
        record, expected = what
        if self.ends.get(record) != expected:
            return
        state = self.state
        job = next(one for one in state.running if one.id == record)
        row = self.row_of.pop(record)
        del self.ends[record]
        self.out.end[row] = math.floor(time)
        state.running = [one for one in state.running if one is not job]
        state.usage.give(job.holding)
        state.completing |= job.nodes
        factors = self.multifactor
        if factors is not None and state.accounts.enforced and factors.last is not None:
            since = factors.shares.unpaid(time, job.start)
            factors.charge(job, since)
            state.accounts.charge(job, since)
        if job.array and job.array in self.waiting:
            self.waiting[job.array].started_tasks -= 1
        self._leave(time, job.nodes, at_once=killed)

    def _leave(self, time: float, nodes: int, *, at_once: bool) -> None:
        """Nodes complete an end: unusable until they have answered (1.6)."""
        self.leaving.append(nodes)
        self._wake(time)
        self.at(time + self.phase.latency, "free", (nodes, at_once))

    def _on_free(self, time: float, what: tuple[int, bool]) -> None:
        """Nodes answered: usable again. After a kill the main pass runs at once (1.3c)."""
        nodes, at_once = what
        self.leaving.remove(nodes)
        self.state.completing = functools.reduce(operator.or_, self.leaving, 0)
        if at_once:
            self._note(time)
            self.main_due = time
        else:
            self._work(time)

    def _evicted(self, time: float, job: Job) -> None:
        """A preempted job: back into the queue, or gone."""
        row = self.row_of.pop(job.id)
        self.ends.pop(job.id, None)
        self.out.preemptions += 1
        mode = self.state.preemption.mode_of(job, self.state.machine)
        if mode == "requeue":
            self.out.lost.append((row, self.out.start[row], math.floor(time)))
            self.out.start[row], self.out.nodes[row], self.out.scheduler[row] = -1, 0, ""
            fresh = replace(job, holding=(), nodes=0, cpus=0, start=0, partition="")
            self.state.accounts.note(fresh, "BeginTime")
            self.at(math.floor(time) + self.requeue_after, "ready", fresh)
        else:
            self.out.end[row] = math.floor(time)
        self._leave(time, job.nodes, at_once=True)
