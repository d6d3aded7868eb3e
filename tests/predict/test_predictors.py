"""Predictions are made from what had ended by a job's submission, and from nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.errors import InputError, PolicyError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.policy import predictors as parts
from shadowtime.predict import predictions, recorded_ends
from shadowtime.study.accuracy import compare_predictors
from shadowtime.workload import Workload

PARTS = (
    parts.MaxOfLast(jobs=2),
    parts.UserQuantile(quantile=0.6, jobs=3, least=2),
    parts.Nearest(k=2, window=4),
)


@st.composite
def logs(draw):
    n = draw(st.integers(1, 12))
    column = lambda low, high: draw(st.lists(st.integers(low, high), min_size=n, max_size=n))  # noqa: E731
    submit = sorted(column(0, 40))
    return Workload.build(
        submit=submit,
        run=column(1, 20),
        request=column(1, 30),
        procs=column(1, 4),
        user=column(-1, 2),
        executable=column(-1, 1),
        recorded_start=[s + d if d else -1 for s, d in zip(submit, column(0, 9), strict=True)],
    )


def ended(log, job):
    """By (end, id): the jobs that had ended when this one was submitted."""
    found = []
    for other in range(len(log)):
        start = int(log.recorded_start[other])
        start = start if start >= 0 else int(log.submit[other])
        end = start + min(int(log.run[other]), int(log.limit[other]))
        if end <= log.submit[job]:
            found.append((end, int(log.job_id[other]), other))
    return [other for *_, other in sorted(found)]


def slow(log, job, part):
    """One prediction, from its definition."""
    past = ended(log, job)
    run = lambda other: min(int(log.run[other]), int(log.limit[other]))  # noqa: E731
    mine = [other for other in past if log.user[other] == log.user[job] >= 0]
    if isinstance(part, parts.MaxOfLast):
        shares = [run(other) / int(log.request[other]) for other in mine[-part.jobs :]]
        return int(log.request[job]) * max(shares) if shares else math.nan
    if isinstance(part, parts.UserQuantile):
        runs = sorted(run(other) for other in mine[-part.jobs :])
        if len(runs) < part.least:
            return math.nan
        return next(r for r in runs if sum(x <= r for x in runs) >= part.quantile * len(runs))
    past = past[-part.window :]
    if len(past) < part.k:
        return math.nan

    def distance(other):
        return (
            abs(math.log2(log.request[other]) - math.log2(log.request[job]))
            + abs(math.log2(log.procs[other]) - math.log2(log.procs[job]))
            + 4 * (log.user[other] != log.user[job])
            + 2 * (log.executable[other] != log.executable[job])
        )

    near = sorted(range(len(past)), key=lambda at: (round(distance(past[at]), 9), -at))[: part.k]
    return sum(run(past[at]) for at in near) / part.k


@pytest.mark.parametrize("part", PARTS, ids=str)
@settings(max_examples=examples(80), deadline=None)
@given(log=logs())
def test_equal_to_the_definition(part, log):
    """Job by job against a slow reference."""
    found = predictions(part, log)
    assert found == pytest.approx([slow(log, job, part) for job in range(len(log))], nan_ok=True)


@pytest.mark.parametrize("part", PARTS, ids=str)
@settings(max_examples=examples(40), deadline=None)
@given(log=logs(), after=st.integers(0, 40))
def test_the_future_is_not_seen(part, log, after):
    """Other run times of jobs that end later change nothing."""
    late = [job for job in range(len(log)) if log.submit[job] > after]
    early = np.array([job not in late for job in range(len(log))])
    run = np.where(early, log.run, log.run + 5)
    kept = log.replace(run=run, request=np.maximum(log.request, run))
    same = log.replace(request=kept.request)
    assert predictions(part, kept)[early] == pytest.approx(
        predictions(part, same)[early], nan_ok=True
    )


LOG = Workload.build(
    job_id=[4, 7], submit=[0, 9], run=[5, 5], request=[30, 30], procs=[1, 1],
    extra={"guess": np.array([12, 99]), "word": np.array(["a", "b"])},
)  # fmt: skip


def test_a_column_of_the_log():
    """Brought within the request, and counted where that changed it."""
    known = known_at_submission(parts.Column("guess"), LOG)
    assert (known.estimate.tolist(), known.clamped) == ([12, 30], 1)
    for name, message in (("gues", "no further column 'gues' .it has guess"), ("word", "numbers")):
        with pytest.raises(PolicyError, match=message):
            predictions(parts.Column(name), LOG)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,estimate\n4,5\n", "needs the columns job_id and estimate"),
        ("job_id,estimate\n4,x\n", "line 2: job_id must be a whole number"),
        ("job_id,estimate\n4,5\n4,6\n", "line 3: job 4 appears twice"),
        ("job_id,estimate\n4,5\n", "has no estimate for job 7"),
    ],
)
def test_a_file_of_estimates_is_checked(tmp_path, text, message):
    """One sentence with the line and what to do."""
    file = tmp_path / "e.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        predictions(parts.FromFile(str(file)), LOG)


def test_a_file_of_estimates(tmp_path):
    """Lines in any order; -1 stands for the request."""
    file = tmp_path / "e.csv"
    file.write_text("job_id,estimate\n7,-1\n4,5.5\n")
    policy = parse_policy(f"easy(estimate=file(path={file}))")
    assert known_at_submission(policy.estimate, LOG).estimate.tolist() == [6, 30]
    with pytest.raises(InputError, match="no such file of estimates"):
        predictions(parts.FromFile(str(tmp_path / "none.csv")), LOG)


def test_live_refuses_what_needs_a_log():
    """And names what can be used instead."""
    with pytest.raises(PolicyError, match=r"predicts from a whole log.*st.estimate"):
        refuse(parse_policy("easy(estimate=nearest)"))


def test_predictors_are_compared():
    """The request errs, the truth does not; differences are over copies, against the first."""
    rng = np.random.default_rng(3)
    n = 60
    run = rng.integers(5, 60, n)
    jobs = Workload.build(
        submit=np.sort(rng.integers(0, 900, n)), run=run, request=run * rng.integers(1, 6, n),
        procs=rng.integers(1, 5, n), user=rng.integers(1, 4, n),
    )  # fmt: skip
    rows = compare_predictors(
        jobs, Cluster.pool(4), parse_policy("easy"), ["requested", "max-of-last", "actual"], shake=3
    )
    first, middle, last = rows
    assert first.errors["prediction_under"] == 0 == last.errors["prediction_error_mean_s"]
    assert 0 < middle.errors["prediction_error_mean_s"] < first.errors["prediction_error_mean_s"]
    assert not first.differences and last.differences["wait_mean_s"].n == 3
    with pytest.raises(UsageError, match="each predictor once"):
        compare_predictors(jobs, Cluster.pool(4), parse_policy("easy"), ["last", "last"])


def needs_lightgbm() -> None:
    """Skip a test where the extra ml, or a library of the system that it needs, is missing."""
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError) as error:
        pytest.skip(f"the extra ml cannot be used: {error}")


def test_boosted_trees_beat_the_request():
    """Users who always ask for four times what they need; the same answer twice."""
    needs_lightgbm()
    rng = np.random.default_rng(3)
    n = 600
    user = rng.integers(1, 5, n)
    run = user * 600 + rng.integers(0, 60, n)
    jobs = Workload.build(
        submit=np.arange(n) * 3600, run=run, request=4 * run + 1000, procs=[1] * n, user=user
    )
    part = parts.Boosted(least=100)
    guess = predictions(part, jobs)
    known = ~np.isnan(guess)
    assert not known[:100].any() and known[110:].all()
    error = np.abs(guess[known] - run[known]).mean()
    assert error < 0.2 * (jobs.request - run)[known].mean()
    assert (guess[known] >= run[known]).mean() > 0.6
    assert np.array_equal(predictions(part, jobs), guess, equal_nan=True)


def test_boosted_trees_know_nothing_of_the_future():
    """Run times of jobs that end after a submission leave its prediction as it was."""
    needs_lightgbm()
    rng = np.random.default_rng(4)
    n, seen = 300, 200
    run = rng.integers(60, 900, n)
    jobs = Workload.build(
        submit=np.arange(n) * 600, run=run, request=[1000] * n, procs=[1] * n,
        user=rng.integers(1, 4, n),
    )  # fmt: skip
    later = recorded_ends(jobs) > jobs.submit[seen]
    other = jobs.replace(run=np.where(later, 1000 - run, run))
    part = parts.Boosted(least=50, days=0.25)
    ours, theirs = predictions(part, jobs), predictions(part, other)
    assert np.array_equal(ours[: seen + 1], theirs[: seen + 1], equal_nan=True)
    assert not np.array_equal(ours[seen + 1 :], theirs[seen + 1 :])


def test_the_missing_extra_names_itself(monkeypatch):
    """One sentence that says what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(UsageError, match=r"pip install 'shadowtime\[ml\]'"):
        predictions(parts.Boosted(), LOG)
