"""What is run: the policies, the machine and jobs of each run, and what the runs find."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.metrics import Window
from shadowtime.metrics.contention import contention_metrics
from shadowtime.metrics.measure import scored
from shadowtime.policy import parse_policy
from shadowtime.study.papers.reproduction import Runs, Subject, SubjectRun, Task
from shadowtime.study.papers.values import Estimate
from shadowtime.workload import Workload, demand, job_range

COLUMNS = ("FF", "LC", "LCT=1", "LCT=1.15", "LCT=1.25", "LCT=1.5")
"""The columns of Tables 1 to 7, all of them SJBF."""
RUA = "RUA"

POLICIES = {
    "FF": "easy-sjbf(place=first-fit)",
    "LC": "easy-sjbf(place=less-consume)",
    "LCT=1": "easy-sjbf(place=less-consume(threshold=1))",
    "LCT=1.15": "easy-sjbf(place=less-consume(threshold=1.15))",
    "LCT=1.25": "easy-sjbf(place=less-consume(threshold=1.25))",
    "LCT=1.5": "easy-sjbf(place=less-consume(threshold=1.5))",
    RUA: "rua",
}

LIMIT = {
    "RUA, limit = request": "rua(limit=req)",
    "FF, limit = request x factor": "easy-sjbf(place=first-fit(limit=pf))",
}
"""The ablation: which policies profit from the better places, which from the longer limit."""

BEYOND = {
    "thresholds by load": "rua(by=load)",
    "predicted run times": "rua(estimate=last-two)",
    "true run times": "rua(estimate=actual)",
    "demand wrong by 10 %": "rua(estimate=noisy-demand(x=0.1))",
    "demand wrong by 20 %": "rua(estimate=noisy-demand(x=0.2))",
    "demand wrong by 50 %": "rua(estimate=noisy-demand(x=0.5))",
}
"""The paper's future work (its sections 5 and 9)."""

READINGS = ("FF", "LCT=1.15", RUA)
"""Run again where a choice of ours is turned round: the stretch, the size of CTC."""

KEPT = ("FF", "LCT=1.15", RUA)
"""Schedules that are kept for the report and the result folder."""

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

    @property
    def highs(self) -> tuple[int, ...]:
        """The values of high demand that were run."""
        return tuple(high for high in HIGHS if any(key.high == high for key in self.outcomes))

    @property
    def scenarios(self) -> tuple[str, ...]:
        there = {key.scenario for key in self.outcomes}
        return tuple(name for name in demand.SCENARIOS if name in there)

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
        return Estimate.of(found, scale=scale)

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
    return demand.draw_bandwidth(first, key.scenario, seed=key.seed, high=key.high)


def window_of(jobs: int) -> Window:
    """Half of the jobs warm the machine up."""
    return Window(warmup_jobs=min(WARM_UP, jobs // 2))


def runs(
    subjects: tuple[Subject, ...],
    seeds: tuple[int, ...],
    *,
    scenarios: tuple[str, ...] = tuple(demand.SCENARIOS),
    highs: tuple[int, ...] = HIGHS,
) -> Runs:
    """Every run once, the long ones first, with the demands of every seed."""
    slow = {"LCT=1": 0, "LC": 1}
    ordered = sorted(
        _keys(subjects, seeds, scenarios, highs), key=lambda key: slow.get(key.policy, 2)
    )
    named = {subject.label: subject for subject in subjects}
    first = Key("", scenarios[0], highs[0], "", seeds[0])
    kept = {first._replace(center=center, policy=name) for center in named for name in KEPT}
    return Runs(
        tasks={key: _task(named[key.center], key, key in kept) for key in ordered},
        collect=lambda results: Findings(subjects=subjects, seeds=seeds, outcomes=results),
    )


def _keys(
    subjects: tuple[Subject, ...],
    seeds: tuple[int, ...],
    scenarios: tuple[str, ...],
    highs: tuple[int, ...],
) -> Iterator[Key]:
    for center in (subject.label for subject in subjects):
        for seed in seeds:
            for scenario in scenarios:
                for high in highs:
                    for name in (*POLICIES, *(LIMIT if high == HIGHS[0] else ())):
                        yield Key(center, scenario, high, name, seed)
                if scenario != "LOW":
                    for name in BEYOND:
                        yield Key(center, scenario, HIGHS[0], name, seed)
            for reading in (WINDOW, *([NODES_128] if center == "CTC" else [])):
                for name in READINGS:
                    yield Key(center, scenarios[0], HIGHS[0], name, seed, reading)


def _task(subject: Subject, key: Key, keep: bool) -> Task:
    def work() -> Outcome:
        jobs, cluster = jobs_of(subject, key), machine(subject, key.reading)
        text = (POLICIES | LIMIT | BEYOND)[key.policy]
        schedule = simulate(jobs, cluster, parse_policy(text))
        window = window_of(len(jobs))
        which, _ = scored(schedule, jobs, window=window)
        run = SubjectRun.of(text, schedule, jobs, cluster, window=window) if keep else None
        return Outcome(metrics=contention_metrics(schedule, jobs, which), run=run)

    where = f"{key.center} {key.scenario} high={key.high}"
    return Task(name=f"{where}: {key.policy} {key.reading}".rstrip(), work=work)
