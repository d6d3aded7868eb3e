"""The leaderboard ranks policies on logs, with proofs and held-out values."""

from __future__ import annotations

from pathlib import Path

import pytest

from shadowtime.cli import run
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
    assert "policies = [" in page and "<script" not in page
    assert run(["leaderboard", str(folder), "--metric", "jobs"]) == 2
