"""Tuning uses three parts of a log in turn, and the last one once."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.errors import PolicyError, UsageError
from shadowtime.study.tune import Parts, Space, search, tune
from shadowtime.study.tune.space import front, order
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs, job_range

JOBS = first_jobs(demo_workload(), 600)
POOL = Cluster.pool(256)


def test_parts_are_in_order_and_apart() -> None:
    """60, 20 and 20 % of the jobs by submission; no job is in two parts."""
    parts = Parts.of(JOBS)
    last = parts.report_part()
    assert (len(parts.tune), len(parts.select), len(last)) == (360, 120, 120)
    ids = np.concatenate([parts.tune.job_id, parts.select.job_id, last.job_id])
    assert ids.tolist() == JOBS.job_id.tolist()


def test_the_last_part_is_looked_at_once() -> None:
    """A second report would be tuning on it."""
    parts = Parts.of(JOBS)
    parts.report_part()
    with pytest.raises(UsageError, match="already been reported on"):
        parts.report_part()


@pytest.mark.parametrize("other", [JOBS, job_range(JOBS, 0, 200), job_range(JOBS, 500, 600)])
def test_jobs_that_were_tuned_on_are_refused(other) -> None:
    """The log itself, or any jobs of it, cannot be the ones to report on."""
    with pytest.raises(UsageError, match="were used for tuning"):
        Parts.of(JOBS, report_on=other)


def test_another_log_may_be_reported_on() -> None:
    """Then the whole log is for tuning and selecting."""
    later = demo_workload().take(np.arange(1000, 1200))
    parts = Parts.of(JOBS, report_on=later)
    assert (len(parts.tune), len(parts.select), len(parts.report_part())) == (450, 150, 200)


def test_a_short_log_is_refused() -> None:
    """Means over a handful of jobs are meaningless."""
    with pytest.raises(UsageError, match="at least 50"):
        Parts.of(first_jobs(JOBS, 100))


def test_front_and_order() -> None:
    """Beaten points are behind, impossible ones last; equal ones count once."""
    points = [(1.0, 5.0), (2.0, 2.0), (3.0, 3.0), (math.inf, math.inf), (2.0, 2.0)]
    assert front(points) == [0, 1]
    assert order(points)[:2] in ([1, 0], [0, 1]) and order(points)[-1] == 3


def test_space_reads_ranges() -> None:
    """Whole parameters stay whole; values lie in their range; a wrong one is rejected at once."""
    over = ["expansion=0..1", "wait=0.001..1 log", "reserve=1..4"]
    space = Space.of("easy(order=weighted)", over)
    rng = np.random.default_rng(1)
    for _ in range(200):
        one = dict(space.draw(rng))
        assert 0 <= float(one["expansion"]) <= 1 and 0.001 <= float(one["wait"]) <= 1
        assert one["reserve"] in ("1", "2", "3", "4")
    for wrong in (["expansion"], ["expansion=1..0"], ["wait=0..1 log"], ["order=fcfs"], []):
        with pytest.raises(UsageError):
            Space.of("easy(order=weighted)", wrong)
    with pytest.raises(PolicyError, match="nothing"):
        Space.of("easy", ["nothing=0..1"])


def test_a_users_function_is_tuned(tmp_path, capsys) -> None:
    """The parameters of a function in a file are searched like those of any part."""
    (tmp_path / "ideas.py").write_text(
        "import shadowtime as st\n\n@st.order\n"
        "def linear(now, job, user, w=1.0, steps=2):\n    return w * job.wait + steps\n"
    )
    write_swf(JOBS, tmp_path / "log.swf")
    words = ["tune", str(tmp_path / "log.swf"), "-c", "pool:256", "--trials", "3", "--copies", "2"]
    words += ["-p", f"{tmp_path / 'ideas.py'}:linear", "--json"]
    assert run([*words, "--over", "w=0.1..10", "--over", "steps=1..3"]) == 0
    found = json.loads(capsys.readouterr().out)
    settings = found["front"][0]["settings"]
    assert 0.1 <= float(settings["w"]) <= 10 and settings["steps"] in ("1", "2", "3")
    assert run([*words, "--over", "steps=1..2.5"]) == 2
    assert "steps is a whole number" in capsys.readouterr().err


def test_halving_spends_less_and_keeps_the_best() -> None:
    """The best candidate of a known function survives; most see few weeks only."""
    space = Space.of("easy(order=weighted)", ["expansion=0..1"])
    spent = []

    def evaluate(candidates, rung):
        spent.append(len(candidates) * (rung or 16))
        return [(abs(float(dict(one)["expansion"]) - 0.3),) for one in candidates]

    found = search(space, "halving", trials=32, seed=1, weeks=8, evaluate=evaluate)
    best = min(found.values())[0]
    assert len(found) == 4 and sum(spent) < 32 * 16 / 2
    everyone = search(space, "random", trials=32, seed=1, weeks=8, evaluate=evaluate)
    assert best == min(everyone.values())[0]


@pytest.mark.parametrize("method", ["random", "halving", "optuna"])
def test_tune_is_repeatable_and_complete(method) -> None:
    """The same seed gives the same answer: a front, gains on all parts, an interval."""
    if method == "optuna":
        pytest.importorskip("optuna")
    space = Space.of("easy", ["reserve=1..6"])
    objectives = ["bsld_mean", "goodput"]

    def once():
        return tune(
            Parts.of(JOBS), POOL, space, objectives, method=method, trials=6, copies=3
        ).as_dict()

    found = once()
    assert found == once()
    assert [row["metric"] for row in found["report"]] == objectives
    for row in found["report"]:
        assert row["optimism"] == pytest.approx(row["gain"]["tune"] - row["gain"]["report"])
        low, mean, high = (row["difference"][name] for name in ("low", "mean", "high"))
        assert low <= mean <= high
    assert found["policy"] == found["front"][0]["policy"]


def test_tuning_easy_against_itself_gains_nothing() -> None:
    """A candidate that is the baseline has no gain and no difference."""
    space = Space.of("easy", ["reserve=1,01"])
    found = tune(Parts.of(JOBS), POOL, space, ["bsld_mean"], method="random", trials=2, copies=2)
    row = found.report[0]
    assert row.value == row.baseline and row.gain == (0.0, 0.0, 0.0) and row.difference.mean == 0


def test_the_command(tmp_path, capsys) -> None:
    """A table by default, one object with --json, one sentence for wrong input."""
    write_swf(JOBS, tmp_path / "log.swf")
    words = ["tune", str(tmp_path / "log.swf"), "-c", "pool:256", "-p", "easy", "--trials", "3"]
    assert run([*words, "--over", "reserve=1..3", "--copies", "2"]) == 0
    assert "reported on 120" in capsys.readouterr().out
    assert run([*words, "--over", "reserve=1..3", "--copies", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["report"] == 120
    assert run([*words, "--over", "reserve=3..1"]) == 2
    assert "LOW..HIGH" in capsys.readouterr().err
    assert run([*words, "--over", "reserve=1..3", "--objective", "jobs"]) == 2
    assert "cannot be an objective" in capsys.readouterr().err
    again = str(tmp_path / "log.swf")
    assert run([*words, "--over", "reserve=1..3", "--report-on", again]) == 2
    assert "were used for tuning" in capsys.readouterr().err
