"""shadowtime advise partitions, from what is typed to what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run

MACHINE = """\
[cluster]
shape = "hosts"
[[hosts]]
count = 4
procs = 8
"""
LINE = "{id} {submit} -1 {run} {procs} -1 -1 {procs} {run} -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hosts, and jobs of which every fifth needs a whole host."""
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(MACHINE)
    jobs = [
        LINE.format(
            id=k, submit=450 * k, procs=8 if k % 5 == 0 else 1 + k % 3, run=600 + 900 * (k % 7)
        )
        for k in range(1, 150)
    ]
    Path("log.swf").write_text("; MaxProcs: 32\n" + "".join(jobs))


def test_advice_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Demands, guidelines, the simulated effect and one sentence."""
    assert run(["advise", "partitions", "log.swf", "-c", "machine.toml", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "Large jobs ask for more than 4 processors: 29 of 149 jobs" in out
    for part in ("(1) large need", "single-class", "part-l-sm(hosts=", "part-l-a(hosts="):
        assert part in out


def test_advice_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """One object: what was computed, what was simulated, waits of large jobs and others."""
    words = ["advise", "partitions", "log.swf", "-c", "machine.toml", "--top", "3", "--json"]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["advice"]["large_jobs"] == 29 and found["advice"]["large_above_procs"] == 4
    chosen = found["advice"]["simulated"]
    assert 1 <= len(chosen) <= 3
    assert len(found["policies"]) == len(chosen) + 2
    assert {"hosts", "hours", "offered", "filled"} <= set(found["advice"]["choices"][0])
    for policy in found["policies"]:
        assert set(policy["classes"]) == {"others", "large"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["log.swf"], "nothing to divide"),
        (["log.swf", "-c", "machine.toml", "--above", "8"], "no job requests more than 8"),
        (["none.swf", "-c", "machine.toml"], "none.swf"),
        (["log.swf", "-c", "machine.toml", "--top", "0"], "--top"),
    ],
    ids=["pool", "border", "trace", "top"],
)
def test_bad_input_says_what_to_do(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong input is one sentence, with exit code 2."""
    assert run(["advise", "partitions", *words]) == 2
    assert message in capsys.readouterr().err
