"""shadowtime paper, from what is typed to what is printed and written."""

from __future__ import annotations

import csv
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cli.paper import NAMES
from shadowtime.cli.paper.files import markdown
from shadowtime.study.papers.parts import PaperStudy, names


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No logs, and an empty folder to write in."""
    monkeypatch.delenv("SHADOWTIME_TRACES", raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_logs_a_generated_workload_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    """Only JSON on standard output; the note on the generated workload is on standard error."""
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
    page = Path("out/result.md").read_text()
    assert page == markdown(written), "the page can be made again from the JSON object"
    for part in ("### Table 6", "## Claims", "](figures/figure-4.svg)", "A generated workload"):
        assert part in page
    for name in ("tables/table-1.csv", "figures/figure-4.svg", "figures/figure-2.csv"):
        assert (Path("out") / name).stat().st_size > 100
    claims = list(csv.DictReader(Path("out/claims.csv").read_text().splitlines()))
    assert len(claims) == len(found["claims"])
    assert Path("out/generated/schedules/pv-easy.attempts.csv").exists()
    assert "Beside the paper" in Path("page.html").read_text()


def test_tables_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts, six tables, five figures and the choices, without a blank at a line's end.

    With --resume the same command prints the same from saved results, and simulates nothing;
    the workers of any executor may have saved them.
    """
    import shadowtime as st

    study = PaperStudy(name="pv-easy", seeds=1, folder="kept").absolute()
    assert pickle.loads(pickle.dumps(study)) == study
    with ThreadPoolExecutor(2) as threads:
        st.paper("pv-easy", seeds=1, resume="kept", executor=threads)
    assert study.plan(study.subjects()[0]).missing() == []
    command = ["paper", "pv-easy", "--seeds", "1", "--resume", "kept"]
    assert run(command) == 0
    out = capsys.readouterr().out
    monkeypatch.setattr("shadowtime.study.papers.pv_easy.runs.simulate", None)
    assert run(command) == 0
    assert capsys.readouterr().out == out
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


def test_logs_that_are_missing_are_reported_to_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints a note, the function warns: a study never shrinks silently."""
    import shadowtime as st

    def no_plan(self: PaperStudy, subjects: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(PaperStudy, "subjects", lambda self: ([], ["a.swf.gz"]))
    monkeypatch.setattr(PaperStudy, "plan", no_plan)
    with (
        pytest.warns(UserWarning, match=r"not found in logs: a\.swf\.gz"),
        pytest.raises(NotImplementedError),
    ):
        st.paper("pv-easy", "logs")


def test_every_paper_can_be_named() -> None:
    """The command offers what has a folder."""
    assert sorted(NAMES) == names()


def test_markdown_holds_the_papers_number_and_the_difference() -> None:
    """A table with a published number; bars, angle brackets and stars stay text."""
    cells = {"CTC": {"ours": 757.0, "paper": 736.0, "difference": 0.0285}}
    row = {"label": "delayed | late", "group": "EASY", "unit": "h", "cells": cells}
    alone = {"ours": 2.5, "standard_error": 0.5}
    other = {"label": "BB* < IBB", "group": "", "unit": "", "cells": {"all": alone}}
    page = markdown(
        {
            "paper": {"title": "T", "reference": "R"},
            "generated": False,
            "traces": [{"label": "CTC", "name": "ctc", "jobs": 1000, "processors": 430}],
            "claims": [
                {"claim": "a < b", "reading": "loose", "where": "Sec. 1", "paper": "90 h",
                 "ours": "32 h", "verdict": "does not hold", "evidence": "seen"},
            ],
            "notes": ["One."],
            "choices": ["Two."],
            "tables": [
                {"name": "Table 1", "title": "Delays", "note": "", "rows": [row]},
                {"name": "Ours", "title": "More", "note": "So.", "rows": [other]},
            ],
            "figures": [],
            "versions": {"shadowtime": "1"},
        }
    )  # fmt: skip
    assert "| delayed \\| late, h | 757 | 736 | +2.9% |" in page
    assert "| BB\\* &lt; IBB | 2.50 ±0.5 |" in page
    assert "- ✗ *does not hold* [loose]: 32 h. seen" in page and "paper: 90 h" in page
