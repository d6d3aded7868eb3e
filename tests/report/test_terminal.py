"""Tables in the terminal."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from report.worlds import report_input
from shadowtime.report import PolicyRun, comparison_table, sparkline
from shadowtime.report.levels import Level, queue
from shadowtime.report.numbers import percent
from shadowtime.report.terminal import BLOCKS


def printed(table, width=140) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def cells(text: str, heading: str) -> dict[str, str]:
    """The column under a heading, by the first word of each row; columns are right-aligned."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if heading in line)
    end = lines[first].index(heading) + len(heading)
    found = {}
    for line in lines[first + 1 :]:
        if not line.strip():
            break
        found[line.split()[0]] = line[:end].rpartition("  ")[-1].strip()
    return found


def test_the_winner_is_marked():
    report = report_input(200)
    text = printed(comparison_table(report.runs, ["bsld_mean", "jobs"]))
    best = min(report.runs, key=lambda run: run.metrics["bsld_mean"]).name
    column = cells(text, "mean bsld")
    assert [name for name, value in column.items() if value.startswith("★")] == [best]
    assert "★" not in "".join(cells(text, "scored jobs").values())


def test_the_last_row_is_the_gain_over_the_runner_up():
    report = report_input(200)
    first, second = sorted(run.metrics["bsld_mean"] for run in report.runs)[:2]
    text = printed(comparison_table(report.runs, ["bsld_mean", "jobs"]))
    assert cells(text, "mean bsld")["best"] == percent(first / second - 1, signed=True)


@pytest.mark.parametrize("count", [2, 6, 12])
@pytest.mark.parametrize("copies", [{}, {"bsld_mean": [5.0, 6.0], "wait_mean_s": [70.0, 80.0]}])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_every_policy_and_metric_fits_the_width(count, copies, width):
    """Columns that do not fit form another table; nothing is cut."""
    run = report_input(50, policies=("easy",)).runs[0]
    metrics = dict(run.metrics) | {"wait_max_s": 9e6, "bsld_p95": 123456.7}
    runs = [
        PolicyRun(
            name=f"easy(reserve={at},backfill=shortest-first)" if at % 2 else f"policy-{at}",
            schedule=run.schedule,
            metrics={name: value * (1 + at / 7) for name, value in metrics.items()},
            copies={name: [x + at for x in values] for name, values in copies.items()},
        )
        for at in range(count)
    ]
    text = printed(comparison_table(runs, width=width), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    tables = text.count("policy  ")
    words = text.split()
    for at in range(0, count, 2):
        assert words.count(f"policy-{at}") == tables
    for name in ("mean bsld", "mean wait", "longest", "jobs waiting"):
        assert text.count(name) == 1


def test_metrics_without_a_difference_share_a_line():
    """Equal values need no column."""
    run = report_input(50, policies=("easy",)).runs[0]
    runs = [PolicyRun(**{**vars(run), "name": name}) for name in ("one", "two")]
    text = printed(comparison_table(runs, ["wait_mean_s", "goodput", "jobs"]))
    line = next(line for line in text.splitlines() if line.startswith("equal under all: "))
    assert "mean wait" in line and "goodput" in line and "scored jobs" not in line
    assert "★" not in text


def test_queues_are_drawn_on_one_scale():
    text = printed(comparison_table(report_input(200).runs))
    column = cells(text, "over time")
    assert "".join(column.values()).count(BLOCKS[-1]) >= 1


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
