"""Predictions as the engine made them, kept within bounds and counted; and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from engine.worlds import as_cluster, as_workload, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.estimates import clamped, known_at_submission
from shadowtime.engine.plan import loop_of
from shadowtime.engine.run_tables import with_more_room
from shadowtime.kernel import fields
from shadowtime.kernel.registers import VOLATILE
from shadowtime.kernel.state import build
from shadowtime.metrics import REGISTRY, accuracy
from shadowtime.policy import parse_policy
from shadowtime.policy.estimate import Last, Noisy, Requested
from shadowtime.schedule import Schedule
from shadowtime.study.accuracy import accuracy_report, predictions
from shadowtime.workload import Workload

LEARNING = (
    "easy-last",
    "pv-easy",
    "pv-easy(venture=no)",
    "easy-sjbf(estimate=last)",
    "easy(estimate=noisy(x=0.8, seed=4))",
    "easy",
    "pv-easy(estimate=actual)",
)


def estimates_of_the_engine(workload, cluster, policy, column):
    """What the engine's own table of jobs holds when a run is over."""
    known = known_at_submission(policy.estimate, workload)
    state, world = build(workload, cluster, estimate=known.estimate, learner=known.learner)
    state.reg[VOLATILE] = not known.safe
    run, arguments = loop_of(policy, cluster, len(workload))
    while run(state, world, *arguments) == 2:
        state = with_more_room(state)
    return state.job[:, column].tolist()


@pytest.mark.parametrize("text", LEARNING)
@settings(max_examples=examples(100), deadline=None)
@given(world=worlds())
def test_predictions_at_the_start_are_those_of_the_engine(text, world):
    """Computed from the schedule alone, they equal what the engine froze at each start."""
    workload, cluster, policy = as_workload(world[0]), as_cluster(world[1]), parse_policy(text)
    schedule = simulate(workload, cluster, policy)
    engine = estimates_of_the_engine(workload, cluster, policy, fields.ESTIMATE)
    assert predictions(schedule, workload, policy.estimate).tolist() == engine


@pytest.mark.parametrize("text", ["easy++", "pv-easy(estimate=last-two)"])
@settings(max_examples=examples(100), deadline=None)
@given(world=worlds())
def test_predictions_at_submission_are_those_of_the_engine(text, world):
    """EASY++ predicts once, at submission; later corrections do not count."""
    workload, cluster, policy = as_workload(world[0]), as_cluster(world[1]), parse_policy(text)
    schedule = simulate(workload, cluster, policy)
    engine = estimates_of_the_engine(workload, cluster, policy, fields.INITIAL)
    assert predictions(schedule, workload, policy.estimate).tolist() == engine


def test_predictions_are_kept_within_bounds_and_counted():
    """Zero, negative, not a number, beyond the request: clamped to [1, request], each counted."""
    request = np.full(6, 60)
    predicted = np.array([0.0, -5.0, np.nan, 61.0, np.inf, 60.0])
    within, count = clamped(predicted, most=request, otherwise=request)
    assert within.tolist() == [1, 1, 60, 60, 60, 60] and count == 5


def history(*, last_run, last_request, request, limit=None):
    """A user's first job, and a second one whose prediction depends on it, an hour later."""
    return Workload.build(
        submit=[0, 3600],
        run=[last_run, 50],
        request=[last_request, request],
        limit=[last_request if limit is None else limit, request],
        procs=[1, 1],
        user=[1, 1],
    )


@pytest.mark.parametrize(
    ("jobs", "predicted", "counted"),
    [
        (history(last_run=50, last_request=100, request=80), 40, 0),
        (history(last_run=1, last_request=1000, request=80), 1, 1),
        (history(last_run=300, last_request=100, request=80, limit=1 << 30), 80, 1),
    ],
    ids=["within", "rounds to zero", "more than the request"],
)
def test_the_last_model_is_clamped_and_counted(jobs, predicted, counted):
    """The share of the last job times the request, within [1, request], or it is counted."""
    schedule = simulate(jobs, Cluster.pool(1), parse_policy("pv-easy"))
    assert predictions(schedule, jobs, Last()).tolist() == [jobs.request[0], predicted]
    assert schedule.counters["clamped_predictions"] == counted


def test_the_virtual_predictor_is_clamped_below_only():
    """Noise may exceed the request; what falls below a second is one second, and counted."""
    jobs = Workload.build(submit=range(200), run=[10] * 200, request=[10] * 200, procs=[1] * 200)
    schedule = simulate(jobs, Cluster.pool(200), parse_policy("easy(estimate=noisy(x=3, seed=1))"))
    predicted = predictions(schedule, jobs, Noisy(x=3.0, seed=1))
    below = schedule.counters["clamped_predictions"]
    assert predicted.min() == 1 and predicted.max() > 10
    assert 0 < below <= int((predicted == 1).sum())


@pytest.mark.parametrize("policy", ["easy-last", "pv-easy", "easy++"])
def test_a_job_without_a_user_gets_its_request(policy):
    """Nothing is learned from or for jobs whose user is unknown."""
    jobs = Workload.build(
        submit=[0, 0, 50, 50], run=[5] * 4, request=[20] * 4, procs=[1] * 4, user=[-1, -1, -1, 3]
    )
    chosen = parse_policy(policy)
    schedule = simulate(jobs, Cluster.pool(1), chosen)
    assert predictions(schedule, jobs, chosen.estimate).tolist() == [20] * 4


def test_errors_by_hand():
    """Relative to the run; under and over apart; every number is in the registry."""
    found = accuracy(np.array([50, 100, 300, 100]), np.array([100, 100, 100, 80]))
    assert found == {
        "prediction_error_mean": pytest.approx((0.5 + 0 + 2 + 0.25) / 4),
        "prediction_error_median": 0.25,
        "prediction_error_mean_s": (50 + 0 + 200 + 20) / 4,
        "prediction_accuracy_mean": pytest.approx((0.5 + 1 + 1 / 3 + 0.8) / 4),
        "prediction_under": 0.25,
        "prediction_over": 0.5,
        "prediction_under_mean_s": 50.0,
        "prediction_over_mean_s": 110.0,
    }
    assert set(found) <= set(REGISTRY)
    assert accuracy(np.array([], np.int64), np.array([], np.int64)) == {}


def test_a_virtual_predictor_errs_by_half_its_bound():
    """The paper's own remark: the mean absolute error of a bound x is around x / 2."""
    n = 4000
    jobs = Workload.build(
        submit=range(n), run=[1000] * n, procs=[1] * n, recorded_start=range(n), user=[1] * n
    )
    report = accuracy_report(Schedule.recorded(jobs), jobs, Noisy(x=0.4, seed=2))
    assert report.overall["prediction_error_mean"] == pytest.approx(0.2, abs=0.01)
    assert report.predictor == "noisy(x=0.4, seed=2)"


def test_the_report_separates_sizes_and_users():
    """A row for every class with jobs; those without a start are left out."""
    jobs = Workload.build(
        submit=[0, 0, 0, 0],
        run=[10, 10, 10, 10],
        request=[10, 20, 40, 10],
        procs=[1, 1, 8, 1],
        user=[1, 2, 2, 2],
        recorded_start=[0, 0, 0, -1],
    )
    report = accuracy_report(Schedule.recorded(jobs), jobs, Requested())
    assert report.jobs == 3
    size = {row.label: row.metrics["prediction_error_mean"] for row in report.by_size}
    assert size == {"1": 0.5, "5-16": 3.0}
    user = {row.label: row.metrics["prediction_over"] for row in report.by_user}
    assert user == {"user 1": 0.0, "user 2": 1.0}
    assert report.as_dict()["by_user"][0]["kind"] == "user"
