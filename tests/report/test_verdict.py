"""Which policy wins, and in which words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from report.worlds import easy, report_input, workload
from shadowtime.cli.common.findings import payers_line, winner_line
from shadowtime.errors import UsageError
from shadowtime.report import PolicyRun
from shadowtime.report.contest import contest
from shadowtime.report.figures import class_bars
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import MINUS, THIN, number, percent, span
from shadowtime.report.page.html import render
from shadowtime.report.page.markup import text as escape
from shadowtime.report.verdict import judge, verdict_of, winner_payers
from shadowtime.result.write import as_object
from shadowtime.study.expected_error import Expected
from shadowtime.study.losers import class_rows, clear_changes
from shadowtime.study.trust import Trust, findings_of


def run(name, metrics, **options):
    return PolicyRun(name=name, schedule=None, metrics=metrics, **options)


def test_lower_wins_where_lower_is_better_and_higher_where_higher_is():
    runs = [
        run("a", {"bsld_mean": 4.0, "goodput": 0.5}),
        run("b", {"bsld_mean": 5.0, "goodput": 0.6}),
    ]
    assert contest(runs, "bsld_mean").winner == 0
    assert contest(runs, "goodput").winner == 1


def test_equal_values_have_no_winner():
    result = contest([run("a", {"killed": 3.0}), run("b", {"killed": 3.0})], "killed")
    assert result.winner is None and result.winners == (0, 1)


def test_a_metric_without_a_better_side_has_no_winner():
    assert contest([run("a", {"jobs": 3.0}), run("b", {"jobs": 4.0})], "jobs").winners == ()


def copied(name, **copies):
    """A run whose unmodified log shows the opposite of its copies."""
    return run(name, dict.fromkeys(copies, 100.0), copies=copies)


def test_a_win_is_clear_by_the_paired_differences_and_not_by_the_intervals():
    """Copies differ a lot among themselves, and the policies by one in each of them: clear."""
    spread = [4.0, 40.0, 9.0, 25.0]
    runs = [copied("a", bsld_mean=spread), copied("b", bsld_mean=[v - 1.0 for v in spread])]
    low, high = runs[1].interval("bsld_mean").low, runs[0].interval("bsld_mean").low
    assert low < high < runs[1].interval("bsld_mean").high  # side by side they overlap
    found = judge([*runs[:1], copied("b", bsld_mean=[v - 1.0 - v / 1e3 for v in spread])])
    assert found.winner == 1 and found.contests[0].clear is True
    assert found.headline.startswith("b serves most jobs best: mean bounded slowdown 5.2")


def test_the_headline_says_no_clear_winner_where_the_copies_do():
    """On the unmodified log ``a`` wins everything; over the copies the sign changes."""
    runs = [
        run("a", {"bsld_mean": 1.0, "wait_mean_s": 1.0}, copies={"bsld_mean": [4.0, 6.0, 5.0],
            "wait_mean_s": [40.0, 60.0, 50.0]}),
        run("b", {"bsld_mean": 9.0, "wait_mean_s": 9.0}, copies={"bsld_mean": [5.0, 4.0, 5.5],
            "wait_mean_s": [50.0, 40.0, 55.0]}),
    ]  # fmt: skip
    found = judge(runs)
    assert found.winner is None
    assert found.headline == (
        "No clear winner: mean bounded slowdown is best under b (4.83), "
        "but its lead over a may be chance."
    )


def test_a_policy_that_wins_slowdown_pays_with_the_mean_wait():
    """The deciding metric is the slowdown; what gets worse by it is named as its cost."""
    runs = [
        copied("a", bsld_mean=[2.0, 2.1, 2.3], wait_mean_s=[500.0, 510.0, 530.0]),
        copied("b", bsld_mean=[1.0, 1.1, 1.2], wait_mean_s=[900.0, 910.0, 920.0]),
    ]
    found = judge(runs)
    assert found.winner == 1
    assert found.headline == (
        f"b serves most jobs best: mean bounded slowdown 48{THIN}% below a, "
        "but the mean wait is 15 min 10 s instead of 8 min 33 s."
    )
    assert found.detail == (
        "a has the shortest mean wait, 8 min 33 s (b 15 min 10 s), "
        "but a mean bounded slowdown of 2.13."
    )


def test_a_policy_that_is_as_good_and_costs_less_leads():
    """A slowdown lower by a per cent is not worth a longest wait three times as long."""
    runs = [
        run("base", {"bsld_mean": 60.0, "wait_mean_s": 9000.0, "wait_max_s": 900_000.0}),
        run("sharp", {"bsld_mean": 23.0, "wait_mean_s": 8800.0, "wait_max_s": 1_400_000.0}),
        run("kind", {"bsld_mean": 23.4, "wait_mean_s": 6000.0, "wait_max_s": 500_000.0}),
    ]
    found = judge(runs)
    assert found.winner == 2 and found.headline.startswith("kind serves most jobs best")
    assert "sharp is about equal in mean bounded slowdown (23, kind 23.4), but has" in found.detail
    worse = [*runs[:2], run("kind", {**runs[2].metrics, "bsld_mean": 25.0})]
    assert judge(worse).winner == 1
    dear = [*runs[:2], run("kind", {**runs[2].metrics, "wait_mean_s": 9900.0})]
    assert judge(dear).winner == 1


def test_a_cost_that_may_be_chance_is_not_named():
    runs = [
        copied("a", bsld_mean=[2.0, 2.1, 2.3], wait_max_s=[500.0, 900.0, 530.0]),
        copied("b", bsld_mean=[1.0, 1.1, 1.2], wait_max_s=[900.0, 510.0, 920.0]),
    ]
    assert judge(runs).headline.endswith(f"with no metric worse by more than 5{THIN}%.")


def test_a_policy_that_starts_fewer_jobs_neither_leads_nor_gets_a_star():
    runs = [
        run("a", {"bsld_mean": 4.0, "jobs": 100}),
        run("b", {"bsld_mean": 1.0, "jobs": 88}),
        run("c", {"bsld_mean": 3.0, "jobs": 100}),
    ]
    found = judge(runs)
    assert found.winner == 2 and found.contests[0].winners == (2,)
    assert "Not ranked, because they start fewer jobs: b (12 fewer)." in found.detail


def test_the_three_choices_are_named_where_they_differ():
    """More than 5 % must be at stake; a policy that is best in every sense needs no list."""
    report = report_input(300)
    fcfs, easy_run, leader = report.runs
    assert verdict_of(report).winner == 2

    def safest(share: float) -> list[tuple[str, int]]:
        wait = {"wait_max_s": share * leader.metrics["wait_max_s"]}
        other = replace(easy_run, metrics={**easy_run.metrics, **wait})
        found = verdict_of(report.replace(runs=(fcfs, other, leader)))
        return [(choice.best_for, choice.run) for choice in found.choices]

    assert safest(0.5) == [("most jobs", 2), ("fairness", 2), ("safety", 1)]
    assert safest(0.97) == []


def test_one_sentence_for_terminal_page_json_and_python(tmp_path):
    report = report_input(300, policies=("easy", "easy-sjbf"))
    found = verdict_of(report)
    assert "serves most jobs best" in found.headline
    page = render(report)
    assert escape(found.headline) in page
    assert all(escape(choice.sentence) in page for choice in found.choices)
    written = as_object(report, report.window)
    assert (written["headline"], written["detail"]) == (found.headline, found.detail)
    _, line = winner_line(report)
    assert line.plain == f"{found.headline} {found.detail}".replace(f"{THIN}%", "%")


def test_a_class_pays_only_if_its_loss_is_more_than_chance():
    """Two halves of a class that change in opposite ways are chance; the same change is not."""
    work = workload(200, user=np.repeat([1, 2], 100))
    base = easy(work, 64)
    swings = np.where(np.arange(200) % 20 < 10, 9_000, -9_000)
    for added, clear in ((np.full(200, 4_000), True), (swings, False)):
        longer = base.replace(start=base.start + added + 1_000, end=base.end + added + 1_000)
        wait = dict(clear_changes(work, longer, base))
        assert wait["user", "user 1"] is clear


def test_a_point_lies_in_its_own_interval():
    """With copies the value that is shown, compared and starred is their mean."""
    one = copied("a", bsld_mean=[4.0, 6.0, 5.0])
    found = one.interval("bsld_mean")
    assert found.low <= one.point("bsld_mean") <= found.high
    assert contest([one, copied("b", bsld_mean=[7.0, 8.0, 9.0])], "bsld_mean").values == (5.0, 8.0)


def test_the_headline_names_the_gain_and_the_price():
    runs = [
        run("a", {"bsld_mean": 4.0, "wait_mean_s": 90.0, "wait_max_s": 5.0}),
        run("b", {"bsld_mean": 2.0, "wait_mean_s": 60.0, "wait_max_s": 9.0}),
    ]
    verdict = judge(runs)
    assert verdict.winner == 1
    assert verdict.headline == (
        f"b serves most jobs best: mean bounded slowdown 50{THIN}% below a and mean wait "
        f"33{THIN}% shorter, but the longest wait is 9 s instead of 5 s."
    )
    assert verdict.detail == (
        "Most jobs: b, mean bounded slowdown 2. Safest: a, longest wait 5 s (with b: 9 s). "
        "This is one run: --shake 10 shows which differences may be chance."
    )


def test_one_policy_and_no_jobs_still_have_a_sentence():
    assert judge([run("a", {"bsld_mean": 4.0})]).headline == "a on its own."
    assert judge([run("a", {"jobs": 0}), run("b", {"jobs": 0})]).headline == "No job has finished."
    assert judge([run("a", {}), run("b", {})]).detail == "No metrics given."


def test_the_page_the_terminal_and_the_figure_name_the_same_payers(tmp_path):
    """One sentence, one metric, the first policy as baseline, the same bars."""
    report = report_input(300)
    found = winner_payers(report)
    assert found.against == "fcfs" == report.baseline.name
    page = render(report)
    assert escape(found.sentence) in page
    assert found.sentence in " ".join(payers_line(report).plain.split()).replace("%", f"{THIN}%")
    figure = Figure()
    assert class_bars(figure, report)
    [axes] = figure.axes
    drawn = sorted(bar.get_width() for bar in axes.patches)
    assert drawn == pytest.approx(sorted(100 * change.change for change in found.changes))
    assert axes.get_xlabel() == f"mean wait, change in % ({found.policy} against fcfs)"


def test_the_price_of_the_first_policy_is_that_of_the_best_other():
    """Where the first policy wins, or none does, the others are still compared with it."""
    report = report_input(300, policies=("easy-sjbf", "easy", "fcfs"))
    assert judge(report.runs).winner in (0, 1)
    found = winner_payers(report.replace(runs=report.runs[::2]))
    assert (found.policy, found.against) == ("fcfs", "easy-sjbf")
    assert winner_payers(report.replace(runs=report.runs[:1])) is None


def test_a_replay_is_led_by_its_trust_and_no_policy_wins():
    """Simulated and recorded runs do not compete."""
    trust = Trust(Expected(error=0.6, by_group=0.6), findings_of({"no_request": 0.5}), "easy")
    report = report_input(60, policies=("fcfs", "easy"), trust=trust, replay=True)
    found = verdict_of(report)
    assert found.headline == "How far to trust a what-if: mean waits within 60 %."
    assert found.winner is None
    page = render(report)
    first = page.index('<p class="verdict poor">')
    assert page.index("<h1>") < first < page.index('class="scores"')
    assert "serves most jobs best" not in page and 'td class="best" data-policy' not in page
    assert "backfilling then knows the future" in page


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
    assert (info.heading, info.better) == ("99th percentile queue, s", "neither")


def test_only_scored_jobs_count_in_the_classes():
    report = report_input(50)
    only = np.arange(50) < 20
    rows = class_rows(report.workload, report.runs[0].schedule, only=only)
    assert sum(row.jobs for row in rows if row.kind == "size") == 20
