"""A machine of hosts from a file, on the command line from the log to the proof."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from shadowtime.cli import run

MACHINE = """\
[cluster]
shape = "hosts"
[[hosts]]
name = "big"
procs = 8
memory = "8MB"
[[hosts]]
name = "small"
procs = 4
memory = "2MB"
[dedicated]
procs = 6
"""
LINE = "{id} {submit} -1 60 {procs} -1 -1 {procs} 60 {memory} 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of two hosts and a log of 200 jobs, one of which fits on neither."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")  # lines of proofs in one piece
    Path("machine.toml").write_text(MACHINE)
    jobs = [
        LINE.format(id=k, submit=20 * k, procs=(1, 3, 4, 7)[k % 4], memory=300)
        for k in range(1, 200)
    ]
    jobs.append(LINE.format(id=200, submit=4000, procs=5, memory=2000))
    Path("log.swf").write_text("; MaxProcs: 12\n" + "".join(jobs))
    return tmp_path


def test_simulate_and_prove(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Places are written down, the job that fits nowhere is named, and check proves the rest."""
    command = ["--cluster", "machine.toml", "--policy", "lxfw(reserve=3)", "--schedule", "out.csv"]
    assert run(["simulate", "log.swf", *command]) == 0
    printed = capsys.readouterr().err
    assert "dropped, fits nowhere on the machine: job 200 (5 procs, 10000 memory)" in printed
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert len(rows) == 199 and {row["place"] for row in rows} == {"big", "small"}
    assert all(row["place"] == "big" for row in rows if row["procs"] == "7")
    assert run(["check", "out.csv", "--trace", "log.swf", "--cluster", "machine.toml"]) == 0
    proofs = capsys.readouterr().out
    assert "2 hosts, none over its capacity, no job spans hosts" in proofs
    assert "50 dedicated jobs, each alone on its host" in proofs


def test_the_too_wide_rule_can_refuse(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--too-wide refuse stops at the first job that fits on no host."""
    command = ["simulate", "log.swf", "-c", "machine.toml", "-p", "easy", "--too-wide", "refuse"]
    assert run(command) == 2
    assert "first: job 200" in capsys.readouterr().err


def test_a_partition_that_cannot_be_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More class-one hosts than hosts, and a class with nowhere to run: one sentence each."""
    for policy, words in [
        ("part-l-sm(hosts=3, above=6)", "the machine has 2"),
        ("part-l-sm(hosts=1, above=7, hours=0)", "nowhere to run"),
    ]:
        assert run(["simulate", "log.swf", "-c", "machine.toml", "-p", policy]) == 2
        assert words in capsys.readouterr().err
