"""RUA's machine on SDSC-BLUE: under first fit a closed form gives the killed jobs.

spec: algorithms 4.1.
"""

from __future__ import annotations

import numpy as np
import pytest

from conftest import trace_path
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.metrics import Window, measure
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.trace import read
from shadowtime.workload import Workload, job_range
from shadowtime.workload.demand import draw_bandwidth

CAPACITY, CORES = 6000, 4


@pytest.fixture(scope="module")
def blue() -> Workload:
    return job_range(read(trace_path("SDSC-BLUE-2000-4.2-cln.swf.gz")), 0, 20_000)


def first_fit(jobs: Workload) -> Schedule:
    cluster = node_cluster(288, bandwidth=CAPACITY)
    return simulate(jobs, cluster, parse_policy("easy-sjbf(place=first-fit)"))


@pytest.mark.parametrize("scenario", ["HIGH", "MED", "LOW"])
def test_whole_nodes_have_a_closed_form(blue: Workload, scenario: str) -> None:
    """Every job fills its nodes, so which jobs share does not depend on the schedule."""
    assert (blue.procs % 8 == 0).all()
    jobs = draw_bandwidth(blue, scenario)
    made = first_fit(jobs)
    asked = np.maximum(CORES * jobs.extra["bandwidth"], CAPACITY)
    work = jobs.effective_run
    stretched = -(-work * asked // CAPACITY)
    assert (made.end - made.start == np.minimum(stretched, jobs.request)).all()
    assert (made.killed == (work * asked > jobs.request * CAPACITY)).all()


def test_the_killed_jobs_of_table_7(blue: Workload) -> None:
    """SDSC MED, first fit: the closed form counts them too; the paper's 255 is of the same size."""
    jobs = draw_bandwidth(blue, "MED")
    cluster = node_cluster(288, bandwidth=CAPACITY)
    found = measure(first_fit(jobs), jobs, cluster, window=Window(warmup_jobs=10_000))
    asked = np.maximum(CORES * jobs.extra["bandwidth"], CAPACITY)
    late = jobs.run * asked > jobs.request * CAPACITY
    killed = (late & (jobs.run < jobs.request))[10_000:].sum()
    assert found["killed_contention"] == killed
    assert killed == pytest.approx(255, rel=0.25)
