"""scripts/bench growth: the page with the table and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks import growth_page
from benchmarks.bench_growth import (
    CASES,
    GROWTH_BAR,
    MOST,
    Case,
    row_of,
    rows_with_a_limit,
    world_of,
)

if TYPE_CHECKING:
    from pathlib import Path

EVEN = Case("easy-sjbf", "pool", 0.9, (10_000, 300_000))
STEEP = Case("conservative", "pool", 1.05, (10_000, 30_000))
COSTS = {EVEN: {10_000: 0.01, 300_000: 0.6}, STEEP: {10_000: 0.4, 30_000: 4.8}}


def test_time_per_job_is_held_against_the_shortest_workload() -> None:
    even, steep = (row_of(case, cost) for case, cost in COSTS.items())
    assert even.value == pytest.approx(2.0) and even.bar == GROWTH_BAR and even.met
    assert steep.value == pytest.approx(4.0) and steep.bar is None, "it ends early: no bar"


def test_some_sizes_have_a_bar_of_their_own() -> None:
    """A size that was not measured, as the one before it took too long, has no row."""
    overloaded = next(case for case in CASES if (case.policy, case.load) == ("conservative", 1.05))
    (row,) = rows_with_a_limit(overloaded, {10_000: 0.1, 50_000: 1.5})
    assert row.what == "conservative, load 1.05, 50,000 jobs" and row.bar == 2.0 and row.met
    sizes = {(case.policy, case.load, size) for case in CASES for size in case.sizes}
    assert set(MOST) <= sizes


def test_the_page_has_a_line_for_each_case_and_the_picture_one_panel_for_each_load(
    tmp_path: Path,
) -> None:
    growth_page.write(COSTS, tmp_path, limit=30.0)
    page = (tmp_path / "growth.md").read_text()
    assert "| easy-sjbf | pool | 0.9 | 0.010 | - | 0.600 | 2.00 x |" in page
    assert "| conservative | pool | 1.05 | 0.400 | 4.800 | - | 4.00 x |" in page
    assert "(growth.svg)" in page
    assert "longer than 30 s" in page
    drawn = (tmp_path / "growth.svg").read_text()
    assert "load 0.9" in drawn and "load 1.05" in drawn
    assert drawn.count("<circle") == sum(map(len, COSTS.values()))


def test_every_case_has_a_world_of_its_size() -> None:
    for case in {case.machine: case for case in CASES}.values():
        jobs, cluster = world_of(case, 50)
        assert len(jobs) == 50 and cluster.shape == case.machine
