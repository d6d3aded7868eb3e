"""The fast pass for priority orders decides as the general pass does, in long queues too."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import COLUMNS
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import plan, simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

POOL = Cluster.pool(100)
TWO = Cluster.pool(100, memory=150)
HOSTS = Cluster(
    shape="hosts",
    resources=("procs", "memory"),
    hosts=tuple(Host(f"h{k}", (32, 64) if k else (16, 128)) for k in range(4)),
    options={"dedicated": {"procs": 24}},
)


def crowd(seed, *, jobs=1_500, widest=100, overruns=False):
    """Jobs of few estimates and widths that arrive faster than the machine can run them."""
    draw = np.random.default_rng(seed)
    request = 60 * draw.choice([1, 2, 5, 10, 30, 60, 120, 300], jobs)
    share = draw.uniform(0.05, 1.3 if overruns else 1.0, jobs)
    return Workload.build(
        submit=np.sort(draw.integers(0, 100 * jobs, jobs)),
        procs=np.minimum(draw.geometric(0.06, jobs), widest),
        request=request,
        run=np.maximum(1, (request * share).astype(int)),
        limit=np.full(jobs, 1 << 30),
        user=draw.integers(1, 5, jobs),
        demand={"memory": draw.choice([1, 2, 4, 8, 16, 64], jobs)},
    )


def one(workload):
    """The same jobs without memory."""
    return workload.replace(resources=("procs",), demand=workload.demand[:, :1])


@pytest.mark.parametrize("overruns", [False, True])
@pytest.mark.parametrize(
    ("policy", "cluster"),
    [
        *((policy, POOL) for policy in ("lxfw", "lxf", "sjf", "lxfwp", "easy(reserve=4)")),
        *((policy, TWO) for policy in ("lxfw", "lpf", "lxfw(estimate=last-two)")),
        *((policy, HOSTS) for policy in ("lxfw", "part-l-sm(hosts=1)", "part-l-a(hosts=1)")),
        ("dynamic-conservative", POOL),
    ],
)
def test_equals_the_general_pass(policy, cluster, overruns, monkeypatch):
    """Every column of every job, the hosts and the counters."""
    chosen = parse_policy(policy)
    jobs = crowd(5, widest=16 if cluster is HOSTS else 100, overruns=overruns)
    jobs = one(jobs) if cluster is POOL else jobs
    assert plan.is_priority_order(chosen, cluster)
    fast = simulate(jobs, cluster, chosen)
    monkeypatch.setattr(plan, "is_priority_order", lambda *_: False)
    slow = simulate(jobs, cluster, chosen)
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(slow, name)), name
    assert fast.place == slow.place
    assert fast.counters == slow.counters
    assert fast.wait.mean() > 3600  # there was a queue


@pytest.mark.parametrize(
    "policy",
    [
        "lxfw(estimate=last)",  # estimates of waiting jobs change: equal now, not later
        "lxfw(wait=-1)",  # later submissions may come first
        "lxfw(backfill=sjbf)",
        "wfp3",
        "pv-easy",
    ],
)
def test_rejected_where_it_has_no_meaning(policy):
    """The general pass handles what this one cannot."""
    assert not plan.is_priority_order(parse_policy(policy), POOL)
