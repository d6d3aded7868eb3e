"""A port over a recorded log: the jobs of a workload on a machine whose clock jumps.

The live loop run over it must make the very schedule that a simulation makes, which is how the
two are proved to decide alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.engine.once.moment import natural
from shadowtime.errors import UsageError
from shadowtime.live.loop import Loop
from shadowtime.live.port import Ended, Outcome, Running, State, Stop, Waiting
from shadowtime.live.store import InMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.engine.once import Decided, Memory
    from shadowtime.engine.once.decide import Shape
    from shadowtime.live.port import Decision
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


@dataclass(kw_only=True)
class LogPort:
    """The jobs of a log as a scheduler would show them; started jobs end when the log says.

    ``cluster`` lists the hosts. The clock stands still until :meth:`forward`.
    """

    workload: Workload
    cluster: Cluster
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
        self._jobs: dict[str, Waiting] = {}
        self._run: dict[str, int] = {}
        for at in range(len(work)):
            job = str(work.job_id[at])
            need = tuple(
                int(work.demand[at, have[name]]) if name in have else 0
                for name in self.cluster.resources
            )
            user = int(work.user[at])
            self._jobs[job] = Waiting(
                id=job,
                submit=int(work.submit[at]),
                need=need,
                request=int(work.request[at]),
                user="" if user < 0 else str(user),
            )
            self._run[job] = int(work.effective_run[at])
        self._coming = list(self._jobs)
        self._waits: dict[str, None] = {}
        self._runs: dict[str, Running] = {}
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
        while self._coming and self._jobs[self._coming[0]].submit <= self.clock:
            self._waits[self._coming.pop(0)] = None
        return True

    def snapshot(self) -> State:
        """The jobs as they stand."""
        return State(
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
            del self._waits[decision.job]
            self.started[decision.job] = self.clock
            self._runs[decision.job] = Running(
                id=job.id,
                submit=job.submit,
                need=job.need,
                request=job.request,
                user=job.user,
                start=self.clock,
                place=decision.place,
            )
        return [Outcome(decision, True) for decision in decisions]


class _Still:
    """The port keeps the time."""

    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise UsageError("a log does not wait")


def follow(
    port: LogPort,
    policy: Policy,
    *,
    shape: Shape = "pool",
    record: Callable[[State, Memory, Decided, tuple[Decision, ...]], None] | None = None,
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
        # Whoever was stopped and started in one pass is back in the queue at once here.
        port.apply([o.decision for o in step.outcomes if not o.done])
    return port
