"""Tuning uses three parts of a log in turn, and the last one once."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadowtime as st
from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError, UsageError
from shadowtime.metrics import measure
from shadowtime.study.tune import Parts, Space, search, tune
from shadowtime.study.tune.rivals import Rival, same_kind, verdict
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
    words += ["-p", f"{tmp_path / 'ideas.py'}:linear", "--json", "--rival", "lxf"]
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
            Parts.cuts(JOBS, periods=2), POOL, space, objectives, method=method, trials=6,
            copies=3, rivals=["lxf"],
        ).as_dict()  # fmt: skip

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
    found = tune(
        Parts.cuts(JOBS), POOL, space, ["bsld_mean"], method="random", trials=2, copies=2,
        rivals=[],
    )  # fmt: skip
    row = found.report[0]
    assert found.verdict.answer == "do not tune" and found.verdict.instead == "easy"
    assert row.value == row.baseline and row.gain == (0.0, 0.0, 0.0) and row.difference.mean == 0


def test_cuts_report_on_every_job_once() -> None:
    """Each cut is the log up to where the next one's last part begins; the last is the log."""
    cuts = Parts.cuts(JOBS, periods=3)
    lasts = [one.report_part() for one in cuts]
    ids = np.concatenate([one.job_id for one in lasts])
    assert len(set(ids.tolist())) == len(ids) and ids.tolist() == JOBS.job_id[-len(ids) :].tolist()
    for parts, last in zip(cuts, lasts, strict=True):
        assert parts.select.submit[-1] <= last.submit[0]
    assert [len(cuts[-1].tune), len(lasts[-1])] == [360, 120]
    assert len(Parts.cuts(JOBS, periods=50)) == 4  # then the parts are too short
    later = demo_workload().take(np.arange(1000, 1200))
    pieces = [one.report_part() for one in Parts.cuts(JOBS, periods=3, report_on=later)]
    assert np.concatenate([one.job_id for one in pieces]).tolist() == later.job_id.tolist()


def test_rivals_of_the_same_kind() -> None:
    """The catalogue's policies that share all but what is tuned, and only those."""
    orders = same_kind(Space.of("easy(order=weighted)", ["expansion=0..1"]))
    assert {"easy", "lxf", "sjf", "f1", "wfp3"} <= set(orders)
    assert not {"conservative", "easy-sjbf", "fcfs"} & set(orders)
    depths = same_kind(Space.of("lxf", ["reserve=1..4"]))
    assert "lxf" in depths and "easy" not in depths


def test_an_untuned_template_that_is_as_good_is_the_answer() -> None:
    """A search that cannot find more than the template has gains nothing on it: do not tune."""
    space = Space.of("easy(order=lxf)", ["reserve=1,01"])
    found = tune(
        Parts.cuts(JOBS), POOL, space, ["bsld_mean"], method="random", trials=2, copies=2,
        rivals=[],
    )  # fmt: skip
    rows = {one.kind: one for one in found.rivals}
    assert rows["template"].values == rows["tuned"].values
    assert rows["template"].gains["bsld_mean"] == (0.0,) * len(found.periods)
    assert found.verdict.answer == "do not tune" and found.verdict.instead == "easy(order=lxf)"


def test_every_trial_is_counted() -> None:
    """Also those that halving leaves out, that the engine rejects and that are drawn again."""
    space = Space.of("easy(order=weighted)", ["expansion=0..1"])
    found = tune(
        [Parts.of(JOBS)], POOL, space, ["bsld_mean"], trials=12, copies=2, rivals=["lxf"]
    )  # fmt: skip
    one = found.trials
    assert (one.asked, one.different, one.failed) == (12, 12, 0) and one.pruned > 0
    assert found.verdict.answer == "undecided"  # one period tells nothing
    few = Space.of("easy", ["reserve=1..2"])
    again = tune([Parts.of(JOBS)], POOL, few, ["bsld_mean"], trials=9, copies=2, rivals=[])
    assert (again.trials.asked, again.trials.different) == (9, 2)


def test_the_second_part_selects_with_one_objective_too() -> None:
    """The best of the second part is chosen among several, not the best of the first alone."""
    space = Space.of("easy(order=weighted)", ["expansion=0..1", "wait=0.001..1 log"])
    parts = Parts.of(JOBS)
    found = tune(
        [parts], POOL, space, ["bsld_mean"], method="random", trials=8, copies=2, rivals=[]
    )  # fmt: skip
    rng = np.random.default_rng([1, 1])
    drawn = [space.policy(space.draw(rng)) for _ in range(8)]
    values = [
        measure(simulate(parts.select, POOL, one), parts.select, POOL)["bsld_mean"] for one in drawn
    ]
    assert found.front[0].selected["bsld_mean"] == min(values)


@pytest.mark.parametrize(
    ("gains", "answer", "instead"),
    [
        ({"easy": (0.4, 0.41, 0.42), "lxf": (0.1, 0.11, 0.12)}, "tune", None),
        ({"easy": (0.4, 0.41, 0.42), "lxf": (0.3, -0.3, 0.1)}, "do not tune", "lxf"),
        ({"easy": (0.4, 0.41, 0.42), "lxf": (-0.3, -0.31, -0.32)}, "do not tune", "lxf"),
        ({"easy": (0.9, -0.1, 0.2), "lxf": (0.1, 0.11, 0.12)}, "do not tune", "easy"),
        ({"easy": (0.4,), "lxf": (0.3,)}, "undecided", None),
    ],
)
def test_the_answer(gains, answer, instead) -> None:
    """Tune only if each rival is beaten beyond chance over the periods."""
    rivals = [
        Rival(name=name, kind="catalogue", values={"m": (1.0,) * len(of)}, gains={"m": of})
        for name, of in gains.items()
    ]
    found = verdict(rivals, "m")
    assert (found.answer, found.instead) == (answer, instead)
    assert found.sentence.lower().startswith(answer)


def test_a_policy_that_starts_fewer_jobs_is_no_rival() -> None:
    """The metrics of the jobs that it starts do not count; nor do those of a tuned one."""

    def of(name, kind, unstarted):
        gains = {"m": (-0.5, -0.5, -0.5) if name == "bad" else (0.3, 0.3, 0.3)}
        values = {"m": (1.0,) * 3}
        return Rival(name=name, kind=kind, values=values, gains=gains, unstarted=unstarted)

    none, some = (0.0, 0.0, 0.0), (0.0, 2.0, 0.0)
    rivals = [
        of("tuned", "tuned", none),
        of("easy", "baseline", none),
        of("bad", "catalogue", some),
    ]
    assert verdict(rivals, "m").answer == "tune"
    rivals[0] = of("tuned", "tuned", some)
    assert verdict(rivals, "m").instead == "easy"
    assert verdict([of("tuned", "tuned", none), rivals[2]], "m").answer == "tune"


def test_the_command(tmp_path, capsys) -> None:
    """A table by default, one object with --json, one sentence for wrong input."""
    write_swf(JOBS, tmp_path / "log.swf")
    words = ["tune", str(tmp_path / "log.swf"), "-c", "pool:256", "-p", "easy", "--trials", "3"]
    words += ["--rival", "lxf"]
    page = tmp_path / "page.html"
    more = ["--over", "reserve=1..3", "--copies", "2", "--report", str(page)]
    assert run([*words, *more]) == 0
    printed = capsys.readouterr().out
    assert "reported on 120" in printed and "best of 3 candidates" in printed
    assert run([*words, *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["jobs"]["report"] == 120 and found["trials"]["asked"] == 3
    sentence = found["verdict"]["sentence"]
    assert sentence in " ".join(printed.split()) and sentence in page.read_text()
    assert {one["policy"] for one in found["rivals"]} == {"tuned", "easy", "lxf"}
    assert run([*words, "--over", "reserve=3..1"]) == 2
    assert "LOW..HIGH" in capsys.readouterr().err
    assert run([*words, "--over", "reserve=1..3", "--objective", "jobs"]) == 2
    assert "cannot be an objective" in capsys.readouterr().err
    again = str(tmp_path / "log.swf")
    assert run([*words, "--over", "reserve=1..3", "--report-on", again]) == 2
    assert "were used for tuning" in capsys.readouterr().err


def test_an_interrupted_search_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that were finished are not simulated again, and the answer is the same."""
    import shadowtime.study.tune as module

    simulated: list[int] = []
    real = module.simulate

    def counted(*given: Any, **more: Any) -> Any:
        if len(given[0]) > 1:  # one job loads the passes
            simulated.append(1)
        if len(simulated) == 9 and not resumed:
            raise KeyboardInterrupt
        return real(*given, **more)

    resumed = False
    monkeypatch.setattr(module, "simulate", counted)
    options: dict[str, Any] = {"over": ["reserve=1..3"], "trials": 3, "copies": 2, "rivals": []}
    with pytest.raises(KeyboardInterrupt):
        st.tune(st.demo(), "pool:256", "easy", resume=tmp_path, **options)
    done = len(list((tmp_path / "kept").glob("*.run")))
    assert done >= 6
    resumed = True
    simulated.clear()
    again = st.tune(st.demo(), "pool:256", "easy", resume=tmp_path, **options)
    rest = len(simulated)
    simulated.clear()
    assert again.as_dict() == st.tune(st.demo(), "pool:256", "easy", **options).as_dict()
    assert rest <= len(simulated) - done
