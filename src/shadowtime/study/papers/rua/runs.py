"""The runs behind the tables and figures: tasks that simulate and measure, and what they find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.metrics import Window, measure
from shadowtime.metrics.contention import contention_metrics
from shadowtime.metrics.measure import scored
from shadowtime.policy import parse_policy
from shadowtime.study.papers.reproduction import SubjectRun, Task
from shadowtime.study.papers.rua.policies import BEYOND, KEPT, LIMIT, POLICIES, READINGS
from shadowtime.workload import job_range
from shadowtime.workload.demand import SCENARIOS, draw_bandwidth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.study.papers.subjects import Subject
    from shadowtime.workload import Workload

JOBS, WARM_UP = 20_000, 10_000
"""Simulated, and how many of them are not scored."""
PROCS, BANDWIDTH = 4, 6000
"""Of a node; MB/s."""
HIGHS = (2000, 1750)
"""MB/s of a process with high demand: the paper's text has lost its value."""
PLAIN, WINDOW, NODES_128 = "", "stretch=window", "128 nodes"


class Key(NamedTuple):
    """One run."""

    center: str
    scenario: str
    high: int
    policy: str
    seed: int
    reading: str = PLAIN


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What is measured of a run."""

    metrics: Mapping[str, float]
    run: SubjectRun | None = None


ROUNDING = 1e-12
"""Shares that differ by less than this differ in how they were rounded."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its standard error (None for one seed)."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def error(self) -> float | None:
        n = len(self.values)
        if n < 2:
            return None
        spread = sum((value - self.mean) ** 2 for value in self.values) / (n - 1)
        error = math.sqrt(spread / n)
        return error if error > ROUNDING * abs(self.mean) else 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything measured, by run."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    outcomes: Mapping[Key, Outcome]

    @property
    def generated(self) -> bool:
        return all(subject.generated for subject in self.subjects)

    @property
    def centers(self) -> tuple[str, ...]:
        return tuple(subject.label for subject in self.subjects)

    def of(
        self,
        center: str,
        scenario: str,
        policy: str,
        metric: str,
        *,
        high: int = HIGHS[0],
        reading: str = PLAIN,
        scale: float = 1.0,
    ) -> Estimate | None:
        """A metric over the seeds; None where it was not run or nothing finished."""
        keys = [Key(center, scenario, high, policy, seed, reading) for seed in self.seeds]
        found = [self.outcomes[key].metrics.get(metric) for key in keys if key in self.outcomes]
        known = [value * scale for value in found if value is not None]
        return Estimate(tuple(known)) if known else None

    def mean(self, *key: str, high: int = HIGHS[0], scale: float = 1.0) -> float:
        """The mean of it, nan where there is none."""
        found = self.of(*key, high=high, scale=scale)
        return math.nan if found is None else found.mean


def machine(subject: Subject, reading: str) -> Cluster:
    """The nodes of a center: its processors by four, or 128 nodes."""
    nodes = 128 if reading == NODES_128 else -(-subject.cluster.procs // PROCS)
    found = node_cluster(nodes, procs=PROCS, name=subject.label, bandwidth=BANDWIDTH)
    if reading == WINDOW:
        contention = {"shared": ["bandwidth"], "stretch": "window"}
        found = found.replace(options={"contention": contention})
    return found


def jobs_of(subject: Subject, key: Key) -> Workload:
    """The first jobs of a center's log with the demands of a scenario."""
    first = job_range(subject.workload, 0, min(JOBS, len(subject.workload)))
    return draw_bandwidth(first, key.scenario, seed=key.seed, high=key.high)


def window_of(jobs: int) -> Window:
    """Half of the jobs warm the machine up."""
    return Window(warmup_jobs=min(WARM_UP, jobs // 2))


@dataclass(frozen=True, eq=False)
class Runs:
    """The keys of all runs, the long ones first."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    highs: tuple[int, ...] = HIGHS

    def keys(self) -> list[Key]:
        """Every run once."""
        found = []
        for subject in self.subjects:
            center = subject.label
            for seed in self.seeds:
                for scenario in self.scenarios:
                    for high in self.highs:
                        names = [*POLICIES, *(LIMIT if high == HIGHS[0] else ())]
                        found += [Key(center, scenario, high, name, seed) for name in names]
                    if scenario != "LOW":
                        beyond = [Key(center, scenario, HIGHS[0], name, seed) for name in BEYOND]
                        found += beyond
                readings = [WINDOW, *([NODES_128] if center == "CTC" else [])]
                found += [
                    Key(center, self.scenarios[0], HIGHS[0], name, seed, reading)
                    for reading in readings
                    for name in READINGS
                ]
        slow = {"LCT=1": 0, "LC": 1}
        return sorted(found, key=lambda key: slow.get(key.policy, 2))

    def tasks(self) -> tuple[Task, ...]:
        """The runs as tasks."""
        named = {subject.label: subject for subject in self.subjects}
        return tuple(_task(named[key.center], key, self._kept(key)) for key in self.keys())

    def collect(self, results: Sequence[Any]) -> Findings:
        """The results of these tasks by their keys."""
        return Findings(
            subjects=self.subjects,
            seeds=self.seeds,
            outcomes=dict(zip(self.keys(), results, strict=True)),
        )

    def _kept(self, key: Key) -> bool:
        first = Key(key.center, self.scenarios[0], self.highs[0], key.policy, self.seeds[0])
        return key == first and key.policy in KEPT


def _task(subject: Subject, key: Key, keep: bool) -> Task:
    def work() -> Outcome:
        jobs, cluster = jobs_of(subject, key), machine(subject, key.reading)
        text = (POLICIES | LIMIT | BEYOND)[key.policy]
        policy = parse_policy(text)
        schedule = simulate(jobs, cluster, policy)
        window = window_of(len(jobs))
        which, _ = scored(schedule, jobs, window=window)
        metrics = contention_metrics(schedule, jobs, which)
        if not keep:
            return Outcome(metrics=metrics)
        run = SubjectRun(
            policy=text,
            schedule=schedule,
            parameters=policy.parameters,
            metrics=measure(schedule, jobs, cluster, window=window),
        )
        return Outcome(metrics=metrics, run=run)

    where = f"{key.center} {key.scenario} high={key.high}"
    return Task(name=f"{where}: {key.policy} {key.reading}".rstrip(), work=work)
