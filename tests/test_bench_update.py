"""New measurements of some rows replace the old ones in the page of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.report import update, write
from benchmarks.rows import Row


def test_rows_of_one_kind_are_replaced(tmp_path: Path) -> None:
    """The other rows and what was said of the machine stay as they were."""
    old = [
        Row(what="easy: a", value=1.0, unit="s"),
        Row(what="slurm: month", value=200.0, unit="s", bar=25.0),
        Row(what="slurm: pass", value=0.3, unit="s", note="slow"),
        Row(what="reading", value=2.0, unit="s"),
    ]
    write(tmp_path, old, {"cores": "2"}, "2026-01-01", "idle")
    update(tmp_path, [Row(what="slurm: year", value=250.0, unit="s", note="12 x")], "apart")
    made = json.loads((tmp_path / "latest.json").read_text())
    assert [one["what"] for one in made["rows"]] == ["easy: a", "slurm: year", "reading"]
    assert made["rows"][1]["note"] == "12 x; apart"
    assert (made["measured"], made["machine"]) == ("2026-01-01", {"cores": "2"})
    assert "| slurm: year | 250.00 s |" in (tmp_path / "index.md").read_text()
