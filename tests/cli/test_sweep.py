"""shadowtime sweep from the command line: killed, interrupted, resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.study.sweep import Shards
from shadowtime.study.sweep.shards import write_table
from shadowtime.testing.slurm import wait_for
from study.sweep.worlds import GATE, command, write_log, write_plan

POLICIES = ["easy(reserve=1..4)", "gate.py:Gate"]


def gated(folder: Path) -> Path:
    """A plan whose last run waits for the file ``go`` and announces it by the file ``pid``."""
    (folder / "gate.py").write_text(GATE)
    return write_plan(folder, POLICIES, shake=2)


def at_the_gate(folder: Path) -> bool:
    """Some runs are written, and a worker waits."""
    return (folder / "pid").exists() and len(list((folder / "r" / "shards").glob("*.parquet"))) > 0


@contextmanager
def begun(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A sweep with a worker at the gate, which does not outlive the test."""
    plan = gated(folder)
    words = command("sweep", str(plan), "-o", str(folder / "r"), "--workers", "2", "--json")
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: at_the_gate(folder), "a worker at the gate", 600)
        yield started
    finally:
        if started.returncode is None:
            started.kill()
            started.communicate()


def table_bytes(folder: Path) -> bytes:
    write_table(Shards(folder).collect(), folder / "table.parquet")
    return (folder / "table.parquet").read_bytes()


def test_killed_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After kill -9 finished runs are kept, the rest run, and the table is complete."""
    with begun(tmp_path):
        pass
    kept = len(Shards(tmp_path / "r").done())
    assert kept > 0
    (tmp_path / "go").touch()
    words = ["sweep", str(tmp_path / "plan.toml"), "--workers", "1", "--json", "-o"]
    assert run([*words, str(tmp_path / "r")]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert resumed["planned"] == 15 and resumed["ran"] <= 15 - kept
    assert run([*words, str(tmp_path / "whole")]) == 0
    assert table_bytes(tmp_path / "r") == table_bytes(tmp_path / "whole")


def test_a_killed_worker_and_ctrl_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A lost unit is run again in a new pool; Ctrl-C ends with 130 and keeps what is done."""
    with begun(tmp_path) as process:
        first = (tmp_path / "pid").read_text()
        os.kill(int(first), signal.SIGKILL)
        wait_for(lambda: (tmp_path / "pid").read_text() != first, "another worker", 600)
        process.send_signal(signal.SIGINT)
        wait_for(lambda: any((tmp_path / "r").glob(".stop-*")), "the request to stop", 120)
        (tmp_path / "go").touch()
        _, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert not list((tmp_path / "r").glob(".stop-*"))
    kept = len(Shards(tmp_path / "r").done())
    assert kept > 0
    words = ["sweep", str(tmp_path / "plan.toml"), "--workers", "1", "--json", "-o"]
    assert run([*words, str(tmp_path / "r")]) == 0
    assert json.loads(capsys.readouterr().out)["ran"] == 15 - kept
    assert set(Shards(tmp_path / "r").done().values()) == {True}


def test_status_collect_and_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints progress, results, and a script for a scheduler."""
    plan = write_plan(tmp_path, ["easy(reserve=1..3)"], shake=2)
    folder = str(tmp_path / "r")
    assert run(["sweep", str(plan), "-o", folder, "--workers", "1"]) == 0
    assert "9 runs planned: 9 run now, 0 done before" in capsys.readouterr().out
    assert run(["sweep", "status", folder, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["planned"], printed["done"], printed["failed"]) == (9, 9, 0)
    table = tmp_path / "t.csv"
    assert run(["sweep", "collect", folder, "-o", str(table)]) == 0
    assert len(table.read_text().splitlines()) == 10
    assert run(["sweep", "collect", folder, "--over", "reserve", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 3
    assert run(["sweep", "script", "slurm", str(plan), "-o", folder, "--tasks", "7"]) == 0
    assert '--shard "$SLURM_ARRAY_TASK_ID/7"' in capsys.readouterr().out
    assert run(["sweep", "script", "condor", str(plan), "-o", folder, "--tasks", "7"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "queue 7"
    assert run(["sweep", "merge", folder]) == 0
    assert run(["sweep", "status", folder]) == 0
    assert "9 of 9 runs done, 0 failed, in 1 shard" in capsys.readouterr().out


def test_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB answers over the table runs, and cannot reach files."""
    pytest.importorskip("duckdb")
    plan = write_plan(tmp_path, ["easy(reserve=1..3)"])
    folder = str(tmp_path / "r")
    assert run(["sweep", str(plan), "-o", folder, "--workers", "1"]) == 0
    capsys.readouterr()
    count = "select count(*) as n from runs where set_reserve > 1"
    assert run(["sweep", "collect", folder, "--json", "--sql", count]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": [{"n": 2}]}
    for wrong in ("select nothing", f"select * from read_csv('{tmp_path}/plan.toml')", "copy"):
        assert run(["sweep", "collect", folder, "--sql", wrong]) == 2
        assert "query" in capsys.readouterr().err


def test_sql_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Nothing but the answer is printed, also when the interpreter ends."""
    pytest.importorskip("duckdb")
    shards = Shards(tmp_path)
    shards.make()
    shards.write([{"key": "1", "log": "one"}])
    words = command("sweep", "collect", str(tmp_path), "--sql", "select log from runs")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["log", "one"], "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(options, capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_is_named_and_the_sweep_resumes(
    tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    """What was written is kept; when there is room, the same command does the rest."""
    plan = write_plan(tmp_path, ["easy(reserve=1..4)"], shake=40)
    words = ["sweep", str(plan), "--workers", workers, "-o"]
    assert run([*words, str(small_disk / "r")]) == 2
    said = capsys.readouterr().err
    assert f"shadowtime: {small_disk}/r/shards/" in said
    assert "No space left on device" in said and "resumes" in said
    kept = len(Shards(small_disk / "r").done())
    assert not list((small_disk / "r").rglob(".*"))
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    assert run([*words, str(small_disk / "r"), "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert (resumed["skipped"], resumed["ran"]) == (kept, 164 - kept) and 0 < kept < 164
    assert run([*words, str(tmp_path / "whole")]) == 0
    assert table_bytes(small_disk / "r") == table_bytes(tmp_path / "whole")


def test_a_full_disk_is_named_by_every_command(
    tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A result that does not fit is reported with the file, of which nothing is left."""
    log = write_log(tmp_path, jobs=1500)
    for option, file in (("-o", "schedules/easy.csv"), ("--resume", "kept/")):
        folder = small_disk / option
        assert run(["compare", str(log), "-c", "pool:256", "-p", "easy", option, str(folder)]) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert f"{folder}/{file}" in said and "No space left on device. " in said
        assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sweep", "none.toml", "-o", "r"], "none.toml: no such plan"),
        (["sweep", "status", "nowhere"], "not the folder of a sweep"),
        (["sweep", "collect", "nowhere"], "not the folder of a sweep"),
    ],
)
def test_wrong_input(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Wrong input is one sentence, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert says in capsys.readouterr().err
