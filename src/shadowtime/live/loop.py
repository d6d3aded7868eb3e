"""The loop: observe, decide, guard, apply. The same policy value and passes as in a simulation."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shadowtime.engine.live_pass import Decided, Memory
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.engine.python_policy import policy_parts
from shadowtime.errors import ShadowtimeError
from shadowtime.live.clock import Clock, Pace
from shadowtime.live.compiling import Passes
from shadowtime.live.deciding import Made, without
from shadowtime.live.guard import guard
from shadowtime.live.heartbeat import awaited
from shadowtime.live.log import LogLine
from shadowtime.live.port import Decision, Outcome, Port, PortError, Resize, Snapshot, Start
from shadowtime.live.refusals import Refusals
from shadowtime.live.reports import DecisionReports, described
from shadowtime.live.signals import Undisturbed
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import KINDS

if TYPE_CHECKING:
    from shadowtime.live.guarded import Guarded
    from shadowtime.live.log_watcher import LogWatcher
    from shadowtime.live.store import LoopState, Store

REFUSED = "refused_by_the_scheduler"
"""The counter of refusals."""
DONE = dict(zip(KINDS, ("started", "stopped", "shrunk", "suspended", "continued"), strict=True))
"""The counters of what was done."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One turn of the loop."""

    state: Snapshot
    decided: Decided | None = None
    """None if nothing had changed since the last pass."""
    decisions: tuple[Decision, ...] = ()
    """What was decided, with hosts."""
    outcomes: tuple[Outcome, ...] = ()
    """The outcomes; empty in shadow mode."""
    aside: Mapping[str, str] = field(default_factory=dict)
    """Waiting jobs that no pass counts on, with the reason."""
    acted: bool = False
    """False in shadow mode."""
    refused: int = 0
    """How many of the decisions the scheduler refused; the loop itself dropped the others."""
    seconds: float = 0.0
    """How long deciding took."""
    fell_back: bool = False
    """Whether another policy decided because the loop's own failed."""

    def news(self, last: tuple[Outcome, ...]) -> bool:
        """True unless nothing was decided, or only what was refused in the step before as well."""
        if self.decided is None:
            return False
        return self.outcomes != last or not last or any(outcome.done for outcome in last)

    @property
    def idle(self) -> bool:
        """True if no job waits and none of ours runs."""
        return not self.state.waiting and not any(job.ours for job in self.state.running)


@dataclass(kw_only=True)
class Loop:
    """Drives a scheduler through its port.

    Rules
    -----
    In shadow mode (``act=False``) it decides and reports and changes nothing. A pass takes place
    when jobs, hosts or promises have changed since the last one, as in the simulator, or when a
    decision could not be carried out. Jobs that fit nowhere, and those whose start the scheduler
    refuses again and again, are set aside with the reason and take part in no pass. Before acting,
    every decision is checked against a fresh snapshot and written to the store; its effect is read
    from the scheduler, which is authoritative. An error of the scheduler is reported and retried.
    So is a state on which no pass can run, for example because a node was resumed and differs from
    the others; at the first poll that is a mistake in the setup and ends the loop.
    """

    port: Port
    policy: Policy | Any
    store: Store
    clock: Clock
    shape: Shape = "pool"
    act: bool = False
    pace: Pace = field(default_factory=Pace)
    tell: Callable[[str], None] = lambda line: None
    record: Callable[..., None] | None = None
    """Called with snapshot, memory, outcome and decisions of every pass, and with ``by``, the
    policy that decided, where that is not the loop's."""
    watcher: LogWatcher | None = None
    """Watches the scheduler's log for news between two polls."""
    beat: Callable[..., None] = lambda waiting_for, understood=True: None
    """Called after every poll with what the loop is waiting for, and whether it was understood."""
    attention: Undisturbed = field(default_factory=Undisturbed)
    """Learns what the loop is doing, for signals."""
    guarded: Guarded | None = None
    """Decides if the policy is the user's own code."""
    passes: Passes | None = None
    """Runs the policy's passes otherwise; by default here and at once."""

    def __post_init__(self) -> None:
        self._kept = self.store.load()
        name = self.guarded.policy if self.guarded is not None else described(self.policy)
        if self._kept.policy not in ("", name):
            self.tell(f"the policy was {self._kept.policy}: its promises are forgotten")
            memory = self._kept.memory
            self._kept = self._kept.replace(memory=Memory(now=memory.now, users=memory.users))
        self._kept = self._kept.replace(policy=name)
        self._seen: Snapshot | None = None
        self._again = True
        self._wake: int | None = None
        self._reports = DecisionReports(lambda line: self.tell(line))
        self._asking = 0.0
        self._refusals = Refusals()
        self._refused: Mapping[str, str] = {}
        recall = getattr(self.port, "recall", None)
        if recall is not None:
            recall(self._kept.port)

    @property
    def kept(self) -> LoopState:
        """What is known now."""
        return self._kept

    def step(self) -> Step:
        """Observe; decide, guard and apply if something has changed."""
        with collected_later():
            return self._step()

    def _step(self) -> Step:
        if self.watcher is not None:
            self.watcher.mark_read()
        began = self.clock.steady()
        state = self.port.snapshot()
        self._asking = self.clock.steady() - began
        self._strike_out(state)
        if self.act:
            self._tidy()
        refused = self._refusals.standing(state)
        if not self._due(state) and refused == self._refused:
            return Step(state=state, aside=self._kept.aside, acted=self.act)
        self._refused = refused
        before, began = self._kept.memory, self.clock.steady()
        refusals = self._kept.counters.get(REFUSED, 0)
        made, fell_back = self._decide(state, before, refused)
        decided, decisions = made.decided, made.decisions
        seconds = self.clock.steady() - began
        self._set_aside(made.aside)
        if self.record is not None:
            by = {"by": described(self.guarded.fallback)} if self.guarded and fell_back else {}
            self.record(without(state, refused), before, decided, decisions, **by)
        self._seen, self._wake, self._again = state, decided.wake, False
        with self.attention.acting():
            outcomes = self._act(decisions, state, decided) if self.act else ()
            if not self.act:
                self._keep(memory=decided.memory)
                self._reports.of_shadow(decisions)
        self._again = any(not outcome.done for outcome in outcomes)
        return Step(
            state=state,
            decided=decided,
            decisions=decisions,
            outcomes=outcomes,
            aside=made.aside,
            acted=self.act,
            refused=self._kept.counters.get(REFUSED, 0) - refusals,
            seconds=seconds,
            fell_back=fell_back,
        )

    def _decide(
        self, state: Snapshot, before: Memory, refused: Mapping[str, str]
    ) -> tuple[Made, bool]:
        """A pass, and whether the fallback made it."""
        if self.guarded is None:
            passes = self.passes or Passes(policy=self.policy, shape=self.shape)
            return passes.decide(state, before, refused, attention=self.attention), False
        made, fell_back = self.guarded.decide(state, before, refused, attention=self.attention)
        if fell_back:
            self._count("decided_by_fallback")
        return made, fell_back

    def run(
        self,
        *,
        until_idle: bool = False,
        stopped: Callable[[], bool] = lambda: False,
        after: Callable[[Step], None] = lambda step: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Run until stopped, or with ``until_idle`` until no job waits or runs.

        ``after`` is called with every step, ``failed`` if the scheduler did not answer. A caller
        that listens to signals handles :class:`shadowtime.live.signals.Interrupted`.
        """
        quiet = errors = 0
        waited_out: type[ShadowtimeError] = PortError
        last: tuple[Outcome, ...] = ()
        while not stopped():
            try:
                step = self.step()
            except waited_out as error:
                errors += 1
                self._count("errors")
                self._again = True
                why = f"{self.port.name}: {error}"
                self.tell(LogLine(f"waiting for {why}", event="error", why=why))
                failed()
                self.beat(why, understood=False)
            else:
                errors, waited_out = 0, ShadowtimeError
                quiet = 0 if step.news(last) else quiet + 1
                last = step.outcomes
                self.beat(awaited(step.state, self._kept.memory))
                after(step)
                if until_idle and step.idle:
                    return
            self._rest(quiet, errors)

    def end(self) -> None:
        """End the processes that the loop has started."""
        for started in (self.guarded, self.passes):
            if started is not None:
                started.end()

    def _rest(self, quiet: int, errors: int) -> None:
        """Wait for the next poll."""
        watcher = self.watcher if self.watcher is not None and self.watcher.there else None
        took = self._asking
        pause = self.pace.pause(quiet=quiet, errors=errors, took=took, watched=watcher is not None)
        if watcher is None:
            self.clock.sleep(pause)
        else:
            soonest = self.pace.soonest(quiet=quiet, errors=errors, took=took)
            watcher.rest(self.clock, pause, at_least=soonest)

    def _tidy(self) -> None:
        """Let the port repair what it has to."""
        tidy = getattr(self.port, "tidy", None)
        if tidy is None:
            return
        with self.attention.acting():
            for line in tidy():
                self.tell(line)
            memory = self._port_memory()
            if memory != self._kept.port:
                self._keep(port=memory)

    def _port_memory(self) -> Mapping[str, Any]:
        memory = getattr(self.port, "memory", None)
        return memory() if memory is not None else {}

    def _set_aside(self, aside: Mapping[str, str]) -> None:
        """Report jobs that are set aside, once for each reason."""
        for job, why in aside.items():
            if self._kept.aside.get(job) != why:
                self.tell(
                    LogLine(f"{job} is set aside: {why}", event="set_aside", job=job, why=why)
                )
        self._kept = self._kept.replace(aside=dict(aside))

    def _due(self, state: Snapshot) -> bool:
        seen = self._seen
        if seen is None or self._again:
            return True
        if self._wake is not None and self._wake <= state.now:
            return True
        if self.guarded is not None and self.guarded.due:
            return True
        return (
            seen.waiting != state.waiting
            or seen.cluster != state.cluster
            or (seen.site is not state.site and seen.site != state.site)
            or self._held_in(seen) != self._held_in(state)
        )

    def _held_in(self, state: Snapshot) -> Mapping[str, object]:
        """What a pass depends on of the running jobs."""
        if policy_parts(self.policy).backfill.changes:  # one that starts can be shrunk a bit later
            return {
                job.id: (job.place, job.ours, job.settled, job.suspended) for job in state.running
            }
        return {job.id: (job.place, job.ours) for job in state.running}

    def _act(
        self, decisions: tuple[Decision, ...], state: Snapshot, decided: Decided
    ) -> tuple[Outcome, ...]:
        if not decisions:
            self._keep(memory=decided.memory)
            return ()
        guarded = guard(decisions, state, self.port.snapshot())
        intents = dict(self._kept.intents)
        for decision in guarded.allowed:
            intents[decision.job] = intent_of(decision, state.now)
        prepare = getattr(self.port, "prepare", None)
        if prepare is not None:
            prepare(guarded.allowed)
        self._keep(memory=decided.memory, intents=intents, port=self._port_memory())
        done = self.port.apply(guarded.allowed) if guarded.allowed else []
        self._refusals.note(done, state)
        for outcome in done:
            if outcome.done:
                self._count(DONE[outcome.decision.kind])
            else:
                intents.pop(outcome.decision.job, None)
                self._count(REFUSED)
        self._keep(intents=intents)
        outcomes = (*guarded.refused, *done)
        self._reports.of_outcomes(outcomes)
        return outcomes

    def _strike_out(self, state: Snapshot) -> None:
        """Forget the intents whose effect, or whose failure, can be seen."""
        if not self._kept.intents:
            return
        waits = {job.id for job in state.waiting}
        runs = {job.id for job in state.running}
        halted = {job.id for job in state.running if job.suspended}
        seen = {
            "start": (runs, waits), "stop": (waits, runs),
            "suspend": (halted, runs - halted), "continue": (runs - halted, halted),
        }  # fmt: skip
        held = {job.id: {host for host, _ in job.place} for job in state.running}
        left = {}
        for job, intent in self._kept.intents.items():
            if intent["kind"] == "shrink":
                shrunk = held.get(job) == {host for host, _ in intent["place"]}
                wanted, other = {job} if shrunk else set(), runs
            else:
                wanted, other = seen[intent["kind"]]
            if job in other and job not in wanted and intent["at"] < state.now:
                self._count("not_carried_out")
                self._again = True
            elif job not in wanted and job not in other and intent["at"] < state.now - 60:
                self._count("gone_meanwhile")
            elif job not in wanted:
                left[job] = intent
        if len(left) != len(self._kept.intents):
            self._keep(intents=left)

    def _keep(self, **changes: Any) -> None:
        self._kept = self._kept.replace(**changes)
        self.store.save(self._kept)

    def _count(self, name: str) -> None:
        counters = dict(self._kept.counters)
        counters[name] = counters.get(name, 0) + 1
        self._kept = self._kept.replace(counters=counters)


@contextlib.contextmanager
def collected_later() -> Iterator[None]:
    """No garbage collection meanwhile.

    Ten thousand jobs are some hundred thousand objects that live on, and a pass would walk through
    them several times. Between passes there is time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def intent_of(decision: Decision, now: int) -> Mapping[str, Any]:
    """A decision on its way as plain values."""
    values: dict[str, Any] = {"kind": decision.kind, "at": now}
    if isinstance(decision, Start | Resize):
        values["place"] = [list(part) for part in decision.place]
    return values
