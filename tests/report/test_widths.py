"""Phones, wide screens and paper: nothing is cut off, overlaps or is too small to read."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report.worlds import policy_run, report_input, workload
from shadowtime.report import write_html
from shadowtime.report.numbers import MINUS, THIN
from shadowtime.report.page.grid import write_grid

NAMES = ("easy", "conservative", "greedy", "lxfw", "pv-easy", "easy++")
CUT_OFF = (
    "return [...document.querySelectorAll('.scroll')].filter(e =>"
    " e.offsetParent && e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
)
WIDTH = "return document.documentElement.scrollWidth"


def six(jobs: int = 160, **changes):
    """Six policies, by turns with and without backfilling."""
    work = workload(jobs, seed=3, **changes)
    made = [policy_run(name, work, 64, shortest_first=bool(i % 2)) for i, name in enumerate(NAMES)]
    return report_input(workload=work, runs=tuple(made), title="Six policies")


@pytest.fixture
def grid(browser, tmp_path: Path):
    """The page of three settings, open."""
    results = [(f"load-{load}", six(load=load)) for load in (0.9, 1.0, 1.2)]
    browser.open(write_grid(results, tmp_path / "grid.html", title="Loads"))
    return browser


@pytest.mark.parametrize("width", [1400, 1920])
def test_no_column_of_a_grid_is_cut_off(grid, width):
    """With six policies each row is a policy: every setting is visible, on screen and on paper."""
    grid.emulate(width=width, height=900)
    assert grid.run(CUT_OFF) == [] and grid.run(WIDTH) <= width
    heads = grid.run(
        "return [...document.querySelectorAll('.setting tbody tr')].slice(0, 6).map(e =>"
        " e.querySelector('th').textContent)"
    )
    assert heads == list(NAMES)
    grid.emulate(width=720, height=1000, media="print")
    boxes = grid.run(
        "return [...document.querySelectorAll('.setting table')].map(e => {"
        " const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]})"
    )
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other_left, other_right, other_top, other_bottom in boxes[i + 1 :]:
            apart = right <= other_left + 1 or other_right <= left + 1
            assert apart or bottom <= other_top + 1 or other_bottom <= top + 1


@pytest.mark.parametrize("width", [1280, 1400, 1920])
def test_no_column_of_seven_policies_is_cut_off(opened, width):
    """Intervals take two lines before the last columns leave the screen; labels stay on one."""
    report = six()
    seventh = replace(report.runs[0], name="fcfs")
    copies = {
        name: np.array([1.0, 1.01, 0.99]) * value
        for name, value in report.runs[0].metrics.items()
        if name == "wait_p95_s" or name == "wait_mean_s"
    }
    runs = tuple(replace(run, copies=copies) for run in (*report.runs, seventh))
    browser = opened(report.replace(runs=runs))
    browser.emulate(width=width, height=900)
    assert browser.run("return document.querySelectorAll('.scores .interval').length") == 14
    assert browser.run(CUT_OFF) == [] and browser.run(WIDTH) <= width
    tall = browser.run(
        "return [...document.querySelectorAll('.diverging tbody th')].filter(e =>"
        " e.offsetParent && e.offsetHeight > 24).map(e => e.textContent)"
    )
    assert tall == []


def test_words_on_a_phone_are_whole_and_large_enough(opened):
    """Names of policies are not broken, and text in charts is as large as notes."""
    browser = opened(six())
    browser.emulate(width=390, height=844)
    browser.settle()
    assert browser.run(WIDTH) == 390
    broken = browser.run(
        "return [...document.querySelectorAll('.numbers .name')].filter(e => e.offsetParent &&"
        " e.getClientRects().length && e.getBoundingClientRect().height > 30)"
        ".map(e => e.textContent)"
    )
    assert broken == []
    sizes = browser.run(
        "return [...document.querySelectorAll('.chart text')].filter(e => e.getBBox().width)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
    )
    assert sizes and min(sizes) >= 10
    drawn = browser.run(
        "const e = document.querySelector('#share svg').getBoundingClientRect();"
        "return [e.width, e.height]"
    )
    assert min(drawn) >= 12, "the sign on the button is drawn: no font has to have it"
    assert browser.run(
        "const t = document.querySelector('#scored'); const c = t.querySelector('td');"
        "return c.getBoundingClientRect().right <= 390"
    ), "the first value in view is in sight"


@pytest.mark.parametrize("width", [390, 1400])
def test_the_zero_lines_of_the_payers_lie_below_each_other(opened, width):
    browser = opened(report_input(250, policies=("fcfs", "easy")))
    browser.emulate(width=width, height=900)
    lines = browser.run(
        "return [...document.querySelectorAll('.diverging')].filter(e => e.offsetParent).map(e => {"
        " const b = e.querySelector('.axis').getBoundingClientRect(); return [b.left, b.width]})"
    )
    assert len(lines) > 2
    columns = {round(left) for left, _ in lines}
    assert len(columns) == (1 if width == 390 else 2)  # on a wide page groups are side by side
    for _, wide in lines:
        assert wide == pytest.approx(lines[0][1], abs=1)


def test_in_view_scores_the_same_jobs_under_every_policy(opened):
    """A job that never started under one policy counts under none; their number is printed."""
    report = report_input(120, policies=("fcfs", "easy"))
    run = report.runs[1]
    start, end = run.schedule.start.copy(), run.schedule.end.copy()
    longest = int(np.argmax(report.runs[0].schedule.wait))
    start[longest] = end[longest] = -1
    lacking = replace(run, schedule=run.schedule.replace(start=start, end=end))
    browser = opened(report.replace(runs=(report.runs[0], lacking)))
    scores = browser.run("return shadowtime.world.scores")
    assert [score["jobs"] for score in scores] == [119, 119]
    waits = np.delete(report.runs[0].schedule.wait, longest)
    assert scores[0]["wait_mean_s"] == pytest.approx(float(waits.mean()))
    assert "without 1 that did not start under every policy" in browser.run(
        "return document.getElementById('scope').textContent"
    )


def test_paper_wastes_no_page(opened):
    """The schedule may follow on a page that another section began; no page holds only a footer."""
    browser = opened(six())
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    made = browser.command("Page.printToPDF", printBackground=True)["data"]
    assert 3 <= base64.b64decode(made).count(b"/Type /Page\n") <= 7
    browser.emulate(width=720, height=1000, media="print")
    assert (
        browser.run("return getComputedStyle(document.querySelector('footer')).display") == "none"
    )
    rules = "return getComputedStyle(document.getElementById('schedule')).breakInside"
    assert browser.run(rules) == "auto"


def test_what_a_change_does_leads_its_page(browser, tmp_path):
    """The verdict of a what-if is above its runs; on a phone differences are visible."""
    whole = {
        "by": "all", "name": "all", "jobs": 120, "baseline_wait_mean_s": 600.0,
        "changed_wait_mean_s": 300.0, "difference_s": -300.0,
        "difference_interval_s": [-360.0, -240.0], "effect": "shorter",
    }  # fmt: skip
    none = {**whole, "by": "qos", "name": "low", "effect": "no clear effect", "difference_s": 2.0}
    added = {"label": "2 more nodes", "inputs": "6 runs", "groups": [whole, none], "alone": []}
    report = report_input(120, policies=("fcfs", "easy"), effects=added)
    browser.open(write_html(report, tmp_path / "page.html"))
    text = browser.run("return document.querySelector('.verdict').textContent")
    assert text == (
        f"2 more nodes: waits become 50{THIN}% shorter (from 10 min to 5 min on average), "
        "and no group clearly pays."
    )
    browser.emulate(width=390, height=844)
    cells = browser.run(
        "return [...document.querySelectorAll('#effects td[data-value]')].map(e =>"
        " [Number(e.dataset.value), e.textContent.trim(), e.getBoundingClientRect().right <= 390])"
    )
    assert cells == [
        [-300.0, f"{MINUS}5 min ± 1 min", True],
        [2.0, "+2 s ± 1 min may be chance", True],
    ]
