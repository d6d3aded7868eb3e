"""New measurements of some rows replace the old ones in the page of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.report import update, write
from benchmarks.rows import Row


def test_rows_of_the_same_name_are_replaced(tmp_path: Path) -> None:
    """New rows follow their kind; the others and the text on the machine stay."""
    old = [
        Row(what="easy: a", value=1.0, unit="s"),
        Row(what="slurm: month", value=200.0, unit="s", bar=25.0),
        Row(what="slurm: pass", value=0.3, unit="s", note="slow"),
        Row(what="reading", value=2.0, unit="s"),
    ]
    write(tmp_path, old, {"cores": "2"}, "2026-01-01", "idle")
    new = [
        Row(what="slurm: year", value=250.0, unit="s", note="12 x"),
        Row(what="slurm: month", value=20.0, unit="s"),
    ]
    update(tmp_path, new, "apart")
    made = json.loads((tmp_path / "latest.json").read_text())
    names = [one["what"] for one in made["rows"]]
    assert names == ["easy: a", "slurm: month", "slurm: pass", "slurm: year", "reading"]
    assert [one["note"] for one in made["rows"]] == ["", "apart", "slow", "12 x; apart", ""]
    assert made["rows"][1]["value"] == 20.0
    assert (made["measured"], made["machine"]) == ("2026-01-01", {"cores": "2"})
    assert "| slurm: year | 250.00 s |" in (tmp_path / "index.md").read_text()
