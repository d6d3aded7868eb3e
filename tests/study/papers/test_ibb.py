"""The IBB study on small logs: every table, figure and claim is there and follows the runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cli import run
from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.study.fan_out import fan_out
from shadowtime.study.papers import published
from shadowtime.study.papers.ibb import PAPER
from shadowtime.study.papers.ibb.case import (
    CERIT,
    MIXED,
    PURE,
    by_ladder,
    cases_of,
    with_estimates,
    with_memory,
)
from shadowtime.study.papers.ibb.runs import (
    METRICS,
    PAIRS,
    POLICIES,
    Findings,
    condor_jobs,
    over,
    runs,
    shaken_loads,
)
from shadowtime.study.papers.ibb.tables import BEST
from shadowtime.study.papers.reproduction import Reproduction, find_subjects
from shadowtime.trace import write_swf
from shadowtime.workload import Workload
from shadowtime.workload.embedded import demo_workload

KB_EACH = {"LANL-CM5": 4000, "METACENTRUM": 900_000, CERIT: 4_000_000}


def small_log(label: str, first: int) -> Workload:
    """300 of the demo's jobs, wide and soon after each other; some outlive their request."""
    jobs = demo_workload().take(range(first, first + 300))
    jobs = jobs.replace(demand=np.minimum(jobs.demand * 8, 1024), submit=jobs.submit // 3)
    jobs = with_memory(jobs, median=KB_EACH[label])
    longer = jobs.run.copy()
    longer[::9] = jobs.request[::9] + 100
    return jobs.replace(run=longer)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Small logs under the names of the paper's."""
    place = tmp_path_factory.mktemp("logs")
    for k, log in enumerate(PAPER.logs):
        write_swf(small_log(log.label, 400 * k), Path(place) / f"{log.file}.gz")
    return str(place)


@pytest.fixture(scope="module")
def findings(folder: str) -> Findings:
    """The study's runs on them, two draws of each shaken input."""
    subjects, missing = find_subjects(PAPER.logs, folder)
    assert not missing
    study = runs(tuple(subjects), cases_of(subjects, quick=False), (1, 2))
    work = [task.work for task in study.tasks.values()]
    return study.collect(dict(zip(study.tasks, fan_out(work), strict=True)))


@pytest.fixture(scope="module")
def study(findings: Findings) -> Reproduction:
    return PAPER.reproduction(findings)


def test_every_case_is_run_at_its_loads(findings: Findings) -> None:
    """The paper's two workloads, other machines, and every reading."""
    names = [case.name for case in findings.cases]
    assert names[0] == PURE and MIXED in names and CERIT in names
    assert {"pure, 32 MB", "pure, 16 MB", "pure, memory used", "pure, no limit"} <= set(names)
    assert {"mixed, 1,024 processors", "mixed, 3 x run", "mixed, queue limits"} <= set(names)
    assert set(findings.outcomes) == {(c.name, load) for c in findings.cases for load in c.loads}
    assert set(findings.draws) == {
        (case.name, load) for case in findings.main() for load in shaken_loads(case)
    }
    for outcome in findings.outcomes.values():
        assert set(outcome.points) == set(POLICIES)


def test_points_are_what_the_engine_and_the_metrics_say(findings: Findings) -> None:
    """One cell from the beginning: fit, load, simulate, average."""
    case = findings.case(MIXED)
    assert case is not None
    jobs = case.jobs(1.2)
    schedule = simulate(jobs, case.cluster, parse_policy("bb(per_pass=until-none)"))
    expected = measure(schedule, jobs, case.cluster)
    point = findings.at(case, 1.2).points["BB*"]
    assert point.of("wait") == expected["wait_mean_s"]
    assert point.of("response") == expected["response_mean_s"]
    assert point.of("slowdown") == expected["slowdown_mean"]
    assert point.backfilled == expected["backfilled"]


def test_gains_follow_the_points(findings: Findings, study: Reproduction) -> None:
    """Cell by cell, and the largest beside the paper's where the text has a number."""
    case = findings.case(PURE)
    assert case is not None
    table = study.table("Gains, pure")
    points = findings.at(case, 0.8).points
    for a, b in PAIRS:
        cell = table.cell("0.8", over((a, b)), group="average response")
        ours, theirs = points[a].of("response"), points[b].of("response")
        assert cell.ours == pytest.approx(100 * (1 - ours / theirs) if theirs else 0.0)
    best = table.cell(BEST, "IBB/BB", group="average wait")
    gains = [row.cells[0].ours for row in table.rows if row.group == "average wait"]
    assert best.paper == 65.0 and best.ours == max(gains)
    assert study.table("Gains, mixed").cell(BEST, "IBB/BB", group="average slowdown").paper == 60
    assert study.table("Gains, CERIT-SC").cell(BEST, "IBB/BB").paper is None


def test_every_table_and_figure_is_there(findings: Findings, study: Reproduction) -> None:
    names = {table.name for table in study.tables}
    assert {"Averages", "Shaken inputs", "Statistics filter", "Resources"} <= names
    figures = {figure.name: figure for figure in study.figures}
    assert {"Figure 1", "Figure 2", "Figure 3"} <= set(figures)
    assert [panel.title for panel in figures["Figure 1"].panels] == [
        "average wait", "average response", "average slowdown",
    ]  # fmt: skip
    per_job = figures["Figure 3"].panel("slowdown")
    assert len(per_job.x) == 54 and [one.name for one in per_job.series] == [
        "FCFS", "Best-fit", "IBB",
    ]  # fmt: skip
    shaken = study.table("Shaken inputs").cell("1", "IBB/EASY", group="mixed: average wait")
    mixed = findings.case(MIXED)
    assert mixed is not None
    drawn = findings.drawn(mixed, 1.0, ("IBB", "EASY"), "wait")
    assert shaken.ours == pytest.approx(100 * np.mean(drawn)) and shaken.error is not None


def test_every_claim_is_judged(study: Reproduction) -> None:
    """Each published claim at least once; what cannot be known is not judged."""
    known = {claim.text for claim in published.claims("ibb").values()}
    assert {claim.text for claim in study.claims} == known
    for claim in study.claims:
        assert claim.evidence
        assert (claim.verdict == "not judged") == claim.where.endswith("4.3") or claim.ours
    readings = [claim.reading for claim in study.claims if "65 %" in claim.text]
    assert readings == ["BB one a pass", "BB one a pass, threshold frozen", "BB until none"]


def test_the_letter_of_algorithm_1_is_fcfs(study: Reproduction) -> None:
    [claim] = [claim for claim in study.claims if "Algorithm 1" in claim.text]
    assert claim.verdict == "holds" and claim.ours == "equals FCFS"


def test_a_verdict_follows_the_numbers(findings: Findings) -> None:
    """If IBB took a third of the time, the claims about its gains would hold."""
    outcomes = {}
    for key, outcome in findings.outcomes.items():
        points = dict(outcome.points)
        for name in ("IBB", "IBB frozen"):
            third = {metric: points["BB"].of(metric) / 3 for metric in METRICS}
            points[name] = replace(points[name], all_jobs=third)
        outcomes[key] = replace(outcome, points=points)
    better = PAPER.reproduction(replace(findings, outcomes=outcomes))
    gains = [claim for claim in better.claims if "60 % in all three" in claim.text]
    assert gains[0].verdict == "holds" and "67 %" in gains[0].ours
    assert "reproduces" in better.notes[0] and "does not" not in better.notes[0]


def test_notes_and_choices_are_sentences(study: Reproduction) -> None:
    assert len(study.notes) >= 6
    for sentence in (*study.notes, *study.choices):
        assert sentence.endswith(".") and "nan" not in sentence


def test_json_holds_every_point(findings: Findings, study: Reproduction) -> None:
    whole = json.loads(json.dumps(study.as_dict()))
    loads = sum(len(case.loads) for case in findings.cases)
    assert len(whole["points"]) == loads * len(POLICIES)
    assert set(whole["points"][0]["offered_load"]) == {"procs", "memory"}
    assert whole["generated"] is False and whole["traces"][0]["label"] == PURE


def test_without_logs_nothing_is_judged_by_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command on a generated workload: noted, small, written."""
    monkeypatch.delenv("SHADOWTIME_TRACES", raising=False)
    monkeypatch.chdir(tmp_path)
    command = ["paper", "ibb", "--quick", "--seeds", "2", "-o", "out", "--json"]
    assert run([*command, "--report", "p.html"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["generated"] is True and "generated workload" in captured.err
    judged = {claim["claim"] for claim in found["claims"] if claim["verdict"] != "not judged"}
    assert len(judged) == 1 and "Algorithm 1" in judged.pop()
    assert Path("out/figures/figure-3.svg").stat().st_size > 1000
    assert Path("out/mixed/schedules/ibb.csv").exists()
    assert '<section id="resources">' in Path("p.html").read_text()


def test_a_paper_without_a_quick_form_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["paper", "pv-easy", "--quick"]) == 2
    assert "no quick form" in capsys.readouterr().err


def test_estimates_are_never_below_the_run() -> None:
    jobs = Workload.build(submit=[0, 1], run=[50, 9000], procs=[1, 1], request=[40, 9000])
    again = with_estimates(jobs, np.array([10, 20]))
    assert again.run.tolist() == again.request.tolist() == [40, 9000]
    assert by_ladder(again.run).tolist() == [7200, 86400]


def test_the_condor_jobs_are_the_papers_in_number() -> None:
    jobs = condor_jobs()
    assert len(jobs) == 54 and jobs.submit.tolist() == list(range(54))
    assert condor_jobs().run.tolist() == jobs.run.tolist()
