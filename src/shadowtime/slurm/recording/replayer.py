"""Rebuilds slurmctld's state from a recording, event by event."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from shadowtime.engine.priority.factors import billing_of
from shadowtime.engine.priority.weights import Weights
from shadowtime.errors import InputError
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.gang import overlaps, shadowed, usage_of
from shadowtime.slurm.job import Job, full_limit
from shadowtime.slurm.machine import bits
from shadowtime.slurm.recording.acts import ACTS
from shadowtime.slurm.recording.folder import Recording, start_second
from shadowtime.slurm.recording.holdings import cpus_of, held_by_start
from shadowtime.slurm.recording.options import record_of
from shadowtime.slurm.running import Running
from shadowtime.slurm.starting import leave_weights
from shadowtime.slurm.state import SlurmState
from shadowtime.slurm.tally import held_by
from shadowtime.slurm.usage import Holding
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.log import Event, job_number

COMPLETING = 0.35
"""Seconds after an end in which a node may not have answered yet."""


REGISTERS = 60.0
"""Seconds within which a resumed node registers again."""


@dataclass(slots=True)
class Ended:
    """How a job ended."""

    good: bool
    time: float


@dataclass(slots=True)
class Replayer:
    """The state as the log's events leave it."""

    recording: Recording
    state: SlurmState
    weights: Weights
    pending: dict[int, Job] = field(default_factory=dict)
    running: dict[int, Job] = field(default_factory=dict)
    begin: dict[int, int] = field(default_factory=dict)
    waits_for: dict[int, str] = field(default_factory=dict)
    ended: dict[int, Ended] = field(default_factory=dict)
    tasks_of: dict[int, set[int]] = field(default_factory=dict)
    task_of: dict[int, int] = field(default_factory=dict)
    """The task of an array that a job is."""
    limits: dict[int, int] = field(default_factory=dict)
    """Limits that an operator has set, by record."""
    last_end: float = -1e9
    lowest: int = 0
    status: dict[int, int] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    """Running jobs of which it is not known what they hold where."""
    restarts: dict[int, int] = field(default_factory=dict)
    past: dict[int, Job] = field(default_factory=dict)
    """Jobs that have ended: an operator may requeue them."""
    leaving: dict[int, Job] = field(default_factory=dict)
    """Preempted jobs whose nodes are completing."""
    last_tick: int = 0
    predicted: dict[int, Holding] = field(default_factory=dict)
    """What the jobs would hold that our own pass started."""
    last_submit: tuple[float, Job] | None = None
    has_priorities: bool = False
    """The log records priorities as they change."""
    registers: frozenset[int] = frozenset()
    """Lines that resume nodes which register again later."""
    changes: float = -1e9
    """When nodes or reservations changed last."""

    @staticmethod
    def of(recording: Recording) -> Replayer:
        """Before the first event."""
        logged = any(event.kind == "priority" for event in recording.log.events)
        return Replayer(
            recording,
            state_of(recording.site),
            Weights.of(recording.site),
            has_priorities=logged,
            registers=frozenset(_registering(recording.log.events)),
        )

    def waiting(self, now: int) -> list[Job]:
        """Pending jobs that a pass at ``now`` may consider."""
        found = []
        if self.recording.samples and not self.has_priorities:
            self._sampled_priorities(now)
        for job in self.pending.values():
            if job.held or self.begin.get(job.id, 0) > now:
                continue
            if job.id in self.waits_for and not self._independent(job):
                continue
            found.append(job)
        return found

    def _sampled_priorities(self, now: int) -> None:
        """The priorities that squeue showed last, if the log does not record them."""
        for job in self.pending.values():
            for when, value in self.recording.samples.get(job.id, ()):
                if when > now:
                    break
                job.priority = value

    def _independent(self, job: Job) -> bool:
        text = self.waits_for[job.id]
        any_of = "?" in text
        answers = []
        for word in re.split(r"[,?]", text):
            kind, *ids = word.split(":")
            if kind == "singleton":
                same = [
                    one
                    for one in (*self.running.values(), *self.pending.values())
                    if one.user == job.user and one.name == job.name and one.id != job.id
                ]
                answers.append(not any(one.id in self.running or one.id < job.id for one in same))
                continue
            answers.append(all(self._over(kind, int(one.split("_")[0])) for one in ids))
        return any(answers) if any_of else all(answers)

    def _over(self, kind: str, number: int) -> bool:
        """True where the dependency of ``kind`` on job ``number`` is met."""
        if kind == "after":
            return number not in self.pending
        if number in self.pending or number in self.running:
            return False
        ids = self.tasks_of.get(number, {number})
        # Tasks that were requeued wait with ids of their own.
        if any(one in self.running or one in self.pending or one in self.leaving for one in ids):
            return False
        ends = [self.ended[one] for one in ids if one in self.ended]
        if kind == "afterany":
            return bool(ends)
        good = bool(ends) and all(one.good for one in ends)
        if kind in ("afterok", "aftercorr"):
            return good
        if kind == "afternotok":
            return bool(ends) and not good
        return False

    def apply(self, event: Event) -> None:
        """Bring the state up to this event."""
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event)
        elif event.kind in ACTS:
            ACTS[event.kind](self, event)

    def record_of(self, label: str) -> int:
        """The pending record of a label: a task that was requeued has one of its own, the others
        share the array's.
        """
        raw, array, _ = job_number(label)
        return raw if raw in self.pending else array or raw

    def _on_submit(self, event: Event) -> None:
        number, _, _ = job_number(event.fields[0])
        job = record_of(self.recording, self.state, number)
        job.record = self.state.records
        self.state.records += 1
        job.priority = int(event.fields[1])
        job.held = job.priority == 0
        if job.priority:
            self.lowest = job.priority
        self.pending[number] = job
        leave_weights(self.state, job)
        self.last_submit = (event.time, job)
        asked = self.recording.submitted.get(number)
        if asked is not None:
            match = re.fullmatch(r"now\+(\d{1,9})(?:\w*)", asked.begin)
            if match:
                since = self.recording.submit_times.get(number, event.time)
                self.begin[number] = int(since) + int(match[1])
            if asked.dependency:
                self.waits_for[number] = asked.dependency

    def _on_backfill(self, event: Event) -> None:
        label, partition, nodes = event.fields
        self._start(event, label, partition, nodes, by_backfill=True)

    def _on_main(self, event: Event) -> None:
        label, nodes, cpus, partition = event.fields
        self._start(event, label, partition, nodes, cpus=int(cpus))

    def _start(
        self,
        event: Event,
        label: str,
        partition: str,
        nodes: str,
        *,
        cpus: int = 0,
        by_backfill: bool = False,
    ) -> None:
        raw, array, task = job_number(label)
        record = self.pending.pop(self.record_of(label), None)
        if record is None:
            return
        if task is not None:
            self.task_of[raw] = task
        if record.tasks:
            rest = [one for one in record.tasks if one != task]
            self.tasks_of.setdefault(array, set()).add(raw)
            job = replace(record, id=raw, tasks=[], array=array)
            if rest:
                left = replace(
                    record,
                    tasks=rest,
                    started_tasks=record.started_tasks + 1,
                    record=self.state.records,
                )
                self.state.records += 1
                self.pending[array] = left
        else:
            job = replace(record)
            if record.array in self.pending:
                self.pending[record.array].started_tasks += 1
        job.partition = partition
        job.start = start_second(self.recording, raw, event.time)
        job.nodes = self.state.machine.mask(expand(nodes))
        kept = not self.state.parameters.rules.limit_raised  # else a line tells where it is cut
        if by_backfill and kept and job.least_time and job.least_time < job.limit:
            job.limit = job.least_time
        section = self.state.machine.sections.get(partition)
        if section is None:
            raise InputError(
                f"{self.recording.path}: the log's line {event.line} names partition {partition}, "
                "which the site does not have"
            )
        if not self.state.accounts.flagged(job, "partitiontimelimit"):
            job.limit = full_limit(job, section)
        seen = held_by_start(self.recording, self.state, job)
        job.holding = seen.holding
        if not seen.sure:
            predicted = self.predicted.get(job.id, ())
            if [share.node for share in predicted] == list(bits(job.nodes)):
                job.holding = predicted
            else:
                self.unknown.add(job.id)
        job.cpus = cpus or cpus_of(self.state.machine, job)
        held = held_by(job)
        amounts = {"cpus": held.cpu, "memory": held.mem * 1024, "gpu": held.gpu, "nodes": held.node}
        job.billing = billing_of(amounts, section.billing)
        if self.state.preemption.gang:
            job.in_no_row = overlaps(job, self.running.values())
        self.running[raw] = job
        self.state.usage.take(job.holding)
        self.list_running(job.start)

    def list_running(self, now: int) -> None:
        """After a start or an end: which jobs run, and which are suspended or resumed."""
        state = self.state
        state.running = Running(sorted(self.running.values(), key=lambda one: one.record))
        if not state.preemption.gang:
            return
        state.usage = usage_of(state.machine, state.running)
        stopped = shadowed(state.running, state.machine.sections)
        for job in state.running:
            if job.id in stopped and job.suspended_at is None:
                job.suspend(now)
            elif job.id not in stopped:
                job.resume(now)

    def _on_status(self, event: Event) -> None:
        raw, _, _ = job_number(event.fields[0])
        self.status[raw] = int(event.fields[1])

    def _on_done(self, event: Event) -> None:
        raw, _, _ = job_number(event.fields[0])
        self.end(raw, event.time, good=self.status.get(raw, 0) == 0)

    def _on_over(self, event: Event) -> None:
        raw, _, _ = job_number(event.fields[0])
        self.end(raw, event.time, good=False)

    def end(self, raw: int, time: float, *, good: bool) -> None:
        job = self.running.pop(raw, None)
        self.ended[raw] = Ended(good, time)
        if job is None:
            return
        self.past[raw] = job
        self.last_end = time
        self.unknown.discard(raw)
        self.state.usage.give(job.holding)
        if job.array and job.array in self.pending:
            self.pending[job.array].started_tasks -= 1
        self._charge_end(job, int(time))
        self.list_running(int(time))

    def cancel(self, number: int, time: float) -> None:
        """A waiting record, of an array what waits of it, is gone."""
        self.pending.pop(number, None)
        self.ended[number] = Ended(False, time)

    def _on_preempted(self, event: Event) -> None:
        victim, how, winner = event.fields
        raw, _, _ = job_number(victim)
        preemptor = self.pending.get(self.record_of(winner))
        if preemptor is not None:
            preemptor.evicted_at = int(event.time)
        job = self.running.pop(raw, None)
        if job is None:
            return
        self.state.usage.give(job.holding)
        self.unknown.discard(raw)
        if job.array in self.pending:
            self.pending[job.array].started_tasks -= 1
        if how == "requeued":
            self.leaving[raw] = job
            self.state.completing |= job.nodes
        else:
            self.ended[raw] = Ended(False, event.time)
            self.last_end = event.time
        self.list_running(int(event.time))

    def _on_requeued(self, event: Event) -> None:
        raw, _, _ = job_number(event.fields[0])
        job = self.leaving.pop(raw, None)
        if job is None:
            if raw in self.running:
                self.end(raw, event.time, good=False)
            job = self.past.get(raw)
            if job is None:
                return
        fresh = record_of(self.recording, self.state, job.array or raw)
        if job.array:
            fresh = replace(fresh, id=raw, tasks=[])
        fresh.limit = self.limits.get(raw, fresh.limit)
        fresh.record, fresh.priority = job.record, job.priority
        if self.state.parameters.rules.requeued_last and not self.has_priorities:
            self.lowest -= 1
            fresh.priority = self.lowest
        self.restarts[raw] = self.restarts.get(raw, 0) + 1
        rows = self.recording.runs.get(raw, [])
        again = self.restarts[raw]
        eligible = rows[again].seconds("eligible") if again < len(rows) else None
        self.begin[raw] = eligible if eligible is not None else int(event.time) + 121
        self.pending[raw] = fresh
        self.state.completing = 0
        for other in self.leaving.values():
            self.state.completing |= other.nodes

    def _on_priority(self, event: Event) -> None:
        job = self.pending.get(int(event.fields[0]))
        if job is not None and not job.held:
            job.priority = int(float(event.fields[1]))
            if event.fields[1].endswith(".00"):
                # Printed with two digits, cut to a whole number within: 1215.996 is 1215.
                for when, value in self.recording.samples.get(job.id, ()):
                    if event.time < when < event.time + 50 and value == job.priority - 1:
                        job.priority = value
                        break

    def _on_tick(self, event: Event) -> None:
        now = int(event.time)
        if now - self.last_tick < 2:
            return
        self._tick(now)

    def _tick(self, now: int) -> None:
        """Decay usage, then charge running jobs up to now (spec: slurm 5.4)."""
        accounts = self.state.accounts
        passed = now - self.last_tick if self.last_tick else 0
        accounts.fade(self.weights.decay**passed)
        for job in self.running.values():
            accounts.charge(job, self.weights.charged(now - max(self.last_tick, job.start)))
        self.last_tick = now
        accounts.counted_to = now

    def _charge_end(self, job: Job, now: int) -> None:
        """The stretch from the last tick, charged where limits are enforced (spec: slurm 5.5)."""
        if self.state.accounts.enforced and self.last_tick:
            unpaid = now - max(self.last_tick, job.start)
            self.state.accounts.charge(job, self.weights.charged(unpaid))


def _registering(events: Sequence[Event]) -> Iterator[int]:
    """The lines of ``update_node`` after which the node registers again within a minute."""
    answers = {(one.fields[0], one.time) for one in events if one.kind == "responding"}
    for event in events:
        if event.kind == "node" and any(
            name == event.fields[0] and 0 <= time - event.time < REGISTERS for name, time in answers
        ):
            yield event.line
