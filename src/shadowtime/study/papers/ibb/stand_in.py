"""Without the logs: a generated workload with a memory that nobody measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.papers.ibb.case import GB, MIXED, PURE, Case, pool
from shadowtime.workload import lublin_workload, merge

if TYPE_CHECKING:
    from shadowtime.study.papers.subjects import Subject
    from shadowtime.types import Ints
    from shadowtime.workload import Workload

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
        kind="main",
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
