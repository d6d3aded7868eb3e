"""shadowtime accuracy: predictors side by side, on the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run


@pytest.fixture
def log(tmp_path: Path) -> str:
    rows = [
        f"{job} {job * 9} -1 {10 + job % 3} 2 -1 -1 2 60 -1 1 {job % 2 + 1} 1 -1 -1 -1 -1 -1"
        for job in range(1, 31)
    ]
    file = tmp_path / "log.swf"
    file.write_text("; MaxProcs: 4\n" + "\n".join(rows) + "\n")
    return str(file)


def test_json(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors, effects, and paired differences against the first predictor."""
    words = ["accuracy", log, "-p", "easy", "-e", "requested", "-e", "max-of-last", "--shake", "2"]
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    first, second = found["predictors"]
    assert (found["policy"], found["trace"]["jobs"]) == ("easy", 30)
    assert first["prediction_under"] == 0 and first["differences"] == {}
    assert second["prediction_error_mean_s"] < first["prediction_error_mean_s"]
    assert set(second["differences"]["wait_mean_s"]) == {"mean", "low", "high"}


def test_table(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for every predictor that needs no arguments."""
    assert run(["accuracy", log]) == 0
    text = capsys.readouterr()
    shown = text.out + text.err
    assert all(name in shown for name in ("requested", "last-two", "user-quantile", "nearest"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-e", "nearst"], "Did you mean nearest"),
        (["-e", "last", "-e", "last"], "each predictor once"),
        (["-p", "slurm"], "no slot for an estimate"),
    ],
)
def test_mistakes(
    log: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong input is one sentence, not a traceback."""
    assert run(["accuracy", log, *words]) != 0
    printed = capsys.readouterr().err
    assert message in printed and "Traceback" not in printed
