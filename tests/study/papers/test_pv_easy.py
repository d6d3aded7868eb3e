"""The PV-EASY study on small logs: every table, figure and claim is there and follows the runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shadowtime.study.papers import published
from shadowtime.study.papers.pv_easy import PAPER
from shadowtime.study.papers.pv_easy import runs as p
from shadowtime.study.papers.pv_easy.runs import ERRORS, Findings, runs
from shadowtime.study.papers.reproduction import Reproduction, carry_out, find_subjects
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload

SEEDS = 2


@pytest.fixture(scope="module")
def generated() -> Reproduction:
    """The study without any log."""
    subjects, _ = find_subjects(PAPER.logs, None)
    jobs = subjects[0].workload.take(range(600))
    return carry_out(PAPER.plan([replace(subjects[0], workload=jobs)], SEEDS))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The study's runs on three small logs under the names of the paper's."""
    folder = tmp_path_factory.mktemp("logs")
    jobs = demo_workload()
    for k, log in enumerate(PAPER.logs):
        part = jobs.take(range(500 * k, 500 * k + 400))
        longer = part.run.copy()
        longer[::9] = part.request[::9] + 100  # some outlive their request
        write_swf(part.replace(run=longer), Path(folder) / f"{log.file}.gz")
    subjects, missing = find_subjects(PAPER.logs, str(folder))
    assert not missing
    narrow = tuple(
        replace(subject, cluster=subject.cluster.pool(256)) for subject in subjects
    )  # the demo's machine, so that there is a queue
    study = runs(narrow, tuple(range(1, SEEDS + 1)))
    return study.collect({key: task.work() for key, task in study.tasks.items()})


@pytest.fixture(scope="module")
def complete(findings: Findings) -> Reproduction:
    return PAPER.reproduction(findings)


def test_every_table_and_figure_is_there(generated: Reproduction, complete: Reproduction):
    """Tables 1 to 6 and Figures 2 to 6, then ours; a cell of every published number."""
    names = [table.name for table in complete.tables]
    assert names[:6] == [f"Table {k}" for k in range(1, 7)]
    assert "Cleaning" in names and "Cleaning" not in [table.name for table in generated.tables]
    assert [figure.name for figure in complete.figures] == [f"Figure {k}" for k in range(2, 7)]
    for number in range(1, 7):
        assert any(True for _ in complete.table(f"Table {number}").compared())
        assert not any(True for _ in generated.table(f"Table {number}").compared())


def test_cells_are_the_runs_numbers_in_the_papers_units(complete: Reproduction, findings: Findings):
    """Minutes, hours and per cent; the paper's value from the published file."""
    subject = findings.subjects[0]
    easy, pv = findings.of(subject, "easy").metrics, findings.of(subject, p.PV).metrics
    cell = complete.table("Table 1").cell("mean delay", "CTC", group="EASY as defined")
    assert (cell.ours or 0) * 60 == pytest.approx(easy["fst2_delay_mean_s"])
    assert cell.paper == 80.05
    waste = complete.table("Table 5").cell("wasted load", "CTC", group="PV-EASY")
    assert waste.ours == pytest.approx(100 * pv["wasted_load"]) and waste.paper == 2.48
    blocked = complete.table("Table 4").cell("blocked", "SDSC-DS", group="EASY loose and fixed")
    policy = "easy(fixed_reservation=yes, extra_update=no)"
    assert blocked.ours == findings.of(findings.subjects[2], policy).metrics["blocked"]
    assert blocked.paper == 4147


def test_every_claim_of_the_paper_is_judged(complete: Reproduction, generated: Reproduction):
    """Each row of the published list, in order, with evidence; without logs what needs none."""
    wanted = [claim.text for claim in published.claims("pv_easy").values()]
    for result in (complete, generated):
        assert list(dict.fromkeys(claim.text for claim in result.claims)) == wanted
        assert all(claim.evidence for claim in result.claims)
    beyond = {"Each point of the virtual predictor is the mean of ten repetitions.",
              "90 % to 95 % of scheduler installations keep the default (plain EASY)."}  # fmt: skip
    for claim in complete.claims:
        assert (claim.verdict == "not judged") == (claim.text in beyond), claim
    judged = [claim.text for claim in generated.claims if claim.verdict != "not judged"]
    assert judged == ["No reservation violation occurs in PV-EASY."]


def test_both_readings_of_the_ten_per_cent_are_judged(complete: Reproduction):
    """Errors up to 10 % and errors from 10 % on, each against two readings of EASY."""
    readings = [
        claim.reading for claim in complete.claims if "virtual predictor PV-EASY" in claim.text
    ]
    assert len(readings) == 4
    assert sum("up to 10 %" in reading for reading in readings) == 2


def test_table_2_is_judged_however_long_a_reservation_is_kept(complete: Reproduction):
    """The first shadow time kept for good, and only until it has passed without a start."""
    readings = {claim.reading for claim in complete.claims}
    assert {"EASY-Last fixed", "EASY-Last fixed until missed"} <= readings


def changed(findings: Findings, policy: str, **changes: object) -> Findings:
    """The same findings with one policy's outcome changed on the first log."""
    key = (findings.subjects[0].label, policy)
    outcomes = dict(findings.outcomes)
    outcomes[key] = replace(outcomes[key], **changes)
    return replace(findings, outcomes=outcomes)


def verdict_of(result: Reproduction, start: str) -> str:
    return next(claim.verdict for claim in result.claims if claim.text.startswith(start))


def test_a_verdict_can_fall_the_other_way(findings: Findings, complete: Reproduction):
    """One unproved run, one violation or another makespan turns the verdict."""
    assert verdict_of(complete, "No reservation violation") == "holds"
    broken = changed(findings, p.PV, unproved=("strictly-fair: violated (...)",))
    assert verdict_of(PAPER.reproduction(broken), "No reservation violation") == "does not hold"
    metrics = dict(findings.of(findings.subjects[0], p.PV).metrics)
    broken = changed(findings, p.PV, metrics=metrics | {"violations": 1})
    assert verdict_of(PAPER.reproduction(broken), "No reservation violation") == "does not hold"
    later = metrics | {"makespan_s": 2 * metrics["makespan_s"]}
    broken = changed(findings, p.PV, metrics=later)
    assert verdict_of(PAPER.reproduction(broken), "Each workload finishes") == "does not hold"


def test_points_of_figure_4_are_means_over_the_seeds(findings: Findings, complete: Reproduction):
    """Mean and standard error of the seeds; one run where there is no error to draw."""
    panel = complete.figure("Figure 4").panel("SDSC-DS, MWBS")
    assert panel.x == tuple(round(100 * x, 6) for x in ERRORS)
    for line in p.FIGURE_4:
        pairs = findings.sweep["SDSC-DS", line, 0.1]
        assert len(pairs) == SEEDS and len(findings.sweep["SDSC-DS", line, 0.0]) == 1
        assert panel.line(line)[10.0] == pytest.approx(np.mean([pair[1] for pair in pairs]))
    errors = panel.series[0].error
    assert errors[0] is None and errors[1] is not None


def test_the_virtual_predictor_without_error_is_the_true_run_time(findings: Findings):
    """At an error of 0 the sweep meets the run with actual run times."""
    for subject in findings.subjects:
        [(mbs, mwbs)] = findings.sweep[subject.label, "SJF-EASY", 0.0]
        exact = findings.of(subject, "easy-sjbf(estimate=actual)").metrics
        assert (mbs, mwbs) == (pytest.approx(exact["mbs"]), pytest.approx(exact["mwbs"]))


def test_groups_by_size_hold_every_blocked_job(findings: Findings):
    """Figures 2 and 3 leave no job out and count none twice."""
    for subject in findings.subjects:
        for policy in (p.PV, p.easy(), p.easy(p.NEAREST)):
            found = findings.of(subject, policy)
            assert found.sizes is not None
            assert sum(group.jobs for group in found.sizes.groups) == found.metrics["blocked"]
            assert found.sizes.small.jobs + found.sizes.big.jobs == found.metrics["blocked"]


def test_notes_are_made_from_the_tables(complete: Reproduction, generated: Reproduction):
    """They name the nearest reading of EASY; without logs they state that nothing was compared."""
    assert "The nearest is" in complete.notes[1] and "Table 2" in complete.notes[2]
    assert generated.notes[0].startswith("This ran on a generated workload")


def test_the_object_is_plain_and_always_the_same(generated: Reproduction):
    """What is printed as JSON can be printed, and a second run gives the same."""
    first = json.dumps(generated.as_dict())
    subjects = generated.subjects
    assert json.dumps(carry_out(PAPER.plan(subjects, SEEDS), threads=1).as_dict()) == first
    accuracy = json.loads(first)["accuracy"]
    assert {"by_size", "by_user", "overall"} <= set(accuracy[0])
