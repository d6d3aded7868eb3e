"""The experiment on HTCondor (section 4.3): 54 jobs, one a second, on four nodes.

The jobs were NAS parallel benchmarks; which ones, on how many processes and how long they ran is
not published. So they are drawn: powers of two up to all processors, run times between four
seconds and four minutes, both more often small. What the figure shows is its form, not its numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics.jobs import Jobs
from shadowtime.policy import parse_policy
from shadowtime.schedule.runs import started
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

JOBS, NODES, CORES, NODE_MEMORY = 54, 4, 8, 16 << 20
"""Jobs and nodes are the paper's, eight processors and 16 GB of memory a node are ours."""
SEED = 16
POLICIES = {"FCFS": "fcfs", "Best-fit": "greedy", "IBB": "ibb"}


def condor_jobs(seed: int = SEED) -> Workload:
    """The 54 jobs.

    Examples
    --------
    >>> jobs = condor_jobs()
    >>> len(jobs), int(jobs.submit[-1]), int(jobs.procs.max()) <= 32
    (54, 53, True)
    """
    rng = np.random.default_rng(seed)
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
    made = {name: simulate(jobs, pool, parse_policy(text)) for name, text in POLICIES.items()}
    return {name: Jobs.of(schedule, started(schedule)) for name, schedule in made.items()}
