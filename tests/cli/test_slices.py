"""Slices everywhere: --where and --by in replays of pools, --cluster once for each machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run

LINE = "{} {} {} {} {} -1 -1 {} {} -1 1 {} {} 1 1 1 -1 -1\n"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Twelve jobs of two users on four processors, with recorded waits."""
    monkeypatch.chdir(tmp_path)
    rows = [
        LINE.format(n, 30 * n, 20 * (n % 4), 90, 1 + n % 3, 1 + n % 3, 120, 1 + n % 2, 1 + n % 2)
        for n in range(1, 13)
    ]
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "".join(rows))
    return "log.swf"


def test_a_replay_of_a_pool_counts_the_jobs_that_where_selects(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All jobs are simulated, so starts do not change; half of them are compared, by user."""
    assert run(["replay", log, "-p", "easy", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    command = ["replay", log, "-p", "easy", "--where", "user=1", "--by", "user,size"]
    assert run([*command, "--json"]) == 0
    part = json.loads(capsys.readouterr().out)
    assert whole["replay"]["all"]["jobs"] == 12 and part["replay"]["all"]["jobs"] == 6
    kinds = {row["kind"] for row in part["replay"]["classes"]}
    assert kinds == {"user", "size"} and part["where"] == "user=1"
    [user] = [row for row in part["replay"]["classes"] if row["kind"] == "user"]
    assert (
        user["jobs"] == 6 and part["replay"]["expected_error"] == whole["replay"]["expected_error"]
    )
    assert run(command) == 0
    text = capsys.readouterr().out
    assert "scored: all jobs, user=1" in text and "by user" in text and "by hour" not in text


def test_a_where_that_selects_nothing_is_one_sentence(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", log, "-p", "easy", "--where", "user=77"]) == 2
    err = capsys.readouterr().err
    assert "no job has user 77" in err and len(err.splitlines()) == 1


def test_several_machines_side_by_side(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each machine's comparison equals the one made alone; one table shows all."""
    policies = ["-p", "easy", "-p", "fcfs"]
    alone = []
    for machine in ("pool:4", "pool:6"):
        assert run(["compare", log, *policies, "-c", machine, "--json"]) == 0
        alone.append(json.loads(capsys.readouterr().out))
    both = ["compare", log, *policies, "-c", "pool:4", "-c", "pool:6"]
    assert run([*both, "--json"]) == 0
    machines = json.loads(capsys.readouterr().out)["machines"]
    assert [one.pop("given") for one in machines] == ["pool:4", "pool:6"]
    assert machines == alone
    assert run([*both, "-o", "out"]) == 0
    out, err = capsys.readouterr()
    table = [line.split()[:2] for line in out.splitlines() if line.startswith("pool:")]
    assert table == [[m, p] for m in ("pool:4", "pool:6") for p in ("easy", "fcfs")]
    assert "wrote out/pool-4" in err and Path("out/pool-6/result.json").is_file()
    assert run(["report", "out", "-o", "page.html"]) == 0 and Path("page.html").is_file()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["-c", "pool:4", "-c", "pool:4"], "the same machine is given twice"),
        (["-c", "pool:4", "-c", "pool:6", "--report", "a.html"], "write folders with -o"),
        (["-c", "pool:4", "-c", "no.toml"], "no.toml"),
    ],
)
def test_machines_that_make_no_sense(
    log: str, more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", log, "-p", "easy", *more]) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err and len(err.splitlines()) == 1
