"""The leaderboard ranks policies on logs, with proofs and held-out values."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pyarrow
import pytest

from shadowtime.cli import run
from shadowtime.policy import parse_policy
from shadowtime.report.leaderboard import headline, leaderboard_page
from shadowtime.study.sweep import Shards
from shadowtime.study.sweep.leaderboard import leaderboard
from study.sweep.worlds import write_plan


def test_leaderboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values, ranks, intervals and proofs are those of the rows; the page has them."""
    policies = ["easy", "easy(reserve=2)", "easy-sjbf"]
    more = {"shake": 2, "held_out": 0.2, "metrics": ["bsld_mean", "wait_mean_s"]}
    plan = write_plan(tmp_path, policies, **more)
    plan.write_text(plan.read_text() + "check = true\n")
    folder = tmp_path / "r"
    assert run(["sweep", str(plan), "-o", str(folder), "--workers", "1"]) == 0
    table = Shards(folder).collect()
    rows = {(row["policy"], row["copy"]): row for row in table.to_pylist()}
    found = leaderboard(table, "bsld_mean")
    subject = found.subjects[0]
    assert subject.machine == "pool:256" and len(subject.trace) == 32
    values = []
    for policy in found.policies:
        place = found.places[policy, subject]
        row = rows[policy, 0]
        assert place.value == row["bsld_mean"] and place.held_out == row["heldout_bsld_mean"]
        assert (place.runs, place.failed, place.proved) == (3, 0, 3)
        copies = [rows[policy, k]["bsld_mean"] for k in (1, 2)]
        assert place.interval.mean == pytest.approx(sum(copies) / 2)
        values.append(place.value)
    assert values == sorted(values)
    out = tmp_path / "board.html"
    capsys.readouterr()
    assert run(["leaderboard", str(folder), "-o", str(out)]) == 0
    page = out.read_text()
    assert subject.trace in page and "3 of 3" in page and "How to add a row" in page
    assert "policies = [" in page and page.count("<script") == 1  # the page's own
    assert "Mean bounded slowdown</h2>" in page and "Mean wait</h2>" in page
    assert parse_policy("easy-sjbf").summary in unescape(page)
    assert run(["leaderboard", str(folder), "--metric", "jobs"]) == 2


def board(values: dict[str, dict[str, list[float]]], metric: str = "bsld_mean"):
    """A leaderboard of policies by logs; the first value of a list is the log as it is."""
    rows = [
        {"policy": policy, "log": log, "machine": "pool:8", "trace": log, "load": "as recorded",
         "kind": "shaken" if copy else "none", "copy": copy, "error": None, "semantics": 3,
         metric: value}
        for policy, logs in values.items()
        for log, numbers in logs.items()
        for copy, value in enumerate(numbers)
    ]  # fmt: skip
    return leaderboard(pyarrow.Table.from_pylist(rows), metric)


def test_policies_that_differ_by_chance_share_a_rank():
    """Paired differences decide: a and b swap places from copy to copy, c is always worse."""
    found = board(
        {
            "a": {"log": [2.0, 2.0, 3.0, 2.5]},
            "b": {"log": [1.9, 3.0, 2.0, 2.6]},
            "c": {"log": [9.0, 9.0, 9.5, 9.2]},
        }
    )
    assert [found.ranks[name] for name in "abc"] == [1, 1, 3]
    assert (
        headline(found) == "b and a tie as best by mean bounded slowdown: mean rank 1 over 1 log."
    )
    page = leaderboard_page([found])
    assert page.count('<small class="rank">1=</small>') == 2
    assert page.count('class="whisker"') == 3


def test_a_constant_column_says_why():
    same = {name: {"idle": [0.0, 0.0, 0.0]} for name in ("a", "b")}
    page = leaderboard_page([board(same, "wait_mean_s")])
    assert "all equal: no job waits under any policy" in page and 'whisker"' not in page


def test_no_name_becomes_markup():
    page = leaderboard_page([board({"<b>x</b>": {"<i>": [1.0]}, "y": {"<i>": [2.0]}})])
    assert "<b>x</b>" not in page and "&lt;b&gt;x" in page and "<i></th>" not in page


def test_a_metric_that_never_differs_is_a_sentence() -> None:
    """No table of equal values."""
    equal = {name: {"a.swf": [2.0], "b.swf": [2.0]} for name in ("easy", "fcfs")}
    page = unescape(leaderboard_page([board(equal)]))
    assert (
        "2 on every log; all equal: on this log the policies decide alike" in page
        and "Rank and value by log" not in page
    )
    differs = {"easy": {"a.swf": [2.0], "b.swf": [2.0]}, "fcfs": {"a.swf": [3.0], "b.swf": [2.0]}}
    assert "Rank and value by log" in leaderboard_page([board(differs)])
