"""Every run of the study: two workloads, two rules, four policies, a draw for every seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.metrics.energy import demand_of, peak_drawn
from shadowtime.metrics.time_limits import limit_use
from shadowtime.policy import parse_policy
from shadowtime.study.papers.hperf.machine import WORKLOADS, jobs_of, thesis_cluster
from shadowtime.study.papers.hperf.policies import POLICIES, RULES, UNLIMITED, text_of
from shadowtime.study.papers.reproduction import SubjectRun, Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.study.papers.subjects import Subject
    from shadowtime.workload import Workload

Key = tuple[str, str, str]
"""Workload, rule, policy."""
Measured = dict[Key, dict[str, float]]

READINGS: dict[str, dict[str, Any]] = {
    "exact limits": {"noise": 0.0},
    "slope 1": {"slope": 1.0},
    "36,000 MB/s a node": {"phys": 36_000},
    "10 nodes x 40,000": {"nodes": 10, "bandwidth": 40_000},
    "measured exactly": {"factor": "1"},
    "measured 20 % too high": {"factor": "1.2"},
    "read at the start": {"predict": "start"},
    "slowed jobs measured": {"record": "rate"},
    "8 processes a node alone": {"share": "8"},
}
"""What the text leaves open, one thing changed at a time."""
PICTURED = 1
"""The seed whose schedules are kept for figures and job lines."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """What was measured, seed by seed."""

    seeds: tuple[int, ...]
    main: tuple[Measured, ...]
    readings: Mapping[str, tuple[Measured, ...]]
    schedules: Mapping[Key, tuple[Workload, Schedule]]
    subjects: tuple[Subject, ...]

    def values(self, workload: str, rule: str, policy: str, measure: str) -> list[float]:
        """A measure, one value a seed."""
        return [found[workload, rule, policy][measure] for found in self.main]

    def reading(self, name: str, policy: str, measure: str) -> list[float]:
        """The same of a reading: High, unlimited time."""
        return [found["High", UNLIMITED, policy][measure] for found in self.readings[name]]

    def runs(self) -> dict[str, tuple[SubjectRun, ...]]:
        """The schedules of the pictured seed, by the label of their subject."""
        kept: dict[str, tuple[SubjectRun, ...]] = {}
        for (workload, rule, policy), (jobs, schedule) in self.schedules.items():
            label = label_of(workload, rule)
            run = SubjectRun(
                policy=text_of(policy, rule),
                schedule=schedule,
                parameters=parse_policy(text_of(policy, rule)).parameters,
                metrics=measure(schedule, jobs, thesis_cluster()),
            )
            kept[label] = (*kept.get(label, ()), run)
        return kept


def label_of(workload: str, rule: str) -> str:
    """The label of a subject."""
    return f"{workload}, {rule}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    """The tasks of the study."""

    seeds: tuple[int, ...]
    subjects: tuple[Subject, ...]
    readings: tuple[str, ...]

    def tasks(self) -> tuple[Task, ...]:
        """A task for every seed, and for every seed of every reading."""
        return (
            *(Task(name=f"seed {s}", work=partial(whole, s)) for s in self.seeds),
            *(
                Task(name=f"{name}, seed {s}", work=partial(reading, name, s))
                for name in self.readings
                for s in self.seeds
            ),
        )

    def collect(self, results: list[Any]) -> Findings:
        """The results of these tasks."""
        count = len(self.seeds)
        main = results[:count]
        others = {
            name: tuple(results[(k + 1) * count : (k + 2) * count])
            for k, name in enumerate(self.readings)
        }
        return Findings(
            seeds=self.seeds,
            main=tuple(found for found, _ in main),
            readings=others,
            schedules=main[0][1],
            subjects=self.subjects,
        )


def whole(seed: int) -> tuple[Measured, dict[Key, tuple[Workload, Schedule]]]:
    """All sixteen runs of a seed; the schedules of the pictured one."""
    found: Measured = {}
    kept: dict[Key, tuple[Workload, Schedule]] = {}
    cluster = thesis_cluster()
    for workload in WORKLOADS:
        jobs = jobs_of(workload, seed)
        for rule in RULES:
            for policy in POLICIES:
                schedule = simulate(jobs, cluster, parse_policy(text_of(policy, rule)))
                found[workload, rule, policy] = measured(schedule, jobs, cluster)
                if seed == PICTURED:
                    kept[workload, rule, policy] = jobs, schedule
    return found, kept


def reading(name: str, seed: int) -> Measured:
    """High with unlimited time, one thing changed."""
    changed = dict(READINGS[name])
    machine = {k: changed.pop(k) for k in ("nodes", "bandwidth", "slope", "phys") if k in changed}
    noise = {k: changed.pop(k) for k in ("noise",) if k in changed}
    jobs, cluster = jobs_of("High", seed, **noise), thesis_cluster(**machine)
    return {
        ("High", UNLIMITED, policy): measured(
            simulate(jobs, cluster, parse_policy(text_of(policy, UNLIMITED, **changed))),
            jobs,
            cluster,
        )
        for policy in POLICIES
    }


def measured(schedule: Schedule, jobs: Workload, cluster: Cluster) -> dict[str, float]:
    """The thesis' measures and the peak of the bandwidth, over its capacity."""
    use = limit_use(schedule, jobs)
    assert use.running + use.extra_requested == int(jobs.request.sum()), "6.4 does not hold"
    peak = peak_drawn(schedule, demand_of(jobs)) / cluster.total["bandwidth"]
    return {**use.as_dict(), "peak": peak, "consumed": use.running + use.extra_used}


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and standard error."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return float(np.mean(values)), error
