"""shadowtime paper, from what is typed to what is printed and written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from shadowtime.cli import run


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No logs, and an empty folder to write in."""
    monkeypatch.delenv("SHADOWTIME_TRACES", raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_logs_it_says_so_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON alone on standard output, the word about the generated workload on standard error."""
    command = ["paper", "pv-easy", "--seeds", "1", "-o", "out", "--report", "page.html", "--json"]
    assert run(command) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert list(found)[:3] == ["paper", "generated", "traces"] and found["generated"] is True
    assert "generated workload" in captured.err
    assert {"tables", "figures", "claims", "notes", "choices", "accuracy", "versions"} <= set(found)
    assert found["seeds"] == [1]
    written = json.loads(Path("out/result.json").read_text())
    assert written["command"].startswith("shadowtime paper pv-easy --seeds 1")
    assert written["tables"] == found["tables"]
    for name in ("tables/table-1.csv", "figures/figure-4.svg", "figures/figure-2.csv"):
        assert (Path("out") / name).stat().st_size > 100
    claims = list(csv.DictReader(Path("out/claims.csv").read_text().splitlines()))
    assert len(claims) == len(found["claims"])
    assert Path("out/generated/schedules/pv-easy.attempts.csv").exists()
    assert "Beside the paper" in Path("page.html").read_text()


def test_tables_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Verdicts, six tables, five figures and the choices, without a blank at a line's end."""
    assert run(["paper", "pv-easy", "--seeds", "1"]) == 0
    out = capsys.readouterr().out
    for part in ("Claims, each reading by itself", "Table 6.", "Figure 6.", "Chosen where"):
        assert part in out
    assert "✓ holds" in out and "A generated workload" in out
    assert not [line for line in out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paper", "pv-hard"], "pv-easy"),
        (["paper", "pv-easy", "--traces", "nowhere"], "there is no folder nowhere"),
        (["paper", "pv-easy", "--traces", "."], "none of the paper's logs is in ."),
        (["paper", "pv-easy", "--seeds", "0"], "--seeds"),
    ],
    ids=["name", "folder", "logs", "seeds"],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, what is wrong, and no traceback."""
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error
