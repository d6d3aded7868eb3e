"""The first screen answers the question: frontier, payers and switches, with seven policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from report.test_widths import six
from report.worlds import policy_run, report_input
from shadowtime.metrics import Window
from shadowtime.report import write_html
from shadowtime.report.page.chart import robust_top
from shadowtime.report.page.data import job_columns
from shadowtime.report.page.heat import Maps
from shadowtime.workload import Workload

POINTS = (
    "return [...document.querySelectorAll('#frontier .point')].map(e => [Number(e.dataset.of),"
    " Number(e.dataset.x), Number(e.dataset.y), e.classList.contains('beaten')])"
)


def seven(jobs: int = 200, **changes):
    report = six(jobs)
    slow = policy_run("fcfs", report.workload, 64, backfill=False)
    return report.replace(runs=(*report.runs, slow), **changes)


def switch(browser, place: int) -> None:
    browser.run(f"document.querySelector('.switches [data-switch=\"{place}\"]').click()")


def test_the_frontier_has_a_point_per_policy_and_greys_what_is_beaten(opened):
    """A point is beaten if another is as good by both metrics and better by one."""
    report = seven()
    browser = opened(report)
    found = {of: (x, y, beaten) for of, x, y, beaten in browser.run(POINTS)}
    values = [(run.metrics["wait_mean_s"], run.metrics["wait_max_s"]) for run in report.runs]
    assert {of: (x, y) for of, (x, y, _) in found.items()} == dict(enumerate(values))
    for place, (x, y) in enumerate(values):
        better = any(a <= x and b <= y and (a, b) != (x, y) for a, b in values)
        assert found[place][2] is better
    assert any(beaten for _, _, beaten in found.values())


def test_other_axes_can_be_chosen_and_intervals_are_drawn(opened):
    report = seven()
    runs = tuple(
        replace(run, copies={"bsld_mean": np.array([0.9, 1.0, 1.1]) * run.metrics["bsld_mean"]})
        for run in report.runs
    )
    browser = opened(report.replace(runs=runs))
    assert browser.run("return document.querySelectorAll('#frontier .whisker').length") == 0
    browser.run(
        "const s = document.getElementById('frontier-x'); s.value = 'bsld_mean';"
        " s.dispatchEvent(new Event('change'))"
    )
    assert browser.run("return document.querySelectorAll('#frontier .whisker').length") == 7
    options = browser.run(
        "return [...document.getElementById('frontier-x').options].map(o => o.textContent)"
    )
    assert "Mean bounded slowdown of jobs on 1 processor" in options
    assert "Mean bounded slowdown of jobs on 17-64 processors" in options


def test_headline_frontier_and_payers_are_in_the_first_screen(opened):
    browser = opened(seven())
    browser.emulate(width=1280, height=800)
    browser.settle()
    for selector in (".verdict", "#frontier", ".losers .diverging"):
        bottom = browser.run(
            f"return document.querySelector('{selector}').getBoundingClientRect().bottom"
        )
        assert bottom <= 800, selector


def test_a_policy_is_switched_off_on_the_whole_page_and_in_the_link(opened, browser, tmp_path):
    report = seven()
    opened(report)
    switch(browser, 6)
    visible = (
        "return [...document.querySelectorAll(arguments_)].filter(e => e.getClientRects().length)"
        ".filter(e => e.textContent.trim() === 'fcfs').length"
    )
    for place in (".scores thead .name", ".classes thead .name", ".map figcaption .name",
                  "figure .legend .name", "#scored .name", ".tabs label .name"):  # fmt: skip
        assert browser.run(visible.replace("arguments_", f"'{place}'")) == 0, place
    assert len(browser.run(POINTS)) == 6
    lines = "return [...document.querySelectorAll('.line')].filter(e => e.dataset.name === 'fcfs'"
    assert browser.run(f"{lines} && e.style.display !== 'none').length") == 0
    assert "fcfs" in browser.run("return decodeURIComponent(location.hash)")
    address = browser.run("return location.hash.slice(1)")
    browser.open(write_html(report, tmp_path / "again.html"), fragment=address)
    browser.settle()
    assert len(browser.run(POINTS)) == 6
    switch(browser, 6)
    assert len(browser.run(POINTS)) == 7
    for place in range(7):
        switch(browser, place)
    assert len(browser.run(POINTS)) == 1, "the last one stays"


def test_an_outlier_does_not_flatten_a_chart(opened):
    """Bars of the others keep their length; the bar of the outlier is cut and marked."""
    report = seven()
    waits = [run.metrics["wait_mean_s"] for run in report.runs]
    assert waits[6] > 3 * sorted(waits)[3] and robust_top(waits) < waits[6]
    browser = opened(report)
    bars = browser.run(
        "return [...document.querySelectorAll('.scores td[data-metric=\"wait_mean_s\"] .bar')]"
        ".map(e => [parseFloat(e.style.width), e.classList.contains('cut')])"
    )
    assert [cut for _, cut in bars] == [False] * 6 + [True]
    assert max(wide for wide, cut in bars if not cut) == pytest.approx(100)
    ticks = "return [...document.querySelectorAll('.waits text.value')].map(e => e.textContent)"
    before = browser.run(ticks)
    switch(browser, 6)
    assert browser.run(ticks) != before, "the scale is that of the policies in sight"


def test_a_long_log_is_drawn_as_load_until_it_is_zoomed(opened):
    rng = np.random.default_rng(2)
    work = Workload.build(
        submit=np.cumsum(rng.exponential(3.0, 4_000)).astype(int),
        run=[20] * 4_000,
        procs=rng.integers(1, 16, 4_000),
    )
    runs = (policy_run("easy", work, 64), policy_run("fcfs", work, 64, backfill=False))
    browser = opened(report_input(workload=work, runs=runs))
    browser.run("document.getElementById('figure').scrollIntoView()")
    browser.settle()
    words = "return document.querySelector('.panel .level').textContent"
    assert "zoom in for single jobs" in browser.run(words)
    browser.run("const v = shadowtime.world.view; v.set(v.length * 0.5, v.length * 0.6)")
    browser.settle()
    assert browser.run(words) == ""


@pytest.mark.parametrize("choice", [{"window": Window.parse("40:0")}, {"where": "user=1|2|3"}])
def test_every_figure_is_about_the_jobs_that_count(opened, choice):
    """Distributions, heat map, jobs in view and the colours of the schedule, as the metrics."""
    report = report_input(200, policies=("fcfs", "easy"), **choice)
    count = int(report.counted.sum())
    assert 0 < count < 200
    maps = Maps.of(report)
    assert [int(jobs.sum()) for jobs in maps.jobs] == [count, count]
    assert job_columns(report)["columns"][-1][:2] == ["counted", 200]
    browser = opened(report)
    assert [score["jobs"] for score in browser.run("return shadowtime.world.scores")] == [count] * 2
    assert f"{count} of 200 jobs" in browser.run(
        "return document.getElementById('scope').textContent"
    )
    median = np.median(report.runs[1].schedule.wait[report.counted])
    share = browser.run(
        "const l = [...document.querySelectorAll('.cdf[data-cdf=wait] .line')][1];"
        "return l.dataset.values.split(' ').map(Number)"
    )
    low, high = browser.run(
        "const f = document.querySelector('.cdf[data-cdf=wait]');"
        "return [Number(f.dataset.low), Number(f.dataset.high)]"
    )
    at = round((len(share) - 1) * np.log(max(median, low) / low) / np.log(high / low))
    assert share[min(at + 1, len(share) - 1)] >= 0.5 >= share[max(at - 2, 0)] - 0.3
    legend = browser.run("return document.getElementById('legend').textContent")
    assert "not selected" in legend


def test_the_contents_mark_where_the_reader_is(opened):
    browser = opened(seven())
    browser.run("document.getElementById('heat').scrollIntoView()")
    here = browser.wait(
        "new Promise(done => setTimeout(() => done(document.querySelector("
        "'.top nav a[aria-current]').textContent), 600))"
    )
    assert here == "Heat map"
