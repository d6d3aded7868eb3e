"""PV-EASY's fast pass decides as the general pass does, in long queues too."""

from __future__ import annotations

import numpy as np
import pytest

from engine.test_priority import POOL, TWO, crowd, one
from engine.worlds import COLUMNS
from shadowtime.engine import plan, simulate
from shadowtime.policy import parse_policy


@pytest.mark.parametrize("overruns", [False, True])
@pytest.mark.parametrize(
    "policy",
    [
        "pv-easy",
        "pv-easy(preempt=never)",
        "pv-easy(prune=yes)",
        "pv-easy(venture=no)",
        "pv-easy(estimate=requested)",
        "pv-easy(estimate=last-two)",
    ],
)
def test_equals_the_general_pass(policy, overruns, monkeypatch):
    """Every column of every job, the lost attempts and the counters."""
    chosen = parse_policy(policy)
    jobs = one(crowd(6, jobs=3_000, overruns=overruns))
    jobs = jobs.replace(submit=jobs.submit // 4)  # long enough for the index to be used
    assert plan.is_venture(chosen, POOL)
    fast = simulate(jobs, POOL, chosen)
    monkeypatch.setattr(plan, "is_venture", lambda *_: False)
    slow = simulate(jobs, POOL, chosen)
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(slow, name)), name
    for name in ("job_id", "start", "end"):
        assert np.array_equal(getattr(fast.attempts, name), getattr(slow.attempts, name)), name
    assert fast.counters == slow.counters


@pytest.mark.parametrize(("policy", "cluster"), [("pv-easy", TWO), ("easy", POOL)])
def test_rejected_where_it_has_no_meaning(policy, cluster):
    """Several resources, and policies that plan otherwise."""
    assert not plan.is_venture(parse_policy(policy), cluster)
