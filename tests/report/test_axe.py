"""axe finds nothing wrong on any kind of page, with the card of a job open."""

from __future__ import annotations

from importlib.resources import files

import pytest

from report.test_interaction import site
from report.test_whatif_page import page as whatif
from shadowtime.report import write_html
from shadowtime.report.leaderboard import leaderboard_page
from study.sweep.test_leaderboard import board

RULES = """axe.run(document, { resultTypes: ['violations'],
rules: { 'color-contrast': { enabled: false } } }).then(found => [found.passes.length,
found.violations.map(one => [one.id, one.nodes.map(node => node.html.slice(0, 120))])])"""


def boards() -> str:
    values = {"easy": {"a.swf": [2.0, 2.1, 2.2]}, "fcfs": {"a.swf": [9.0, 8.0, 9.5]}}
    return leaderboard_page([board(values)])


PAGES = {
    "a site": lambda path: write_html(site(40), path),
    "a what-if": lambda path: write_html(whatif(), path),
    "a leaderboard": lambda path: path.write_text(boards()),
}


# The contrast of every word has a test of its own (test_accessibility.py), which is much quicker.


@pytest.mark.parametrize("kind", PAGES)
def test_axe_has_no_complaint(browser, tmp_path, kind):
    path = tmp_path / "page.html"
    PAGES[kind](path)
    browser.emulate(width=1280, height=800)
    browser.open(path)
    if kind == "a site":
        browser.settle()
        browser.run("shadowtime.find(shadowtime.world, '20')")
    source = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    browser.run(f"{source}; window.axe = axe;")
    passed, complaints = browser.wait(RULES)
    assert complaints == [] and passed > 10
