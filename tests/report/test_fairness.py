"""Which jobs delayed which, lost work over time and the accuracy of predictions on the page."""

from __future__ import annotations

import re

import pytest

from report.worlds import report_input, workload
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import lost_work, measure
from shadowtime.policy import parse_policy
from shadowtime.report import PolicyRun, ReportInput
from shadowtime.report.page.html import render
from shadowtime.report.page.markup import tabs
from shadowtime.report.page.over_time import quarters
from shadowtime.study.accuracy import accuracy_report
from shadowtime.study.fairness import fairness_view

POOL = Cluster.pool(64)


def report(*policies: str, cluster: Cluster = POOL, **columns) -> ReportInput:
    """The engine's schedules of some policies over random jobs."""
    jobs = workload(400, load=1.1, **columns)
    runs = []
    for name in policies:
        policy = parse_policy(name)
        made = simulate(jobs, cluster, policy)
        runs.append(
            PolicyRun(
                name=name,
                schedule=made,
                parameters=policy.parameters,
                metrics=measure(made, jobs, cluster),
            )
        )
    return ReportInput(title="Some", workload=jobs, cluster=cluster, runs=tuple(runs))


def section_of(page: str, name: str) -> str:
    found = page[page.index(f'<section id="{name}">') :]
    return found[: found.index("</section>")]


def test_the_page_names_the_delayed_and_the_culprits():
    """EASY's longest delay with the jobs that caused it; PV-EASY has a row and nothing to show."""
    made = report("easy", "pv-easy")
    found = section_of(render(made), "fairness")
    view = fairness_view(made.runs[0].schedule, made.workload, POOL)
    assert view.delayed > 0 and "Which jobs delayed which" in found
    worst = view.longest[0]
    assert f"job {worst.job_id}</th>" in found and ", ".join(map(str, worst.by)) in found
    pair = view.by_user[0]
    assert f"{pair.delayed} by {pair.by}" in found
    assert found.count('<div class="panel">') == 1, "no panel for a policy that delays no job"
    rows = re.findall(r"<tr>.*?</tr>", found[found.index("Delayed by later jobs") :])
    fair = next(row for row in rows if "pv-easy" in row)
    assert re.findall(r"<td>(.*?)</td>", fair)[1] == "0"


def test_nothing_is_reported_where_fair_starts_are_not_defined():
    """If memory counts too, a job may be blocked by more than processors."""
    made = report("easy", cluster=Cluster.pool(64, memory=500), demand={"memory": [9] * 400})
    assert "Delayed by later jobs" not in section_of(render(made), "fairness")


def test_lost_work_is_drawn_over_time():
    """Two charts: the total so far, and each interval; the scale covers the total."""
    made = report("easy", "pv-easy", "pv-easy(venture=no)")
    found = section_of(render(made), "preemption")
    drawings = re.findall(r'<figure class="lost"[^>]*>.*?</figure>', found, re.DOTALL)
    assert len(drawings) == 2
    for drawing in drawings:
        lines = re.findall(r'points="([^"]*)"', drawing)
        assert len(lines) == 2, "EASY loses nothing"
        assert all(len(line.split()) == 240 for line in lines)
    heights = [float(point.split(",")[1]) for point in lines_of(drawings[0])]
    assert heights == sorted(heights, reverse=True), "what is lost stays lost"
    total = max(float(lost_work(run.schedule)[1][-1]) for run in made.runs[1:]) / 3600
    assert quarters(total)[-1][1] in drawings[0]


def lines_of(drawing: str) -> list[str]:
    found = re.search(r'points="([^"]*)"', drawing)
    assert found
    return found[1].split()


@pytest.mark.parametrize(
    ("top", "last"), [(0.0, 1.0), (1.0, 1.0), (1.1, 1.2), (3.0, 3.2), (4.1, 6.0), (730.0, 800.0)]
)
def test_ticks_hold_the_largest_value(top: float, last: float):
    assert quarters(top)[-1][0] == pytest.approx(last) and len(quarters(top)) == 5


def test_accuracy_by_size_and_by_user_where_a_policy_predicts():
    """A row per policy, the users' requests too, and tables by class that equal the study's."""
    made = report("easy", "easy-last", "pv-easy(estimate=noisy(x=0.4, seed=2))")
    found = section_of(render(made), "predictions")
    for predictor in ("requested", "last", "noisy(x=0.4, seed=2)"):
        assert f"<td>{predictor}</td>" in found
    known = accuracy_report(
        made.runs[1].schedule, made.workload, parse_policy("easy-last").estimate
    )
    for row in (*known.by_size, *known.by_user):
        assert f'<th scope="row">{row.label}</th>' in found
    clamped = made.runs[1].schedule.counters["clamped_predictions"]
    assert made.runs[1].metrics["clamped_predictions"] == clamped


def test_no_section_where_no_policy_predicts():
    page = render(report("easy", "easy(estimate=actual)"))
    assert '<section id="predictions">' not in page
    assert '<section id="predictions">' not in render(report_input(30))


def test_many_runs_fold_away():
    """The style sheet switches between eight tabs; more are folded one by one."""
    few = tabs("x", [(k, f"p{k}", "") for k in range(8)])
    many = tabs("x", [(k, f"p{k}", "") for k in range(9)])
    assert few.count('type="radio"') == 8 and many.count("<details>") == 9
