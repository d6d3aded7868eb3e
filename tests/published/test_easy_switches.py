"""EASY's switches, which the PV-EASY paper's baseline may have used, with queues that matter."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import examples, trace_path
from engine.worlds import assert_same, simulated
from naive import shorthand as naive
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import fairness, measure
from shadowtime.policy import parse_policy
from shadowtime.trace import read
from shadowtime.workload import Workload

SWITCHES = {
    "extra_update=no": {"extra_update": False},
    "fixed_reservation=yes": {"fixed_reservation": "yes"},
    "fixed_reservation=yes, extra_update=no": {"fixed_reservation": "yes", "extra_update": False},
}


def crowd(seed: int) -> tuple[list[naive.Job], tuple[int]]:
    """Up to 40 mostly narrow jobs in a minute: many arrive while the same head is blocked."""
    draw = np.random.default_rng(seed)
    procs = int(draw.choice([8, 20]))
    jobs = []
    for number in range(1, int(draw.integers(5, 40)) + 1):
        request = int(draw.integers(1, 40))
        need = int(draw.integers(1, procs + 1)) if draw.random() < 0.3 else int(draw.integers(1, 4))
        jobs.append(
            naive.Job(
                id=number,
                submit=int(draw.integers(0, 60)),
                need=(need,),
                request=request,
                run=max(1, int(request * draw.uniform())),
                limit=request,
                user=int(draw.integers(0, 3)),
            )
        )
    return sorted(jobs, key=lambda job: (job.submit, job.id)), (procs,)


@pytest.mark.parametrize("estimate", ["requested", "last", "last-two"])
@pytest.mark.parametrize("switches", SWITCHES)
def test_equal_to_the_slow_reference(switches, estimate):
    """Job by job, however many pass while the head waits."""
    policy = f"easy({switches}, estimate={estimate})"
    for seed in range(examples(80)):
        jobs, capacity = crowd(seed)
        reference = naive.easy(jobs, capacity, estimate=estimate, **SWITCHES[switches])
        assert_same(simulated(jobs, capacity, policy), reference)


@pytest.fixture(scope="module")
def ctc() -> Workload:
    return read(trace_path("CTC-SP2-1996-3.1-cln.swf.gz"))


@pytest.mark.parametrize(
    ("policy", "blocked", "delayed", "minutes", "hours"),
    [
        ("easy", 4631, 757, 40.7, 8.0),
        ("easy(fixed_reservation=yes)", 3891, 768, 61.3, 13.8),
        ("easy(extra_update=no)", 3937, 708, 75.7, 17.8),
        ("easy(fixed_reservation=yes, extra_update=no)", 3752, 767, 75.1, 16.3),
    ],
)
def test_the_baselines_on_ctc(ctc, policy, blocked, delayed, minutes, hours):
    """Blocked jobs and their delays as another program found them for each reading."""
    pool = Cluster.pool(430)
    schedule = simulate(ctc, pool, parse_policy(policy))
    late = fairness(schedule, ctc, pool)
    assert measure(schedule, ctc, pool)["blocked"] == blocked
    assert late["fst2_delayed"] == delayed
    assert late["fst2_delay_mean_s"] / 60 == pytest.approx(minutes, abs=0.06)
    assert late["fst2_delay_max_s"] / 3600 == pytest.approx(hours, abs=0.06)
