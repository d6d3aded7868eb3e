"""Real jobs: the beginning of two traces equals the slow reference start by start.

benchmarks/equal_naive.py compares whole traces.
"""

from __future__ import annotations

import numpy as np
import pytest

from conftest import thorough, trace_path
from naive import shorthand as naive
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.trace import read

POLICIES = {
    "fcfs": naive.fcfs,
    "easy": naive.easy,
    "easy-sjbf": lambda jobs, capacity: naive.easy(jobs, capacity, backfill="sjbf"),
    "conservative": naive.conservative,
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("name", "procs"), [("KTH-SP2-1996-2.1-cln", 100), ("SDSC-SP2-1998-4.2-cln", 128)]
)
def test_beginning_of_a_trace(name, procs, policy):
    """Every start of the first thousand jobs, in a quick run of the first four hundred."""
    first = np.arange(1000 if thorough() else 400)
    workload = read(trace_path(f"{name}.swf.gz")).take(first)
    columns = ("job_id", "submit", "procs", "request", "run", "limit")
    rows = zip(*(getattr(workload, column).tolist() for column in columns), strict=True)
    jobs = [naive.Job(i, s, (p,), q, r, m) for i, s, p, q, r, m in rows]
    expected = [row.start for row in POLICIES[policy](jobs, (procs,)).rows]
    schedule = simulate(workload, Cluster.pool(procs), parse_policy(policy))
    assert schedule.start.tolist() == expected


@pytest.mark.parametrize(
    ("policy", "blocked", "backfilled", "preempted"),
    [("easy", 4631, None, 0), ("pv-easy", 6423, 29431, 10242)],
)
def test_counts_of_a_whole_trace(policy, blocked, backfilled, preempted):
    """CTC on 430 processors gives the counts an independent prototype found."""
    workload = read(trace_path("CTC-SP2-1996-3.1-cln.swf.gz"))
    schedule = simulate(workload, Cluster.pool(430), parse_policy(policy))
    assert int((schedule.blocked_at >= 0).sum()) == blocked
    assert int((schedule.kills > 0).sum()) == preempted
    if backfilled is not None:
        assert int((schedule.reason == 3).sum()) == backfilled


def test_events_and_passes_of_a_whole_trace():
    """Counts cannot drift with the machine: a pass per instant, two events per job."""
    workload = read(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"))
    schedule = simulate(workload, Cluster.pool(100), parse_policy("easy"))
    instants = np.unique(np.concatenate([workload.submit, schedule.end]))
    assert schedule.counters["events"] == 2 * len(workload)
    assert schedule.counters["passes"] == len(instants)
