"""Plan every logged pass on the true state before it, and compare with what Slurm logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.latency import Latency, latency_of_log
from shadowtime.slurm.machine import Machine
from shadowtime.slurm.main_pass import main_pass
from shadowtime.slurm.outcome import Outcome
from shadowtime.slurm.recording.folder import Recording, read_recording, start_second
from shadowtime.slurm.recording.replayer import COMPLETING, Replayer
from shadowtime.slurm.starting import leave_weights
from shadowtime.slurm.state import SlurmState
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.log import Event, job_number, stamp
from shadowtime.types import Ints

SECOND = 1.002
"""Seconds between two turns of slurmctld's loop."""
UNCERTAIN = 0.03
"""Seconds to which it is known when a pass ran that logged nothing."""
TOGETHER = 0.03
"""Seconds within which starts of the main pass count as one pass."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between Slurm and the model."""

    time: float
    what: str
    job: int
    ours: str
    theirs: str
    cause: str = ""


@dataclass(slots=True)
class Tallies:
    """Counts over all passes of a recording."""

    passes: int = 0
    plans: int = 0
    plans_equal: int = 0
    starts: int = 0
    starts_equal: int = 0
    extra_starts: int = 0
    main_starts: int = 0
    main_starts_equal: int = 0
    victims: int = 0
    victims_equal: int = 0
    left_out: int = 0
    extra_plans: int = 0
    differences: list[Difference] = field(default_factory=list)
    version: str = ""
    """The Slurm whose rules were followed."""
    lacking: tuple[str, ...] = ()
    """What the passes depend on and the recording does not contain."""
    unread: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Lines about jobs that are of no known kind, with the jobs."""
    latency: Latency | None = None
    """How long nodes took to answer after an end, where the log shows it."""


def check_recording(path: Path, *, every: int = 1, completing: float = COMPLETING) -> Tallies:
    """Check a folder; ``every`` n-th backfill pass only, where time is short.

    Passes up to ``completing`` seconds after an end are left out: a node may not have answered.
    """
    return Checker(read_recording(path), every=every, completing=completing).run()


class Checker:
    """Walks through the events once."""

    def __init__(
        self, recording: Recording, *, every: int = 1, completing: float = COMPLETING
    ) -> None:
        self.recording = recording
        self.every = every
        self.completing = completing
        self.replayer = Replayer.of(recording)
        delay = self.replayer.state.parameters.batch_sched_delay
        self.tallies = Tallies(
            version=self.replayer.state.parameters.rules.version,
            lacking=recording.lacking,
            unread={
                line: frozenset(job_number(label)[0] for label in labels)
                for line, labels in recording.log.unread.items()
            },
            latency=latency_of_log(recording.log.events, batch_sched_delay=delay),
        )
        shift = recording.shift
        self.events = [replace(event, time=event.time + shift) for event in recording.log.events]
        self.number = 0
        self.last_tick = -1e9
        state = self.replayer.state
        leaves = (
            state.machine.has_gpus
            or state.machine.weights_stay
            or (state.parameters.assoc_limit_stop and state.accounts.enforced)
        )
        self.ticks = self._ticks() if leaves else []

    @property
    def machine(self) -> Machine:
        """The nodes."""
        return self.replayer.state.machine

    def _ticks(self) -> list[float]:
        """When main passes ran that logged nothing: once a second, in step with those that did.

        They matter with GPUs: each of them changes scheduling weights.
        """
        marks = [one.time for one in self.events if one.kind == "main"]
        if not marks:
            return []
        first, last = self.events[0].time, self.events[-1].time
        ticks = [marks[0] - SECOND * k for k in range(int((marks[0] - first) / SECOND), 0, -1)]
        for one, other in pairwise(marks):
            count = max(1, round((other - one) / SECOND))
            ticks += [one + (other - one) * k / count for k in range(1, count)]
        ticks += [marks[-1] + SECOND * k for k in range(1, int((last - marks[-1]) / SECOND) + 1)]
        return ticks

    def quiet_passes(self, until: float) -> None:
        """Main passes that started nothing: what they leave in the weights."""
        while self.ticks and self.ticks[0] < until:
            time = self.ticks.pop(0)
            self.last_tick = time
            state = self.state_at(int(time))
            if state.waiting:
                main_pass(state, int(time))
                self.replayer.state.weights = state.weights

    def other_order(self, now: int) -> Ints | None:
        """Weights if the last submission and the last quiet pass came the other way round.

        None where their order is plain: the log records submissions to the millisecond, but when a
        pass that started nothing ran is only known to some hundredths of a second.
        """
        submitted = self.replayer.last_submit
        if submitted is None or abs(submitted[0] - self.last_tick) > UNCERTAIN:
            return None
        state = self.state_at(now)
        if self.last_tick < submitted[0]:
            main_pass(state, now)
        else:
            leave_weights(state, submitted[1])
        return state.weights

    def run(self) -> Tallies:
        """All passes."""
        events = self.events
        at = 0
        while at < len(events):
            event = events[at]
            if self.ticks and event.kind in ("begin", "main", "submit", "done", "kill"):
                self.quiet_passes(event.time)
            if event.kind == "begin":
                end = at + 1
                while end < len(events) and events[end].kind not in ("finish", "begin"):
                    end += 1
                self.number += 1
                if self.number % self.every == 0:
                    self.backfill(events[at : end + 1])
                for one in events[at:end]:
                    self.replayer.apply(one)
                at = end
                continue
            if event.kind in ("main", "preempted"):
                end = self._end_of_pass(at)
                self.main(events[at:end])
                for one in events[at:end]:
                    self.replayer.apply(one)
                at = end
                continue
            self.replayer.apply(event)
            at += 1
        return self.tallies

    def unclear(self, time: float) -> bool:
        """True where a node may still be completing, or what a job holds is not known."""
        replayer = self.replayer
        if time - replayer.last_end < self.completing or replayer.unknown or replayer.leaving:
            self.tallies.left_out += 1
            return True
        return False

    def state_at(self, now: int) -> SlurmState:
        """The state before a pass at ``now``."""
        state = self.replayer.state.copy()
        state.waiting = self.replayer.waiting(now)
        return state

    def backfill(self, events: list[Event]) -> None:
        """One backfill pass."""
        time = events[0].time
        plans = [one for one in events if one.kind == "plan"]
        starts = [one for one in events if one.kind == "backfill"]
        evicted = [one for one in events if one.kind == "preempted"]
        now = int(time)
        state = self.state_at(now)
        if not plans and not starts and not state.waiting:
            return
        if self.unclear(time):
            if starts and not self.replayer.unknown:
                backfill_pass(state, now)
                self._keep(state)
            return
        long = int(events[-1].time) > now
        other = self.other_order(now)
        outcome = backfill_pass(state, now, clock=self._clock(events) if long else None)
        if other is not None:
            again = self.state_at(now)
            again.weights = other
            clock = self._clock(events) if long else None
            if backfill_pass(again, now, clock=clock) != outcome:
                self.tallies.left_out += 1
                return
        self._keep(state)
        self.tallies.passes += 1
        self._plans(time, plans, outcome)
        self.tallies.starts += len(starts)
        equal, extra = self._starts(time, starts, outcome, "backfill start")
        self.tallies.starts_equal += equal
        self.tallies.extra_starts += extra
        self._victims(time, evicted, outcome)

    def _clock(self, events: list[Event]) -> Callable[[int], int]:
        """When each job of a pass that takes more than a second was considered; an array task by
        task.
        """
        seen: dict[int, list[int]] = {}
        for event in events:
            if event.kind in ("plan", "backfill"):
                when = int(event.time)
                if event.kind == "backfill":
                    raw, _, _ = job_number(event.fields[0])
                    when = start_second(self.recording, raw, event.time)
                seen.setdefault(self.replayer.record_of(event.fields[0]), []).append(when)
        began = [int(events[0].time)]

        def clock(job: int) -> int:
            times = seen.get(job, began)
            return times.pop(0) if len(times) > 1 else times[0]

        return clock

    def main(self, events: list[Event]) -> None:
        """One main pass that started or preempted something."""
        time = events[0].time
        starts = [one for one in events if one.kind == "main"]
        now = self._second(events[0])
        state = self.state_at(now)
        if self.unclear(time):
            if not self.replayer.unknown:
                main_pass(state, now)
                self._keep(state)
            return
        evicted = [one for one in events if one.kind == "preempted"]
        outcome = main_pass(state, now)
        self._keep(state)
        wanted = {self.replayer.record_of(one.fields[0]) for one in starts}
        if not wanted <= {one.job for one in outcome.starts}:
            # Whether a pass was the full one of sched_interval is not logged.
            full = main_pass(self.state_at(now), now, full=True)
            if wanted <= {one.job for one in full.starts}:
                outcome = full
        self.tallies.main_starts += len(starts)
        equal, extra = self._starts(time, starts, outcome, "main start")
        self.tallies.main_starts_equal += equal
        self.tallies.extra_starts += extra
        self._victims(time, evicted, outcome)

    def _end_of_pass(self, at: int) -> int:
        """Where the main pass ends that begins with this event.

        Its lines are close together. Where they show two seconds, it was one pass while time()
        moved on, if a pass in the first second starts them all, and else two.
        """
        events = self.events
        end = at + 1
        while (
            end < len(events)
            and events[end].kind in ("main", "preempted")
            and events[end].time - events[at].time < TOGETHER
        ):
            end += 1
        starts = [k for k in range(at, end) if events[k].kind == "main"]
        now = self._second(events[at])
        later = [k for k in starts if self._second(events[k]) > now]
        if not later or later[0] == at:
            return end
        wanted = {self.replayer.record_of(events[k].fields[0]) for k in starts}
        outcome = main_pass(self.state_at(now), now)
        return end if wanted <= {one.job for one in outcome.starts} else later[0]

    def _second(self, start: Event) -> int:
        """The second that time() showed to the main pass of a start: it may be the one before.

        spec: slurm 1.2.
        """
        if start.kind != "main":
            return int(start.time)
        began = start_second(self.recording, job_number(start.fields[0])[0], start.time)
        return min(int(start.time), max(began, int(start.time) - 1))

    def _keep(self, state: SlurmState) -> None:
        """What a pass leaves behind: weights, and what its starts hold if nothing records it."""
        replayer = self.replayer
        replayer.state.weights = state.weights
        replayer.predicted = {
            job.id: job.holding for job in state.running if job.id not in replayer.running
        }

    def _mask(self, nodes: str) -> int:
        return self.replayer.state.machine.mask(expand(nodes))

    def _names(self, mask: int) -> str:
        return ",".join(self.replayer.state.machine.names(mask))

    def _plans(self, time: float, plans: list[Event], outcome: Outcome) -> None:
        shift = self.recording.shift
        tallies = self.tallies
        ours = Counter((one.job, one.partition, one.start, one.nodes) for one in outcome.plans)
        by_job: dict[tuple[int, str], list[str]] = {}
        for one in outcome.plans:
            text = f"{one.start} on {self._names(one.nodes)}"
            by_job.setdefault((one.job, one.partition), []).append(text)
        tallies.plans += len(plans)
        for event in plans:
            label, start, _, nodes, partition = event.fields
            job = self.replayer.record_of(label)
            key = (job, partition, stamp(start) + shift, self._mask(nodes))
            if ours[key] > 0:
                ours[key] -= 1
                tallies.plans_equal += 1
            else:
                mine = "; ".join(by_job.get((job, partition), ["no plan"]))
                theirs = f"{key[2]} on {self._names(key[3])}"
                tallies.differences.append(Difference(time, "plan", job, mine, theirs))
        extra = sum(ours.values())
        tallies.extra_plans += max(0, len(outcome.plans) - len(plans))
        if extra and len(outcome.plans) > len(plans):
            for (number, _, when, mask), count in ours.items():
                if count > 0:
                    tallies.differences.append(
                        Difference(time, "extra plan", number, f"{when} on {self._names(mask)}", "")
                    )

    def _starts(
        self, time: float, starts: list[Event], outcome: Outcome, what: str
    ) -> tuple[int, int]:
        ours = Counter((one.job, one.partition, one.nodes) for one in outcome.starts)
        jobs = Counter(one.job for one in outcome.starts)
        equal = 0
        for event in starts:
            if event.kind == "main":
                label, nodes, _, partition = event.fields
            else:
                label, partition, nodes = event.fields
            job = self.replayer.record_of(label)
            key = (job, partition, self._mask(nodes))
            jobs[job] -= 1
            if ours[key] > 0:
                ours[key] -= 1
                equal += 1
            else:
                mine = [
                    f"{one.partition} {self._names(one.nodes)}"
                    for one in outcome.starts
                    if one.job == job
                ]
                self.tallies.differences.append(
                    Difference(
                        time, what, job, "; ".join(mine) or "no start", f"{partition} {nodes}"
                    )
                )
        extra = sum(count for count in jobs.values() if count > 0)
        if extra:
            for job, count in jobs.items():
                if count > 0:
                    self.tallies.differences.append(
                        Difference(time, f"extra {what}", job, "start", "none")
                    )
        return equal, extra

    def _victims(self, time: float, evicted: list[Event], outcome: Outcome) -> None:
        ours = Counter(outcome.victims)
        for event in evicted:
            victim, _, winner = event.fields
            key = (job_number(victim)[0], self.replayer.record_of(winner))
            self.tallies.victims += 1
            if ours[key] > 0:
                ours[key] -= 1
                self.tallies.victims_equal += 1
            else:
                self.tallies.differences.append(
                    Difference(
                        time, "victim", key[0], str(outcome.victims), f"{key[0]} for {key[1]}"
                    )
                )
