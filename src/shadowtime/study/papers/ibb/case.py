"""Jobs on a machine, at relative loads.

The two workloads of the paper on its machine, on others, and in every reading of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.study.papers.reproduction import Subject
from shadowtime.trace import read
from shadowtime.types import Ints
from shadowtime.workload import Workload, clean, lublin_workload, merge, scale_load

PURE, MIXED, CERIT = "pure", "mixed", "CERIT-SC"
"""The main cases."""

GB = 1 << 20
"""In KB, the unit of memory."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """What is simulated: the jobs, the machine, the relative loads.

    ``main`` cases have a separate table and figure, are shaken, and their resources are
    analysed. A ``reading`` is a main case read in another way.
    """

    name: str
    says: str
    make: Callable[[], Workload]
    """The jobs, made when a run asks for them."""
    cluster: Cluster
    loads: tuple[float, ...]
    kind: Literal["main", "machine", "reading"] = "main"

    @property
    def main(self) -> bool:
        return self.kind == "main"

    def on(self, what: str, says: str, cluster: Cluster, loads: tuple[float, ...]) -> Case:
        """The same on another machine."""
        name = f"{self.name}, {what}"
        return replace(self, name=name, says=says, cluster=cluster, loads=loads, kind="machine")

    def read_as(self, what: str, says: str, make: Callable[[], Workload]) -> Case:
        """The same read in another way, at relative load 1."""
        name = f"{self.name}, {what}"
        return replace(self, name=name, says=says, make=make, loads=(1.0,), kind="reading")

    def jobs(self, load: float = 1.0) -> Workload:
        """The jobs that fit on the machine, arriving ``load`` times as fast as recorded."""
        fitting = clean.fit(self.make(), self.cluster)
        return fitting if load == 1 else scale_load(fitting, load)


def pool(procs: int, memory_each: int) -> Cluster:
    """A pool with this many KB of memory per processor.

    Examples
    --------
    >>> pool(2, GB).total
    {'procs': 2, 'memory': 2097152}
    """
    return Cluster.pool(procs, memory=procs * memory_each)


SEED = 5
NARROW = 1500
"""Jobs that are mixed in."""
LOADS = (0.6, 1.0, 1.4)
MB = 1 << 10
"""In KB, the unit of memory."""


def generated_cases(subject: Subject) -> list[Case]:
    """Two small cases in the place of the paper's: wide jobs with little memory, and with others.

    Memory is KB a processor, drawn log-normally: a median of 150 MB for the demo's jobs, of 700 MB
    for those that are mixed in, which are narrow and whose estimates are their run times.
    """
    procs = subject.cluster.procs
    plain = with_memory(subject.workload, median=150 * MB)
    narrow = lublin_workload(NARROW, seed=SEED, procs=max(procs // 16, 2))
    narrow = with_memory(narrow, median=700 * MB)
    together = merge(plain, narrow, name="generated, mixed")
    pure = Case(
        name=PURE,
        says="generated jobs with a drawn memory",
        make=lambda: plain,
        cluster=pool(procs, GB),
        loads=LOADS,
    )
    says = "the same with narrow jobs that need more memory"
    return [pure, replace(pure, name=MIXED, says=says, make=lambda: together)]


def with_memory(workload: Workload, *, median: int) -> Workload:
    """The same jobs, each processor with a drawn amount of memory in whole MB, 1 GB at most.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[5], procs=[2])
    >>> with_memory(jobs, median=100 * MB).resources
    ('procs', 'memory')
    """
    rng = np.random.default_rng([SEED, median])
    factor = np.exp(rng.normal(0.0, 1.0, len(workload)))
    each: Ints = np.clip(median * factor // MB, 1, 1024).astype(np.int64) * MB
    demand = np.stack([workload.procs, workload.procs * each], axis=1)
    return workload.replace(demand=demand, resources=("procs", "memory"))


GRID = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
COARSE = (0.6, 1.0, 1.4)
UP_TO_ONE = (0.6, 0.8, 1.0)
"""Of machines that are overloaded beyond the log's own load."""
QUICK = (0.6, 1.0)

LANL_PROCS, MIXED_PROCS = 1024, 1830
LADDER = (2 * 3600, 24 * 3600, 720 * 3600)
"""Estimates of METACENTRUM by its queues' limits: the shortest that holds the job."""


def cases_of(subjects: Sequence[Subject], *, quick: bool) -> tuple[Case, ...]:
    """Every case that these logs allow; ``quick``: the main ones at two loads."""
    known = {subject.label: subject for subject in subjects}
    found = generated_cases(subjects[0]) if subjects[0].generated else _of_logs(known)
    if not quick:
        return tuple(found)
    return tuple(replace(case, loads=QUICK) for case in found if case.main)


def _of_logs(known: dict[str, Subject]) -> list[Case]:
    found: list[Case] = []
    lanl, meta, cerit = (known.get(name) for name in ("LANL-CM5", "METACENTRUM", CERIT))
    if lanl:
        found += _pure(lanl)
    if lanl and meta:
        found += _mixed(lanl.workload, meta.workload)
    if cerit:
        found += _cerit(cerit.workload, cerit.cluster)
    return found


def _pure(lanl: Subject) -> list[Case]:
    jobs, path = lanl.workload, lanl.path
    assert path is not None
    paper = Case(
        name=PURE,
        says="LANL-CM5 on 1,024 processors with 1 GB each, as in the paper",
        make=lambda: jobs,
        cluster=pool(LANL_PROCS, GB),
        loads=GRID,
    )

    def again(**switches: Any) -> Callable[[], Workload]:
        return lambda: read(path, memory=True, **switches)

    readings = {
        "memory used": (again(mem_field="used"), "memory as used, not as requested"),
        "request raised": (again(overrun="extend"), "jobs that overran: request raised to the run"),
        "no limit": (again(overrun="keep"), "jobs that overran: nothing kills them"),
        "exact estimates": (lambda: with_estimates(jobs, jobs.effective_run), "estimate = run"),
    }
    machines = {"32 MB": (5, COARSE, "as the CM-5 had"), "16 MB": (6, UP_TO_ONE, "memory binds")}
    return [
        paper,
        *(
            paper.on(size, f"{size} a processor: {why}", pool(LANL_PROCS, GB >> halvings), loads)
            for size, (halvings, loads, why) in machines.items()
        ),
        *(paper.read_as(name, says, make) for name, (make, says) in readings.items()),
    ]


def _mixed(lanl: Workload, meta: Workload) -> list[Case]:
    mixed = merge(lanl, meta, name="LANL-CM5+METACENTRUM-2009")
    paper = Case(
        name=MIXED,
        says="LANL-CM5 and METACENTRUM-2009 on 1,830 processors with 1 GB each",
        make=lambda: mixed,
        cluster=pool(MIXED_PROCS, GB),
        loads=GRID,
    )

    def estimated(request: Ints) -> Callable[[], Workload]:
        return lambda: merge(lanl, with_estimates(meta, request), name=mixed.name)

    readings = {
        "3 x run": (3 * meta.run, "METACENTRUM's estimates are 3 x the run"),
        "queue limits": (by_ladder(meta.run), "METACENTRUM's estimates are 2, 24 or 720 h"),
    }
    says, smaller = "1,024 processors in place of 1,830", pool(LANL_PROCS, GB)
    return [
        paper,
        paper.on("1,024 processors", says, smaller, UP_TO_ONE),
        *(paper.read_as(name, why, estimated(asked)) for name, (asked, why) in readings.items()),
    ]


def _cerit(jobs: Workload, cluster: Cluster) -> list[Case]:
    whole = Case(
        name=CERIT,
        says="2,176 processors with all their memory in one pool",
        make=lambda: jobs,
        cluster=cluster,
        loads=GRID,
    )
    less = Cluster.pool(cluster.procs, memory=cluster.total["memory"] // 2)
    return [whole, whole.on("half the memory", "half of the memory", less, COARSE)]


def with_estimates(workload: Workload, request: Ints) -> Workload:
    """The same jobs asking for these times; one that was cut at a limit runs as long as before."""
    run = workload.effective_run
    asked = np.maximum(request, run)
    return workload.replace(run=run, request=asked, limit=asked)


def by_ladder(run: Ints) -> Ints:
    """The shortest queue limit that holds each run; a run beyond all of them is its own.

    Examples
    --------
    >>> by_ladder(np.array([10, 7200, 7201, 9_000_000])).tolist()
    [7200, 7200, 86400, 9000000]
    """
    limits = np.array(LADDER, np.int64)
    rung = np.minimum(np.searchsorted(limits, run), len(limits) - 1)
    return np.maximum(limits[rung], run)
