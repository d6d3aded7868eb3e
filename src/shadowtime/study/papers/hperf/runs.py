"""Every run of the study: two workloads, two rules, four policies, a draw for every seed.

The thesis' machine and workloads are used as far as they are known (spec: algorithms 6.2, 6.5);
its measures are how jobs use their time limits (spec: algorithms 6.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster, contention
from shadowtime.engine import simulate
from shadowtime.metrics.energy import demand_of, peak_drawn
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.study.papers.reproduction import Runs, Subject, SubjectRun, Task, of_kind
from shadowtime.workload import Workload, hperf_jobs

POLICIES = {
    "ConsRes": "consres",
    "LessC": "lessc",
    "HPerf": "hperf",
    "HPerf_preloaded": "hperf(preloaded=yes)",
}
"""As the published tables call them."""

UNLIMITED, GRACE = "unlimited time", "5 minutes of grace"
RULES = {UNLIMITED: "unlimited", GRACE: "300"}

TABLES = {
    ("High", UNLIMITED): 1,
    ("High", GRACE): 2,
    ("Medium", UNLIMITED): 3,
    ("Medium", GRACE): 4,
}
"""Tables 4.1 to 4.4."""

MEASURES = {
    "duration": "Duration",
    "running": "Running",
    "extra_requested": "Extra requested",
    "waiting": "Waiting",
    "extra_used": "Extra used",
    "killed": "Killed",
}


def text_of(policy: str, rule: str, **others: str) -> str:
    """A policy of the thesis as it can be typed.

    Examples
    --------
    >>> text_of("HPerf_preloaded", GRACE)
    'hperf(grace=300, preloaded=yes)'
    """
    name, _, rest = POLICIES[policy].rstrip(")").partition("(")
    settings = [f"grace={RULES[rule]}", *([rest] if rest else [])]
    if name == "hperf":
        settings += [f"{key}={value}" for key, value in others.items()]
    return f"{name}({', '.join(settings)})"


WORKLOADS = {"High": "high", "Medium": "medium"}
NODES, CORES, BANDWIDTH = 16, 16, 25_000
SLOPE = 0.36
NOISE = 0.1
"""Spread of the run times around what the limits were set for, log-normal."""


def thesis_cluster(
    *, nodes: int = NODES, bandwidth: int = BANDWIDTH, slope: float = SLOPE, phys: int = 0
) -> Cluster:
    """Nodes of 16 cores; ``phys`` is what a node can deliver where that is not its nominal value.

    Examples
    --------
    >>> thesis_cluster().total
    {'procs': 256, 'bandwidth': 400000}
    """
    machine = contention.node_cluster(nodes, procs=CORES, name="MareNostrum 3", bandwidth=bandwidth)
    law = {"shared": ["bandwidth"], "law": "sloped", "slope": slope}
    if phys:
        law["phys"] = {"bandwidth": phys}
    return machine.replace(options={"contention": law})


def jobs_of(name: str, seed: int, *, noise: float = NOISE) -> Workload:
    """A draw of a workload; its run times vary around those the limits were set for.

    Examples
    --------
    >>> a, b = jobs_of("High", 1), jobs_of("High", 1, noise=0)
    >>> bool((a.request == b.request).all()), int(b.run.sum()) - int(b.request.sum()) < 0
    (True, True)
    """
    jobs = hperf_jobs.hperf_workload(WORKLOADS[name], seed=seed)
    if noise == 0:
        return jobs
    spread = np.random.default_rng([seed, len(name)]).normal(0.0, noise, len(jobs))
    run = np.maximum(1, np.rint(jobs.run * np.exp(spread))).astype(np.int64)
    # Noise is work too (spec: algorithms 4.5).
    return jobs.replace(run=run, limit=np.maximum(jobs.limit, run))


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
            run = SubjectRun.of(text_of(policy, rule), schedule, jobs, thesis_cluster())
            kept[label] = (*kept.get(label, ()), run)
        return kept


def label_of(workload: str, rule: str) -> str:
    """The label of a subject."""
    return f"{workload}, {rule}"


def subjects() -> list[Subject]:
    """The workloads under both rules, as the pictured draw has them."""
    return [
        Subject(
            label=label_of(workload, rule),
            workload=jobs_of(workload, PICTURED),
            cluster=thesis_cluster(),
        )
        for workload, rule in TABLES
    ]


def runs(subjects: tuple[Subject, ...], seeds: int, quick: bool) -> Runs:
    """A task for every seed, and for every seed of every reading; ``quick`` omits the readings."""
    drawn = range(1, (min(seeds, 5) if quick else seeds) + 1)
    readings = () if quick else tuple(READINGS)
    tasks: dict[Any, Task] = {
        ("main", s): Task(name=f"seed {s}", work=partial(whole, s)) for s in drawn
    }
    for name in readings:
        for s in drawn:
            tasks[name, s] = Task(name=f"{name}, seed {s}", work=partial(reading, name, s))

    def collect(results: Mapping[Any, Any]) -> Findings:
        main = tuple(of_kind(results, "main").values())
        return Findings(
            seeds=tuple(drawn),
            main=tuple(found for found, _ in main),
            readings={name: tuple(of_kind(results, name).values()) for name in readings},
            schedules=main[0][1],
            subjects=subjects,
        )

    return Runs(tasks=tasks, collect=collect)


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


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """Sums over all jobs in seconds; running + extra_requested is the sum of the limits, always.

    ``first_waiting`` is the smallest rank by submission of a job that waited, 0 if none did.
    """

    duration: int
    running: int
    extra_requested: int
    waiting: int
    extra_used: int
    killed: int
    first_waiting: int

    def as_dict(self) -> dict[str, int]:
        """By name, in the order of the thesis' tables."""
        return asdict(self)


def limit_use(schedule: Schedule, workload: Workload) -> LimitUse:
    """What became of the requested times.

    Rules
    -----
    The limit is the request; running past it is extra use, ending before it leaves requested time
    unused. ``killed`` counts jobs stopped at their limit and the grace.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[50, 90], procs=[1, 1], request=[60, 60],
    ...                    limit=[90, 90], recorded_start=[0, 50])
    >>> use = limit_use(Schedule.recorded(w), w)
    >>> use.running, use.extra_requested, use.extra_used, use.waiting, use.first_waiting
    (110, 10, 30, 49, 2)
    """
    elapsed = schedule.end - schedule.start
    limit = np.maximum(workload.request, 1)
    waited = np.flatnonzero(schedule.start > workload.submit)
    return LimitUse(
        duration=int(schedule.end.max() - workload.submit.min()),
        running=int(np.minimum(elapsed, limit).sum()),
        extra_requested=int(np.maximum(0, limit - elapsed).sum()),
        waiting=int((schedule.start - workload.submit).sum()),
        extra_used=int(np.maximum(0, elapsed - limit).sum()),
        killed=int((schedule.killed == 1).sum()),
        first_waiting=int(waited[0]) + 1 if len(waited) else 0,
    )
