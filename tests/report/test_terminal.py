"""Tables in the terminal."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from report.worlds import report_input
from shadowtime.report import PolicyRun, comparison_table, sparkline
from shadowtime.report.levels import Level, queue
from shadowtime.report.terminal import BLOCKS


def printed(table, width=140) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def test_the_winner_is_marked():
    report = report_input(200)
    text = printed(comparison_table(report.runs, ["bsld_mean", "jobs"]))
    line = next(line for line in text.splitlines() if "Mean bounded slowdown" in line)
    assert line.count("★") == 1
    best = min(report.runs, key=lambda run: run.metrics["bsld_mean"]).name
    names = next(line for line in text.splitlines() if "easy-sjbf" in line)
    cells = [part.strip() for part in names.replace("┃", "│").split("│")]
    values = [part.strip() for part in line.split("│")]
    assert values[cells.index(best)].startswith("★")
    assert "★" not in next(line for line in text.splitlines() if "Scored jobs" in line)


def test_queues_are_drawn_on_one_scale():
    text = printed(comparison_table(report_input(200).runs))
    line = next(line for line in text.splitlines() if "jobs waiting over time" in line)
    assert line.count(BLOCKS[-1]) >= 1


def test_one_policy_and_no_jobs():
    assert "easy" in printed(comparison_table(report_input(30, policies=("easy",)).runs))
    printed(comparison_table(report_input(0).runs))


def test_markup_in_a_name_stays_text():
    run = report_input(10, policies=("easy",)).runs[0]
    named = PolicyRun(**{**vars(run), "name": "[red]easy[/red]"})
    assert "[red]easy[/red]" in printed(comparison_table([named]))


def test_sparkline_leaves_gaps():
    assert sparkline([1.0, float("nan"), 1.0]) == "█ █"
    assert sparkline([]) == ""


def test_levels_keep_the_area():
    level = Level(np.array([3, 5, 9]), np.array([2, 7, 0]))
    edges = np.linspace(0, 12, 7)
    assert (level.means(edges) * np.diff(edges)).sum() == 2 * 2 + 4 * 7


def test_a_preempted_job_waits_again():
    from report.test_browser import preempting

    schedule = preempting().runs[0].schedule
    plain = queue(schedule.replace(attempts=type(schedule.attempts).none()))
    end = float(schedule.end.max())
    lost = 30.0 * int((schedule.kills > 0).sum())
    area = lambda level: level.means(np.array([0.0, end]))[0] * end  # noqa: E731
    assert abs(area(plain) - area(queue(schedule)) - lost) < 1e-6
