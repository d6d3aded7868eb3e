"""The page and the figures of a sweep."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.metrics.intervals import interval
from shadowtime.report.page.sweep import best_guess, sweep_page
from shadowtime.study.sweep.curves import curve

pytest.importorskip("pyarrow")
import pyarrow as pa


def rows(value, **ranges):
    """Rows of a sweep: every pair of values on the log as it is and on three copies."""
    (a, firsts), (b, seconds) = ranges.items()
    fixed = {"log": "log", "machine": "pool:4", "load": "as recorded", "error": None, "seed": 1}
    return pa.Table.from_pylist(
        [
            {
                **fixed,
                "policy": f"p({a}={first}, {b}={second})",
                "template": "p",
                "kind": "shake" if copy else "none",
                "copy": copy,
                f"set_{a}": float(first),
                f"set_{b}": float(second),
                "bsld_mean": value(first, second, copy),
                "expansion": -1.0,
            }
            for first in firsts
            for second in seconds
            for copy in range(4)
        ]
    )


def value(first, second, copy):
    return 10.0 * first + second + copy


def test_a_parameter_with_the_name_of_a_metric_is_the_parameter():
    """Points lie at the values of the parameter; intervals are over the means of the copies."""
    table = rows(value, expansion=(0, 1), reserve=(2, 4))
    points = curve(table, "bsld_mean", "expansion")
    assert [point.at for point in points] == [(0.0,), (1.0,)]
    assert [point.value for point in points] == [3.0, 13.0]
    assert points[0].interval == interval([4.0, 5.0, 6.0]), "reserve is averaged in each copy"
    assert [point.runs for point in points] == [8, 8]


def test_the_page_has_every_value_with_its_interval():
    """Bars by policy, curves over each parameter, a map of both; the best cell has the star."""
    table = rows(value, expansion=(0, 1), reserve=(2, 4))
    page = sweep_page(table, title="two", metrics=["bsld_mean"])
    assert page.count('data-chart="bars"') == 1 and page.count('data-chart="curve"') == 2
    assert page.count('class="map sweep"') == 1 and page.count('">★ ') == 1
    for first in (0, 1):
        for second in (2, 4):
            inside = interval([value(first, second, copy) for copy in (1, 2, 3)])
            assert f'data-value="{inside.mean}"' in page
            assert f'data-low="{inside.low}" data-high="{inside.high}"' in page
    best = re.search(r'data-value="([^"]+)">★', page)
    assert best and float(best[1]) == 4.0
    assert sweep_page(table, title="two", metrics=["bsld_mean"]) == page


def test_without_copies_nothing_has_an_interval():
    table = rows(value, expansion=(0, 1), reserve=(2, 4))
    alone = table.filter(pa.compute.equal(table.column("kind"), "none"))
    page = sweep_page(alone, title="two", metrics=["bsld_mean"])
    assert "no copies, hence no intervals" in page
    assert 'class="whisker"' not in page and 'class="band' not in page
    assert best_guess(curve(alone, "bsld_mean", "reserve")[0]) == (7.0, 7.0, 7.0)
    assert not math.isnan(curve(alone, "bsld_mean", "reserve")[0].value or math.nan)


def test_the_command_writes_page_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a sweep that ran; a metric that was not measured is refused."""
    from study.sweep.worlds import write_plan

    monkeypatch.chdir(tmp_path)
    plan = write_plan(tmp_path, ["easy(reserve=1..2)", "fcfs"], shake=2)
    assert run(["sweep", str(plan), "-o", "r", "--workers", "1"]) == 0
    assert run(["sweep", "report", "r", "--figures", "f"]) == 0
    assert "wrote r/report.html" in capsys.readouterr().err
    page = Path("r/report.html").read_text()
    assert "easy(reserve=2)" in page and 'data-chart="curve"' in page and "The plan" in page
    assert {path.name for path in Path("f").iterdir()} == {"bars.svg", "bars.pdf"}
    assert run(["sweep", "report", "r", "--metric", "beauty"]) == 2
    assert "no metric 'beauty'" in capsys.readouterr().err
