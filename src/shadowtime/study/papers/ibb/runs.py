"""What is run: the policies, and which are compared; the tasks, and what they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics.jobs import Jobs, pyss_filter
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import started
from shadowtime.study.papers.ibb.case import Case
from shadowtime.study.papers.reproduction import Runs, Subject, SubjectRun, Task, of_kind
from shadowtime.types import AnyArray, Reason
from shadowtime.workload import Workload, clean, leave_out, offered_load

JOBS, NODES, CORES, NODE_MEMORY = 54, 4, 8, 16 << 20
"""Jobs and nodes are the paper's, eight processors and 16 GB of memory a node are ours."""
CONDOR_SEED = 16
MODES = {"FCFS": "fcfs", "Best-fit": "greedy", "IBB": "ibb"}


def condor_jobs() -> Workload:
    """The 54 jobs.

    Examples
    --------
    >>> jobs = condor_jobs()
    >>> len(jobs), int(jobs.submit[-1]), int(jobs.procs.max()) <= 32
    (54, 53, True)
    """
    rng = np.random.default_rng(CONDOR_SEED)
    weight = np.array([3, 3, 4, 4, 2, 1])
    procs = 2 ** rng.choice(6, JOBS, p=weight / weight.sum())
    run = np.exp(rng.uniform(np.log(4), np.log(240), JOBS)).astype(np.int64)
    memory = procs * (rng.integers(32, 513, JOBS) << 10)
    return Workload.build(
        name="54 drawn jobs", submit=range(JOBS), run=run, procs=procs, demand={"memory": memory}
    )


def condor_runs() -> Mapping[str, Jobs]:
    """The schedules of the 54 jobs under HTCondor's two modes and IBB."""
    pool = Cluster.pool(NODES * CORES, memory=NODES * NODE_MEMORY)
    jobs = condor_jobs()
    made = {name: simulate(jobs, pool, parse_policy(text)) for name, text in MODES.items()}
    return {name: Jobs.of(schedule, started(schedule)) for name, schedule in made.items()}


ONE_RESOURCE = "EASY, processors"
"""EASY that ignores memory: where memory is scarce it promises what is not there, so it is a bound,
not a competitor."""

POLICIES = {
    "FCFS": "fcfs",
    "Best-fit": "greedy",
    ONE_RESOURCE: "easy",
    "EASY": "easy",
    "BB": "bb",
    "BB*": "bb(per_pass=until-none)",
    "BL": "bl",
    "IBB": "ibb",
    "IBB frozen": "ibb(threshold=frozen)",
}
"""What the tables call a policy, and what it is."""

SHAKEN = ("EASY", "BB", "BB*", "IBB")
"""Those that are run on shaken inputs too."""

DRAWN = ("Best-fit", "EASY", "BB", "BB*", "BL", "IBB", "IBB frozen")
"""Those that the figures show: on the scale of FCFS the others could not be distinguished."""

KEPT = ("EASY", "BB", "IBB")
"""Schedules that are kept for the report and the result folder."""

PAIRS = (
    ("IBB", "BB"),
    ("IBB frozen", "BB"),
    ("IBB", "BB*"),
    ("IBB", "EASY"),
    ("BB", "EASY"),
    ("BB*", "EASY"),
    ("BL", "EASY"),
)
"""Gains that are reported: of the first over the second."""

LEGEND = (
    "BB starts one job in a pass, as the paper reads it; BB* goes on until none is left. IBB's "
    "threshold is live, or frozen at the beginning of a pass. EASY is the one with all resources."
)

METRICS = {
    "wait": "average wait, s",
    "response": "average response, s",
    "slowdown": "average slowdown",
}


def over(pair: tuple[str, str]) -> str:
    """The column heading of a gain.

    Examples
    --------
    >>> over(("IBB", "BB"))
    'IBB/BB'
    """
    return "/".join(pair)


LEFT_OUT = 0.01
"""Part of the jobs that a draw leaves out."""
SHAKEN_LOADS = (0.6, 1.0, 1.4)
SEED = 7

Averages: TypeAlias = Mapping[str, float]
"""Average wait, response and slowdown by name."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One policy at one load: averages over all jobs, and over those that the filter leaves."""

    all_jobs: Averages
    filtered: Averages
    backfilled: int

    def of(self, metric: str, *, filtered: bool = False) -> float:
        return (self.filtered if filtered else self.all_jobs)[metric]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """All policies at one load of a case."""

    points: Mapping[str, Point]
    offered: Mapping[str, float]
    jobs: int
    runs: tuple[SubjectRun, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything measured: by case and load, and on the draws of main cases."""

    subjects: tuple[Subject, ...]
    cases: tuple[Case, ...]
    outcomes: Mapping[tuple[str, float], Outcome]
    draws: Mapping[tuple[str, float], tuple[Outcome, ...]]
    seeds: tuple[int, ...]
    condor: Mapping[str, Jobs]
    literal_is_fcfs: bool
    """Algorithm 1 to the letter gave the schedule of FCFS, job by job."""

    @property
    def generated(self) -> bool:
        return all(subject.generated for subject in self.subjects)

    def case(self, name: str) -> Case | None:
        """A case by name, None where its log is not there."""
        return next((case for case in self.cases if case.name == name), None)

    def main(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.main)

    def at(self, case: Case, load: float) -> Outcome:
        return self.outcomes[case.name, load]

    def gain(
        self, case: Case, load: float, pair: tuple[str, str], metric: str, *, filtered: bool = False
    ) -> float:
        """What the first policy gains over the second: 1 - its average over the other's."""
        return gain_of(self.at(case, load), pair, metric, filtered=filtered)

    def gains(
        self, case: Case, pair: tuple[str, str], metric: str, *, filtered: bool = False
    ) -> list[float]:
        """The same at every load of the case."""
        return [self.gain(case, load, pair, metric, filtered=filtered) for load in case.loads]

    def drawn(self, case: Case, load: float, pair: tuple[str, str], metric: str) -> list[float]:
        """The same on every draw."""
        return [gain_of(one, pair, metric) for one in self.draws[case.name, load]]


def gain_of(
    outcome: Outcome, pair: tuple[str, str], metric: str, *, filtered: bool = False
) -> float:
    """1 - a / b: above 0 where the first policy is better."""
    ours, theirs = (outcome.points[name].of(metric, filtered=filtered) for name in pair)
    return 1 - ours / theirs if theirs else 0.0


def runs(subjects: tuple[Subject, ...], cases: tuple[Case, ...], seeds: tuple[int, ...]) -> Runs:
    """Every case at every load, the long runs first, and draws of main cases at some loads."""
    points = [(case, load) for case in cases for load in case.loads]
    tasks: dict[Any, Task] = {
        ("point", case.name, load): _point(case, load)
        for case, load in sorted(points, key=lambda point: -point[1])  # these have long queues
    }
    for case in (one for one in cases if one.main):
        for load in shaken_loads(case):
            for seed in seeds:
                tasks["draw", case.name, load, seed] = _draw(case, load, seed)
    tasks["letter",] = Task(
        name="Algorithm 1 to the letter", work=lambda: literal_is_fcfs(cases[0])
    )
    tasks["condor",] = Task(name="54 jobs on HTCondor", work=condor_runs)

    def collect(results: Mapping[Any, Any]) -> Findings:
        draws: dict[tuple[str, float], tuple[Outcome, ...]] = {}
        for (name, load, _), found in of_kind(results, "draw").items():
            draws[name, load] = (*draws.get((name, load), ()), found)
        return Findings(
            subjects=subjects,
            cases=cases,
            outcomes=of_kind(results, "point"),
            draws=draws,
            seeds=seeds,
            literal_is_fcfs=results["letter",],
            condor=results["condor",],
        )

    return Runs(tasks=tasks, collect=collect)


def shaken_loads(case: Case) -> tuple[float, ...]:
    """Loads of a case at which it is shaken: those of SHAKEN_LOADS it has, else all it has."""
    return tuple(load for load in case.loads if load in SHAKEN_LOADS) or case.loads


def _point(case: Case, load: float) -> Task:
    def work() -> Outcome:
        return outcome(case.jobs(load), case.cluster, POLICIES, keep=case.main and load == 1)

    return Task(name=f"{case.name} at {load:g}", work=work)


def _draw(case: Case, load: float, seed: int) -> Task:
    chosen = {name: POLICIES[name] for name in SHAKEN}

    def work() -> Outcome:
        jobs = leave_out(case.jobs(load), LEFT_OUT, seed=np.random.default_rng([SEED, seed]))
        return outcome(jobs, case.cluster, chosen, keep=False)

    return Task(name=f"{case.name} at {load:g}, draw {seed}", work=work)


def literal_is_fcfs(case: Case) -> bool:
    """Does Algorithm 1, whose average can only grow, let any job overtake?"""
    jobs = case.jobs()
    letter, fcfs = (
        simulate(jobs, case.cluster, parse_policy(text))
        for text in ("ibb(threshold=literal)", "fcfs")
    )
    return bool((letter.start == fcfs.start).all())


def outcome(
    jobs: Workload, cluster: Cluster, policies: Mapping[str, str], *, keep: bool
) -> Outcome:
    """Simulate every policy; ``keep`` some schedules with all their metrics."""
    points, kept = {}, []
    for name, text in policies.items():
        schedule = _simulated(jobs, cluster, name, text)
        points[name] = _measured(schedule, jobs)
        if keep and name in KEPT:
            kept.append(SubjectRun.of(text, schedule, jobs, cluster))
    return Outcome(
        points=points, offered=offered_load(jobs, cluster), jobs=len(jobs), runs=tuple(kept)
    )


def _simulated(jobs: Workload, cluster: Cluster, name: str, text: str) -> Schedule:
    policy = parse_policy(text)
    if name == ONE_RESOURCE:
        processors = type(cluster).pool(cluster.procs)
        return simulate(clean.fit(jobs, processors, uncounted="ignore"), processors, policy)
    return simulate(jobs, cluster, policy)


def _measured(schedule: Schedule, jobs: Workload) -> Point:
    return Point(
        all_jobs=_averages(Jobs.of(schedule, started(schedule))),
        filtered=_averages(Jobs.of(schedule, pyss_filter(schedule, jobs))),
        backfilled=int((schedule.reason == Reason.BACKFILLED).sum()),
    )


def _averages(jobs: Jobs) -> Averages:
    columns: dict[str, AnyArray] = {
        "wait": jobs.wait,
        "response": jobs.response,
        "slowdown": jobs.slowdown,
    }
    return {name: float(values.mean()) for name, values in columns.items()}
