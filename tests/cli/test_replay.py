"""shadowtime replay, from what is typed to what is printed and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.report.numbers import MINUS
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log of a machine that ran EASY, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    jobs = first_jobs(demo_workload(), 600)
    starts = simulate(jobs, Cluster.pool(256), parse_policy("easy")).start
    write_swf(jobs.replace(recorded_start=starts), "log.swf")
    return "log.swf"


def test_the_verdict_is_shown(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Classes, hours and the verdict, within the width of the terminal."""
    assert run(["replay", log, "-p", "easy"]) == 0
    out = capsys.readouterr().out
    assert "How far to trust a what-if: mean waits within 3 %" in out and "mean wait by hour" in out
    assert run(["replay", log, "-p", "fcfs"]) == 0
    out = capsys.readouterr().out
    assert "do not quote its minutes" in " ".join(out.split()) and "off by" in out
    assert max(map(len, out.splitlines())) <= 100


def test_partitions_have_rows_with_a_verdict_where_there_are_several(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every second job in a partition whose jobs were held back for a week: that one is off."""
    jobs = first_jobs(demo_workload(), 600)
    late = jobs.job_id % 2 == 0
    starts = simulate(jobs, Cluster.pool(256), parse_policy("easy")).start
    held = jobs.replace(recorded_start=starts + late * 7 * 86_400, partition=1 + late)
    write_swf(held, "two.swf")
    assert run(["replay", "two.swf", "-p", "easy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    off = {line.split()[1]: line.split()[-2] for line in lines if line.startswith("  partition ")}
    assert off["1"].startswith("0") and off["2"].startswith(f"{MINUS}9")
    assert run(["replay", log, "-p", "easy"]) == 0
    assert "by partition" not in capsys.readouterr().out


def test_json_has_the_recorded_run_first(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The contract's object with both runs, and the verdict with its findings."""
    assert run(["replay", log, "-p", "easy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [policy["name"] for policy in found["policies"]] == ["recorded", "easy"]
    assert found["replay"]["expected_error"] < 0.05
    both = [policy["metrics"]["wait_mean_s"] for policy in found["policies"]]
    assert both[0] == both[1]


def test_a_folder_and_a_page(log: str) -> None:
    """-o and --report treat the recorded schedule like any other."""
    assert run(["replay", log, "-p", "easy", "-o", "out", "--report", "page.html"]) == 0
    assert sorted(path.name for path in Path("out/schedules").iterdir()) == [
        "easy.csv",
        "recorded.csv",
    ]
    assert "recorded" in Path("page.html").read_text()


def test_the_verdict_leads_the_page_and_the_folder_keeps_it(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The expected error precedes all numbers, with groups; no policy wins against a record."""
    assert run(["replay", log, "-p", "fcfs", "-o", "out", "--report", "page.html"]) == 0
    page = Path("page.html").read_text()
    verdict = page.index('<p class="verdict poor">How far to trust a what-if: mean waits within ')
    assert verdict < page.index("data-metric") and " wins " not in page[: page.index("<script")]
    assert "Larger for " in page
    capsys.readouterr()
    assert run(["report", "out", "-o", "again.html"]) == 0
    assert Path("again.html").read_bytes() == Path("page.html").read_bytes()
    out = capsys.readouterr().out
    assert "How far to trust a what-if: mean waits within" in " ".join(out.split())
    assert "★" not in out


def test_compare_repeats_the_verdict_for_a_recorded_log(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the first policy, in the terminal, JSON and page; omitted if no starts are recorded."""
    command = ["compare", log, "-p", "fcfs", "-p", "easy"]
    assert run([*command, "--report", "page.html"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "do not quote its minutes" in out
    assert "From the recorded waits beside those of fcfs" in out
    assert "do not quote its minutes" in Path("page.html").read_text()
    assert run([*command, "--load", "1.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["trust"]
    assert found["expected_error"] > 1 and found["policy"] == "fcfs"
    write_swf(first_jobs(demo_workload(), 50), "none.swf")
    assert run(["compare", "none.swf", "-p", "fcfs", "-p", "easy"]) == 0
    assert "trust" not in capsys.readouterr().out


def test_a_log_without_starts_is_refused(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line that names what to use instead."""
    write_swf(first_jobs(demo_workload(), 10), "none.swf")
    assert run(["replay", "none.swf", "-p", "easy"]) == 2
    assert "records no start" in capsys.readouterr().err
    assert run(["replay", log, "-p", "easy", "--release", "eligible"]) == 2
    assert "only sacct exports do" in capsys.readouterr().err
