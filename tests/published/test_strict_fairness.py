"""What the PV-EASY paper says of its policy, proved of our schedules; EASY fails the proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from engine.worlds import as_cluster, as_workload, simulated, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import fair_starts, reservation_violations
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.study.accuracy import predictions
from shadowtime.workload import Workload

PREDICTORS = ("last", "last-two", "requested", "actual", "noisy(x=0.9, seed=3)")
FAIR = ("strictly-fair", "sunny-absorbing", "no-reservation-violation", "head-never-idle")
EXAMPLES = settings(max_examples=examples(100), deadline=None)


@pytest.mark.parametrize("overruns", [False, True], ids=["cut", "overruns"])
@pytest.mark.parametrize("predictor", PREDICTORS)
@EXAMPLES
@given(data=worlds(overruns=False))
def test_pv_easy_is_strictly_fair(predictor, overruns, data):
    """After every pass free and shadow processors are less than the head needs; sunny stays so."""
    jobs, capacity = data
    workload = as_workload(jobs)
    if overruns:  # no job is killed at its request, so predictions are outlived
        workload = workload.replace(limit=np.full(len(workload), 1 << 30))
    cluster = as_cluster(capacity)
    schedule = simulate(workload, cluster, parse_policy(f"pv-easy(estimate={predictor})"))
    assert set(FAIR) <= set(schedule.claims)
    report = check(schedule, workload, cluster)
    assert all(report[claim].verdict == "proved" for claim in FAIR), str(report)
    assert report.ok, str(report)


@pytest.mark.parametrize("predictor", PREDICTORS)
@EXAMPLES
@given(data=worlds())
def test_pv_easy_delays_no_job_and_breaks_no_promise(predictor, data):
    """By the paper's own counts too: no job starts after FST, no reservation is violated."""
    workload, cluster = as_workload(data[0]), as_cluster(data[1])
    policy = parse_policy(f"pv-easy(estimate={predictor})")
    schedule = simulate(workload, cluster, policy)
    assert (fair_starts(schedule, workload, cluster).delay == 0).all()
    guess = predictions(schedule, workload, policy.estimate)
    assert len(reservation_violations(schedule, workload, cluster, prediction=guess).row) == 0


@pytest.mark.parametrize("policy", ["pv-easy", "pv-easy(prune=yes)", "pv-easy(venture=no)"])
@EXAMPLES
@given(data=worlds(resources=2))
def test_fair_with_memory_too(policy, data):
    """Victims fall until the head fits in both resources."""
    schedule = simulated(*data, policy)
    report = check(schedule, as_workload(data[0]), as_cluster(data[1]))
    assert report["strictly-fair"].verdict == "proved" and report.ok, str(report)


EVERY = (
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "easy++",
    "easy-last",
    "easy(extra_update=no)",
    "easy(fixed_reservation=yes)",
    "easy(reserve=2)",
    "easy(estimate=actual)",
    "conservative",
    "conservative(compress=no)",
    "sjf",
    "lxfw(reserve=3)",
    "pv-easy(venture=no)",
    "pv-easy(preempt=never)",
)


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=examples(60), deadline=None)
@given(data=worlds(overruns=True), tame=worlds())
def test_every_policy_keeps_what_it_claims(policy, data, tame):
    """No policy says more of itself than its schedules show, outlived requests or not."""
    for jobs, capacity in (data, tame):
        schedule = simulated(jobs, capacity, policy)
        report = check(schedule, as_workload(jobs), as_cluster(capacity))
        assert report.ok, f"{schedule.claims}: {report}"


OVERTAKEN = Workload.build(
    submit=[0, 1, 2], run=[5, 4, 18], request=[20, 4, 18], procs=[3, 4, 1], name="overtaken"
)
"""Job 3 slips in, as it should end by 20; job 1 ends at 5 already, and job 2 waits for job 3."""


@pytest.mark.parametrize(
    "policy", ["easy", "easy-sjbf", "easy-last", "conservative", "pv-easy(preempt=never)"]
)
def test_the_proof_fails_on_easy(policy):
    """EASY lets a later job stand in the head's way: check says so, and which job it is."""
    pool = Cluster.pool(4)
    schedule = simulate(OVERTAKEN, pool, parse_policy(policy))
    assert "strictly-fair" not in schedule.claims
    proof = check(schedule, OVERTAKEN, pool, claims=["strictly-fair"])["strictly-fair"]
    assert proof.verdict == "violated"
    assert (
        "at 5 s job 2 waits for 4 processors with 3 free and 1 held by later jobs" in proof.detail
    )
    assert "such as job 3" in proof.detail


def test_pv_easy_on_the_same_jobs():
    """Job 3 is stopped, job 2 starts at once."""
    pool = Cluster.pool(4)
    schedule = simulate(OVERTAKEN, pool, parse_policy("pv-easy"))
    assert schedule.start.tolist() == [0, 5, 9] and schedule.kills.tolist() == [0, 0, 1]
    assert check(schedule, OVERTAKEN, pool).ok


def test_a_sunny_job_that_is_preempted_is_noticed():
    """The proof of 'sunny is absorbing' can fail: a schedule that stops a sunny job does."""
    pool = Cluster.pool(4)
    schedule = simulate(OVERTAKEN, pool, parse_policy("pv-easy"))
    # The same rows on a log in which job 3 came first: no job was waiting ahead of it.
    other = OVERTAKEN.replace(submit=np.array([0, 6, 7]))
    proof = check(schedule, other, pool, claims=["sunny-absorbing"])["sunny-absorbing"]
    assert proof.verdict == "violated"


def test_a_violated_reservation_is_noticed():
    """Figure 1 (c): an underestimated job overstays the head's promise under EASY-Last only."""
    jobs = Workload.build(
        submit=[0, 1, 1, 1],
        run=[1, 5, 9, 6],
        request=[3, 5, 9, 12],
        procs=[1, 3, 4, 1],
        user=[5, 1, 2, 5],
    )
    pool = Cluster.pool(4)
    easy = simulate(jobs, pool, parse_policy("easy-last"))
    assert easy.start.tolist() == [0, 1, 7, 1] and easy.promised.tolist() == [-1, -1, 6, -1]
    guess = predictions(easy, jobs, parse_policy("easy-last").estimate)
    assert guess.tolist() == [3, 5, 9, 4], "the user's last job used a third of its request"
    assert reservation_violations(easy, jobs, pool, prediction=guess).row.tolist() == [2]
    proof = check(easy, jobs, pool, claims=["no-reservation-violation"])["no-reservation-violation"]
    assert proof.verdict == "violated" and "job 3, blocked at 1 s and promised 6 s" in proof.detail
    fair = simulate(jobs, pool, parse_policy("pv-easy"))
    assert fair.start.tolist() == [0, 1, 6, 15] and fair.kills.tolist() == [0, 0, 0, 1]
    assert check(fair, jobs, pool)["no-reservation-violation"].verdict == "proved"
