"""The page as text: no input becomes markup, and the page loads nothing from elsewhere."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from report.worlds import report_input, workload
from shadowtime.report import Claim, PaperTable, PaperValue, write_html
from shadowtime.report.page.html import render
from shadowtime.report.page.markup import json_block

PLANT = "<script>window.planted=1</script>"


def summary(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="summary">(.*?)</script>', page)
    return json.loads(found.group(1))


def test_the_same_input_gives_the_same_bytes(tmp_path):
    one = write_html(report_input(60), tmp_path / "a.html").read_bytes()
    two = write_html(report_input(60), tmp_path / "b.html").read_bytes()
    assert one == two


def test_the_page_asks_for_nothing():
    page = render(report_input(30))
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", page)
    assert "url(" not in page and "@import" not in page


def test_numbers_on_the_page_equal_the_json():
    report = report_input(200)
    page = render(report)
    policies = {p["name"]: p["metrics"] for p in summary(page)["policies"]}
    cells = re.findall(r'data-policy="([^"]*)" data-metric="([^"]*)" data-value="([^"]*)"', page)
    assert len(cells) > 30
    for policy, metric, value in cells:
        assert float(value) == policies[policy][metric]
    for run in report.runs:
        assert policies[run.name] == pytest.approx(dict(run.metrics), nan_ok=True)


def test_planted_markup_stays_text():
    work = workload(40, name=PLANT, header=(f"; Note: {PLANT}",), cleaning={PLANT: 3})
    report = report_input(workload=work, title=PLANT, policies=("easy", "fcfs"))
    runs = tuple(
        run.__class__(**{**vars(run), "name": f"{run.name}{PLANT}", "parameters": {PLANT: PLANT}})
        for run in report.runs
    )
    paper = (
        Claim(text=PLANT, holds=True, paper=PLANT, ours=PLANT, where=PLANT),
        PaperTable(title=PLANT, values=(PaperValue(label=PLANT, ours=1.0, paper=2.0),), note=PLANT),
    )
    changes = {"command": PLANT, "versions": {PLANT: PLANT}, "paper": paper}
    page = render(report.replace(runs=runs, **changes))
    assert PLANT not in page
    assert page.count("<script>") == 1
    assert summary(page)["title"] == PLANT


def test_data_cannot_close_its_element():
    block = json_block("x", {"a": "</script><!--", "b": "&"})
    assert block.count("</script>") == 1 and "<!--" not in block


def test_sections_appear_with_their_data():
    page = render(report_input(50))
    assert (
        'id="preemption"' not in page and 'id="bandwidth"' not in page and 'id="paper"' not in page
    )
    assert 'id="fairness"' in page
    band = workload(50, extra={"bandwidth": np.full(50, 120.5)})
    assert 'id="bandwidth"' in render(report_input(workload=band))


def test_paper_mode_shows_both_and_the_difference():
    table = PaperTable(
        title="Table 4", values=(PaperValue(label="blocked", ours=6423.0, paper=6403.0),)
    )
    claims = (Claim(text="holds it", holds=True), Claim(text="fails it", holds=False))
    page = render(report_input(20, paper=(table, *claims)))
    assert "6,423" in page and "6,403" in page and "+0.3" in page
    assert "1 of 2 judged claims hold" in page
    assert "does not hold" in page


def test_everything_needed_to_run_it_again_is_there():
    page = render(report_input(20, seeds=(7, 8), cleaning={"dropped": 5, "cut": 0}))
    for words in ("shortest_first", "7, 8", "5 jobs", "No job touched by cut", "--policy fcfs"):
        assert words in page
