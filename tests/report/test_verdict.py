"""Who wins, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from report.worlds import report_input
from shadowtime.errors import UsageError
from shadowtime.metrics import by_class
from shadowtime.report import ClassRow, PolicyRun
from shadowtime.report.classes import TOP_USERS, class_rows
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import MINUS, number, percent, span
from shadowtime.report.verdict import class_changes, contest, judge


def run(name, metrics, **options):
    return PolicyRun(name=name, schedule=None, metrics=metrics, **options)


def test_lower_wins_where_lower_is_better_and_higher_where_higher_is():
    runs = [
        run("a", {"bsld_mean": 4.0, "utilisation": 0.5}),
        run("b", {"bsld_mean": 5.0, "utilisation": 0.6}),
    ]
    assert contest(runs, "bsld_mean").winner == 0
    assert contest(runs, "utilisation").winner == 1


def test_equal_values_have_no_winner():
    result = contest([run("a", {"killed": 3.0}), run("b", {"killed": 3.0})], "killed")
    assert result.winner is None and result.winners == (0, 1)


def test_a_metric_without_a_better_side_has_no_winner():
    assert contest([run("a", {"jobs": 3.0}), run("b", {"jobs": 4.0})], "jobs").winners == ()


@pytest.mark.parametrize(("high", "clear"), [(5.1, False), (4.4, True)])
def test_overlapping_intervals_are_said(high, clear):
    runs = [
        run("a", {"bsld_mean": 4.0}, intervals={"bsld_mean": (3.5, high)}),
        run("b", {"bsld_mean": 5.0}, intervals={"bsld_mean": (4.5, 5.5)}),
    ]
    assert contest(runs, "bsld_mean").clear is clear
    assert ("within the intervals" in judge(runs).detail) is not clear


def test_the_verdict_names_the_policy_with_most_wins():
    runs = [
        run("a", {"bsld_mean": 4.0, "wait_mean_s": 90.0, "wait_max_s": 5.0}),
        run("b", {"bsld_mean": 2.0, "wait_mean_s": 60.0, "wait_max_s": 9.0}),
    ]
    verdict = judge(runs)
    assert verdict.winner == 1
    assert verdict.headline == "b wins 2 of 3 metrics."
    assert "50.0" in verdict.detail and "below a" in verdict.detail
    assert "a wins longest wait" in verdict.detail


def test_one_policy_and_no_jobs_still_have_a_sentence():
    assert judge([run("a", {"bsld_mean": 4.0})]).headline == "a on its own."
    assert judge([run("a", {"jobs": 0}), run("b", {"jobs": 0})]).headline == "No job has finished."
    assert judge([run("a", {}), run("b", {})]).detail == "No metrics given."


def test_who_loses_is_measured_by_class():
    rows = lambda value: (ClassRow(kind="size", label="1", jobs=3, metrics={"bsld_mean": value}),)  # noqa: E731
    assert class_changes(rows(3.0), rows(2.0), "bsld_mean")[0].change == pytest.approx(0.5)


def test_reports_are_refused_with_the_reason():
    report = report_input(20)
    with pytest.raises(UsageError, match="at least one policy"):
        report.replace(runs=())
    with pytest.raises(UsageError, match="share a name"):
        report.replace(runs=(report.runs[0], report.runs[0]))
    with pytest.raises(UsageError, match="20 jobs and the workload 19"):
        report.replace(workload=report.workload.take(range(19)))


def test_numbers_as_people_read_them():
    assert number(-1234.5) == f"{MINUS}1,234"
    assert percent(None) == number(float("nan")) == span(None)
    assert span(3599.9) == "1 h"
    assert span(-90) == f"{MINUS}1 min 30 s"


def test_unknown_metrics_are_described_by_their_names():
    info = describe("queue_p99_s")
    assert (info.heading, info.better) == ("99th percentile queue, s", "lower")


def test_classes_agree_with_the_metrics_room():
    """The report's quick means are those that metrics defines."""
    report = report_input(200)
    run = report.runs[1]
    ours = class_rows(report.workload, run.schedule)
    theirs = [
        row
        for kind in ("size", "runtime", "user")
        for row in by_class(run.schedule, report.workload, kind, top=TOP_USERS)
    ]
    assert [(row.kind, row.jobs) for row in ours] == [(row.kind, row.jobs) for row in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        for name, value in mine.metrics.items():
            assert value == pytest.approx(other.metrics[name])


def test_only_scored_jobs_count_in_the_classes():
    report = report_input(50)
    only = np.arange(50) < 20
    rows = class_rows(report.workload, report.runs[0].schedule, only=only)
    assert sum(row.jobs for row in rows if row.kind == "size") == 20
