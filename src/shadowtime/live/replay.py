"""A port over a recorded log: the jobs of a workload on a machine whose clock jumps.

The live loop run over it must produce the same schedule as a simulation, which proves that both
decide alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from shadowtime.cluster import Cluster
from shadowtime.engine.live_pass import Decided, Memory
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.errors import UsageError
from shadowtime.live.loop import Loop
from shadowtime.live.port import (
    Decision,
    Ended,
    Outcome,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    WaitingJob,
)
from shadowtime.live.store import InMemory
from shadowtime.policy import Policy
from shadowtime.policy.estimate import ByTag
from shadowtime.policy.snapshot import natural
from shadowtime.workload import Workload


class Measured:
    """The records of a log's tags: sum and number, in thousandths of a MB/s.

    spec: algorithms 6.1.
    """

    def __init__(self, workload: Workload, part: ByTag) -> None:
        general, special = part.factors()
        self._of: dict[str, tuple[int, int]] = {}
        tags = workload.extra["tag"].tolist()
        for at, drawn in enumerate(workload.extra["bandwidth"].tolist()):
            one = math.floor(special.get(tags[at], general) * drawn * 1000)
            self._of[str(workload.job_id[at])] = tags[at], one
        self._records: dict[int, list[int]] = {}

    def learn(self, job: str) -> None:
        """A job has ended: its demand becomes a record of its tag."""
        tag, one = self._of[job]
        if tag >= 0:
            self._records.setdefault(tag, []).append(one)

    def mean(self, job: str) -> float:
        """The mean of the records of a job's tag, rounded up; -1 without any."""
        records = self._records.get(self._of[job][0])
        return -(-sum(records) // len(records)) / 1000 if records else -1


@dataclass(kw_only=True)
class LogPort:
    """The jobs of a log as a scheduler would show them; started jobs run as long as recorded.

    ``cluster`` lists the hosts. The clock stands still until :meth:`forward`. The demand of jobs is
    the workload's column ``bandwidth``; with ``measures`` it is what was measured for their tags
    before: given as by a submit plug-in, or as by a store that is queried at every poll.
    """

    workload: Workload
    cluster: Cluster
    measures: ByTag | None = None
    name: str = "log"
    clock: int = -1
    started: dict[str, int] = field(default_factory=dict)
    attempts: list[tuple[str, int, int]] = field(default_factory=list)
    """Runs that were stopped: job, start, end."""
    decided: list[tuple[int, Decision]] = field(default_factory=list)
    """What was carried out, with the instant."""

    def __post_init__(self) -> None:
        work = self.workload
        have = {name: column for column, name in enumerate(work.resources)}
        drawn = work.extra.get("bandwidth", [-1] * len(work))
        self._measured = Measured(work, self.measures) if self.measures else None
        self._jobs: dict[str, WaitingJob] = {}
        self._run: dict[str, int] = {}
        for at in range(len(work)):
            job = str(work.job_id[at])
            need = tuple(
                int(work.demand[at, have[name]]) if name in have else 0
                for name in self.cluster.resources
            )
            user = int(work.user[at])
            self._jobs[job] = WaitingJob(
                id=job,
                submit=int(work.submit[at]),
                need=need,
                request=int(work.request[at]),
                user="" if user < 0 else str(user),
                bandwidth=-1 if self.measures else int(drawn[at]),
            )
            self._run[job] = int(work.effective_run[at])
        self._coming = list(self._jobs)
        self._waits: dict[str, None] = {}
        self._runs: dict[str, RunningJob] = {}
        self._ended: list[Ended] = []

    def forward(self, wake: int | None = None) -> bool:
        """Go to the next instant at which something happens; False when nothing is left."""
        instants = [] if wake is None else [wake]
        if self._coming:
            instants.append(self._jobs[self._coming[0]].submit)
        instants += [run.start + self._run[job] for job, run in self._runs.items()]
        if not instants:
            return False
        self.clock = min(instants)
        for job in sorted(self._runs, key=natural):
            run = self._runs[job]
            if run.start + self._run[job] == self.clock:
                self._ended.append(
                    Ended(
                        id=job, start=run.start, end=self.clock, request=run.request, user=run.user
                    )
                )
                del self._runs[job]
                if self._measured is not None:
                    self._measured.learn(job)
        while self._coming and self._jobs[self._coming[0]].submit <= self.clock:
            self._waits[self._coming.pop(0)] = None
            self._predict(next(reversed(self._waits)))
        if self.measures is not None and self.measures.predict == "start":
            for job in self._waits:
                self._predict(job)
        return True

    def _predict(self, job: str) -> None:
        """Record what is known about a waiting job's tag now."""
        if self._measured is not None:
            self._jobs[job] = replace(self._jobs[job], bandwidth=self._measured.mean(job))

    def snapshot(self) -> Snapshot:
        """The jobs as they stand."""
        return Snapshot(
            now=self.clock,
            cluster=self.cluster,
            waiting=tuple(self._jobs[job] for job in self._waits),
            running=tuple(self._runs.values()),
            ended=tuple(self._ended[-200:]),
        )

    def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Let decisions happen at once."""
        for decision in decisions:
            self.decided.append((self.clock, decision))
            job = self._jobs[decision.job]
            if isinstance(decision, Stop):
                run = self._runs.pop(decision.job)
                self.attempts.append((decision.job, run.start, self.clock))
                self._waits[decision.job] = None
                continue
            assert isinstance(decision, Start)
            del self._waits[decision.job]
            self.started[decision.job] = self.clock
            self._runs[decision.job] = RunningJob(
                id=job.id,
                submit=job.submit,
                need=job.need,
                request=job.request,
                user=job.user,
                start=self.clock,
                place=decision.place,
                bandwidth=job.bandwidth,
            )
        return [Outcome(decision, True) for decision in decisions]


class _Still:
    """The port keeps the time."""

    def now(self) -> float:
        return 0.0

    def steady(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise UsageError("a log does not wait")


def follow(
    port: LogPort,
    policy: Policy,
    *,
    shape: Shape = "pool",
    record: Callable[[Snapshot, Memory, Decided, tuple[Decision, ...]], None] | None = None,
) -> LogPort:
    """Drive a log through the live loop from its first job to its last.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> four = Cluster(shape="nodes", hosts=(Host("n1", (2,)), Host("n2", (2,))))
    >>> follow(LogPort(workload=jobs, cluster=four), parse_policy("easy")).started
    {'1': 0, '3': 2, '2': 9}
    """
    loop = Loop(
        port=port,
        policy=policy,
        store=InMemory(),
        clock=_Still(),
        shape=shape,
        act=True,
        record=record,
    )
    wake: int | None = None
    while port.forward(wake):
        step = loop.step()
        wake = step.decided.wake if step.decided is not None else wake
        if wake is not None and wake <= port.clock:
            wake = None
        # A job that was stopped and started in one pass is back in the queue at once here.
        port.apply([o.decision for o in step.outcomes if not o.done])
    return port
