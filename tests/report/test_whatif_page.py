"""The page of a what-if: options side by side over all runs, and nothing that contradicts them."""

from __future__ import annotations

import base64

import pytest

from report.worlds import report_input
from shadowtime.report import write_html
from shadowtime.report.numbers import MINUS, THIN
from shadowtime.report.page.html import render
from shadowtime.report.page.whatif import headline, options_of
from shadowtime.report.verdict import verdict_of


def row(by, name, gap, half, effect, *, before=1_000.0, jobs=100):
    return {
        "by": by, "name": name, "jobs": jobs, "baseline_wait_mean_s": before,
        "changed_wait_mean_s": before + gap, "difference_s": gap,
        "difference_interval_s": [gap - half, gap + half], "effect": effect,
    }  # fmt: skip


NODES = {
    "label": "2 nodes",
    "groups": [
        row("all", "", -400.0, 50.0, "shorter"),
        row("account", "chem", 300.0, 80.0, "longer"),
        row("account", "bio", 20.0, 90.0, "no clear effect"),
    ],
}
LIMIT = {
    "label": "a longer limit",
    "groups": [row("all", "", 0.0, 0.0, "no clear effect")],
    "notes": ["MaxTime has no effect: no request exceeds 3 d"],
}
SHARE = {
    "label": "more share",
    "groups": [
        row("all", "", 5.0, 40.0, "no clear effect"),
        row("account", "chem", -90.0, 20.0, "shorter"),
    ],
    "killed": 3,
}


def page(options=(NODES, LIMIT, SHARE)):
    found = {"label": "three", "inputs": "6 runs", "options": list(options)}
    return report_input(120, policies=("fcfs", "easy"), effects=found)


def test_options_stand_side_by_side_with_what_may_be_chance(browser, tmp_path):
    browser.open(write_html(page(), tmp_path / "page.html"))
    rows = browser.run(
        "return [...document.querySelectorAll('.options tbody tr')].map(r => [...r.cells].map(c =>"
        " c.textContent.trim().replace(/\\s+/g, ' ')))"
    )
    assert [cells[0] for cells in rows] == ["2 nodes", "a longer limit", "more share"]
    assert rows[0][1].startswith(f"{MINUS}40{THIN}% ± 5".replace(THIN, " "))
    assert rows[0][3].replace(THIN, " ") == "account chem +30 % ± 8"
    assert rows[1][1] == "No effect: not one job starts earlier or later in any run."
    assert "may be chance" in rows[2][1] and "3 jobs end at the limit" in rows[2][4]
    grey = "return document.querySelectorAll('.effects-chart .beaten').length"
    assert browser.run(grey) == 3  # bio, the limit and all jobs under more share


def test_no_number_of_a_single_run_is_above_the_effects():
    """The metrics and classes of one run are left out: they may contradict the mean of all."""
    made = render(page())
    assert 'class="scores"' not in made and 'class="losers"' not in made
    assert 'id="heat"' not in made and 'id="distributions"' not in made
    assert "One of the runs, as an example." in made


def test_the_sentence_is_the_same_everywhere_and_names_who_pays():
    report = page((NODES,))
    first, _ = headline(report.effects)
    assert first == (
        f"2 nodes: waits become 40{THIN}% shorter (from 16 min 40 s to 10 min on average), "
        "but account chem pays."
    )
    assert verdict_of(report).headline == first and first in render(report)
    assert headline(page((LIMIT,)).effects)[0] == (
        "a longer limit: no effect, not one job starts earlier or later in any run."
    )
    assert "MaxTime has no effect" in render(page((LIMIT,)))


def test_folders_from_before_options_are_still_shown():
    old = {"label": "x", "inputs": "6 runs", "groups": NODES["groups"],
           "alone": [{"label": "a", "whole": NODES["groups"][0]}]}  # fmt: skip
    assert [one["label"] for one in options_of(old)] == ["a", "all together"]
    assert "all together" in render(report_input(60, policies=("fcfs", "easy"), effects=old))


def crowded(label):
    """An option that moves as many groups as the page names and draws."""
    names = [("account", f"group {k}") for k in range(9)] + [("partition", "batch"), ("qos", "few")]
    rows = [row(by, name, -200.0 + 40 * k, 30.0, "shorter") for k, (by, name) in enumerate(names)]
    lost = [row("size", size, 300.0, 60.0, "longer") for size in ("1", "2-4", "5-16")]
    return {"label": label, "groups": [row("all", "", -150.0, 40.0, "shorter"), *rows, *lost]}


@pytest.mark.parametrize("options", [(NODES, LIMIT, SHARE), tuple(map(crowded, "abcd"))])
def test_a_what_if_is_one_printed_page(browser, tmp_path, options):
    browser.open(write_html(page(options), tmp_path / "page.html"))
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    for paper in ({}, {"paperWidth": 8.27, "paperHeight": 11.69}):  # letter and A4
        made = browser.command("Page.printToPDF", printBackground=True, **paper)["data"]
        assert base64.b64decode(made).count(b"/Type /Page\n") == 1
