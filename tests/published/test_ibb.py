"""The logs of the IBB study: their memory, and what equation 2 makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import trace_path
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.trace import read
from shadowtime.workload import Workload
from shadowtime.workload.clean import fit

GB, MB = 1 << 20, 1 << 10


@pytest.fixture(scope="module")
def lanl() -> Workload:
    return read(trace_path("LANL-CM5-1994-4.1-cln.swf.gz"), memory=True)


def test_memory_of_lanl_cm5(lanl: Workload) -> None:
    """KB per processor times processors; the request first, else what was used; 32 MB at most."""
    each = lanl.demand[:, 1] / lanl.procs
    assert lanl.resources == ("procs", "memory") and each.max() <= 32 * MB
    assert 0.08 < lanl.cleaning["memory_from_used"] / len(lanl) < 0.10
    used = read(trace_path("LANL-CM5-1994-4.1-cln.swf.gz"), memory=True, mem_field="used")
    assert used.cleaning["memory_from_requested"] > 0
    assert not np.array_equal(used.demand[:, 1], lanl.demand[:, 1])


def test_memory_of_cerit_sc_and_metacentrum() -> None:
    """CERIT-SC's is requested; METACENTRUM's is used, and its estimates are its run times."""
    cerit = read(trace_path("CERIT-SC-2013-wagap.swf.gz"), memory=True)
    assert cerit.cleaning["memory_from_used"] == 0
    assert (cerit.demand[:, 1] > 0).mean() > 0.99
    meta = read(trace_path("METACENTRUM-2009-2.swf.gz"), memory=True)
    assert meta.cleaning["request_from_run"] == len(meta)
    assert meta.request.tolist() == meta.run.tolist()
    assert meta.cleaning["memory_from_used"] > 0.9 * len(meta)


def test_the_size_of_the_memory_does_not_enter_equation_2(lanl: Workload) -> None:
    """1 GB and 32 MB a processor never bind, and give IBB the same schedule."""
    starts = []
    for size in (GB, 32 * MB):
        pool = Cluster.pool(1024, memory=1024 * size)
        jobs = fit(lanl, pool)
        starts.append(simulate(jobs, pool, parse_policy("ibb")).start.tolist())
    assert starts[0] == starts[1]


def test_the_published_gain_on_the_pure_workload_is_a_loss(lanl: Workload) -> None:
    """As docs/policies/ibb.md says: IBB waits more than twice as long as BB, which follows EASY."""
    pool = Cluster.pool(1024, memory=1024 * GB)
    jobs = fit(lanl, pool)
    waits = {
        name: float(simulate(jobs, pool, parse_policy(name)).wait.mean())
        for name in ("easy", "bb", "ibb", "fcfs")
    }
    assert waits["easy"] < waits["bb"] < waits["ibb"] < waits["fcfs"]
    assert waits == pytest.approx({"easy": 1563, "bb": 1707, "ibb": 3783, "fcfs": 4395}, abs=1)
