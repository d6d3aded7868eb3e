"""Load: what it is, and the same jobs faster or slower."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.types import NO_LIMIT
from shadowtime.workload import Workload
from shadowtime.workload.scale import offered_load, scale_load, to_load


def jobs(submit, **columns):
    n = len(submit)
    return Workload.build(submit=submit, run=[10] * n, procs=[1] * n, **columns)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.integers(0, 10**8), min_size=1, max_size=30),
    st.floats(0.001, 50, allow_nan=False),
)
def test_submits_follow_the_rule_exactly(times, factor):
    before = jobs(sorted(times))
    after = scale_load(before, factor)
    k = round(1000 * factor)
    first = min(times)
    assert after.submit.tolist() == sorted(first + (t - first) * 1000 // k for t in times)
    assert after.run.tolist() == before.run.tolist()


def test_jobs_that_fall_together_are_ordered_by_id():
    after = scale_load(jobs([0, 10, 11], job_id=[3, 2, 1]), 10)
    assert after.submit.tolist() == [0, 1, 1]
    assert after.job_id.tolist() == [3, 1, 2]


def test_one_changes_nothing_but_the_recorded_starts():
    before = jobs([4, 9, 9], recorded_start=[5, 9, 30])
    after = scale_load(before, 1)
    assert after.submit.tolist() == before.submit.tolist()
    assert after.recorded_start.tolist() == [-1, -1, -1]


def test_a_queued_job_is_cancelled_as_long_after_its_submission_as_before():
    before = jobs([0, 100], extra={"cancel_at": np.array([-1, 130])})
    assert scale_load(before, 2).extra["cancel_at"].tolist() == [-1, 80]


def test_offered_load_by_resource():
    w = Workload.build(
        submit=[0, 50, 100], run=[30, 100, 10], request=[40, 50, 10], procs=[2, 4, 10],
        demand={"memory": [1000, 0, 500], "gpus": [1, 1, 1]},
    )  # fmt: skip
    load = offered_load(w, Cluster.pool(8, memory=2000))
    # run 100 is killed at its limit of 50: 2*30 + 4*50 + 10*10 = 360 of 800
    assert load == {"procs": 360 / 800, "memory": 35_000 / 200_000}
    endless = w.replace(limit=np.full(3, NO_LIMIT))
    assert offered_load(endless, Cluster.pool(8))["procs"] == (60 + 400 + 100) / 800


@pytest.mark.parametrize("target", [0.3, 0.9, 1.4])
def test_to_load_hits_the_target(target):
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 10**6, 500))
    w = Workload.build(submit=submit, run=rng.integers(1, 9000, 500), procs=[3] * 500)
    assert offered_load(to_load(w, 16, target), Cluster.pool(16))["procs"] == pytest.approx(
        target, rel=2e-3
    )


def test_what_has_no_meaning_is_refused():
    for call in (
        lambda: scale_load(jobs([0, 1]), 0),
        lambda: scale_load(jobs([0, 1]), 0.0004),
        lambda: scale_load(jobs([0, 1]), float("nan")),
        lambda: to_load(jobs([0, 1]), 0, 1),
        lambda: to_load(jobs([0, 1]), 1, -1),
        lambda: to_load(jobs([1, 1]), 1, 1),
        lambda: offered_load(jobs([]), Cluster.pool(1)),
    ):
        with pytest.raises(UsageError):
            call()
    assert len(scale_load(jobs([]), 2)) == 0
