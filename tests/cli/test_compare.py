"""shadowtime compare, from what is typed to what is printed and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.metrics import REGISTRY
from shadowtime.study.sweep import Shards
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.slicing import first_jobs

BOTH = ["-p", "easy", "-p", "easy-sjbf"]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The first jobs of the demo as a log in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_swf(first_jobs(demo_workload(), 500), "log.swf")
    return "log.swf"


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_json_is_the_object_of_the_contract(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The documented keys, the same metrics as simulate prints, and those that only compare has."""
    assert run(["compare", log, *BOTH, "--shake", "3", "--json"]) == 0
    found = json.loads(printed(capsys))
    assert {"trace", "cluster", "window", "policies", "versions"} <= set(found)
    assert [policy["name"] for policy in found["policies"]] == ["easy", "easy-sjbf"]
    assert run(["simulate", log, "-p", "easy-sjbf", "--json"]) == 0
    alone = json.loads(printed(capsys))
    assert alone["policies"][0] == found["policies"][1]
    assert set(found["policies"][0]["metrics"]) <= set(REGISTRY)
    assert found["replicas"] == {"kind": "shaken", "count": 3, "seed": 1}
    [load] = found["loads"]
    assert load["load"] == "as recorded" and load["offered_load"] > 0
    assert load["ranks"]["wait_mean_s"]["inputs"] == 3


def test_resumed_from_a_folder(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Resumed runs give exactly the same object; more copies only add their own runs."""
    words = ["compare", log, *BOTH, "--load", "1", "--load", "1.2", "--json"]
    assert run([*words, "--shake", "3"]) == 0
    plain = json.loads(printed(capsys))
    for shake, rows in ((2, 12), (3, 16), (3, 16)):
        assert run([*words, "--shake", str(shake), "--resume", "runs"]) == 0
        kept = json.loads(printed(capsys))
        assert len(Shards(Path("runs")).done()) == rows
    assert {**kept, "command": ""} == {**plain, "command": ""}
    assert len(list(Path("runs/kept").glob("*.run"))) == 4, "of the log as it is"


@pytest.mark.parametrize("more", [[], ["--shake", "2", "--where", "user=1"]])
def test_whole_schedules_are_kept_where_numbers_are_not_enough(
    more: list[str], log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without copies, and where only some jobs count, a second run simulates nothing."""
    words = ["compare", log, *BOTH, "--json", *more]
    assert run(words) == 0
    plain = json.loads(printed(capsys))
    assert run([*words, "--resume", "runs"]) == 0
    capsys.readouterr()
    for name in ("simulate", "run_once"):
        monkeypatch.setattr(f"shadowtime.cli.common.running.{name}", None)
    assert run([*words, "--resume", "runs"]) == 0
    assert {**json.loads(printed(capsys)), "command": ""} == {**plain, "command": ""}


def test_workers_make_runs_on_copies(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers need a folder for their results, and copies to run."""
    words = ["compare", log, *BOTH]
    assert run([*words, "--shake", "2", "--workers", "2"]) == 2
    assert "add --resume DIR" in capsys.readouterr().err
    assert run([*words, "--resume", "runs", "--on", "condor"]) == 2
    assert "add --shake N or --resample N" in capsys.readouterr().err


def test_the_table_shows_the_winner_and_which_jobs_pay(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A star on the best, the winner in words, the classes that lose, the load."""
    assert run(["compare", log, *BOTH]) == 0
    out = printed(capsys)
    assert "log: 500 jobs on a pool of 256 procs" in out and "offered load 0." in out
    assert "★" in out and "serves most jobs best" in out and "Which jobs pay:" in out
    assert "Warning" not in out and "Rank by" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_copies_add_differences_and_stability(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With copies the differences have intervals, and the rank is reported as stable or not."""
    assert run(["compare", log, *BOTH, "-p", "fcfs", "--shake", "3", "--seed", "7"]) == 0
    out = printed(capsys)
    assert "Over 3 shaken inputs:" in out and "±" in out
    assert "Rank by mean bounded slowdown:" in out and "Rank by mean wait:" in out
    assert "stable" in out
    assert max(map(len, out.splitlines())) <= 100


def test_the_same_command_gives_the_same_bytes(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results do not depend on the order in which threads finish."""
    command = ["compare", log, *BOTH, "--shake", "4", "--json"]
    assert run(command) == 0
    first = printed(capsys)
    assert run(command) == 0
    assert printed(capsys) == first


def test_lost_work_and_slipped_promises_have_columns_where_there_are_any(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Work lost to preemption has a column of its own, which is omitted if none was lost."""
    assert run(["compare", log, "-p", "easy", "-p", "pv-easy", "-p", "conservative"]) == 0
    heading = next(line for line in printed(capsys).splitlines() if "policy" in line)
    assert "goodput" in heading and "lost" in heading
    assert run(["compare", log, *BOTH, "--json"]) == 0
    for policy in json.loads(printed(capsys))["policies"]:
        found = policy["metrics"]
        assert found["goodput"] == found["utilisation"] and found["lost_work"] == 0
    assert run(["compare", log, *BOTH]) == 0
    out = printed(capsys)
    assert "lost" not in out and "slipped" not in out


def test_a_shaken_headline_names_only_a_clear_leader(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same policy twice under two names: neither wins, whatever the unmodified log shows."""
    twin = ["-p", "easy", "-p", "easy(order=fcfs)"]
    assert run(["compare", log, "-p", "fcfs", "-p", "easy", "--shake", "3"]) == 0
    assert "easy serves most jobs best" in printed(capsys)
    assert run(["compare", log, *twin, "--shake", "3"]) == 0
    out = printed(capsys)
    assert "serves most jobs best" not in out
    assert "No policy wins." in out or "No clear winner:" in out


def test_loads_are_printed_with_a_warning(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every load has a table, a load of 1 or more a warning; the winners by load come last."""
    assert run(["compare", log, *BOTH, "--load", "1", "--load", "offered=1.3"]) == 0
    out = printed(capsys)
    assert "log at load offered=1.3" in out
    assert "Warning: at an offered load of 1.30 the queue grows" in out
    last = [line.split()[:2] for line in out.splitlines()[-2:]]
    assert last[0][0] == "as" and last[1] == ["offered=1.3", "1.30"]


def test_one_load_is_one_folder(log: str) -> None:
    """-o writes the same files as simulate does, with a schedule per policy."""
    assert run(["compare", log, *BOTH, "--shake", "2", "-o", "out"]) == 0
    result = json.loads(Path("out/result.json").read_text())
    assert [policy["schedule"] for policy in result["policies"]] == [
        "schedules/easy.csv",
        "schedules/easy-sjbf.csv",
    ]
    assert result["command"].startswith("shadowtime compare log.swf -p easy")
    assert run(["check", "out/schedules/easy.csv", "--trace", "out/inputs/trace.swf.gz"]) == 0


def test_several_loads_are_several_folders_and_pages(log: str) -> None:
    """Each load has its own folder and page; the first page has the requested name."""
    command = ["compare", log, *BOTH, "--load", "0.8", "--load", "1.2", "-o", "out"]
    assert run([*command, "--report", "page.html"]) == 0
    assert len(json.loads(Path("out/result.json").read_text())["loads"]) == 2
    for name in ("load-0.8", "load-1.2"):
        assert json.loads(Path(f"out/{name}/result.json").read_text())["trace"]["jobs"] == 500
        assert Path(f"out/{name}/schedules/easy.csv").exists()
    assert sorted(path.name for path in Path().glob("*.html")) == [
        "page-load-1.2.html",
        "page.html",
    ]


def test_the_page_holds_the_numbers(log: str) -> None:
    """--report writes a page that names the policies."""
    assert run(["compare", log, *BOTH, "--shake", "2", "--report", "page.html"]) == 0
    text = Path("page.html").read_text()
    assert "easy-sjbf" in text and "2 shaken inputs" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "easy", "-p", "easy"], "easy is given twice"),
        ([], "--policy"),
        ([*BOTH, "--load", "fast"], "neither a factor"),
        ([*BOTH, "--load", "1", "--load", "1"], "each load once"),
        ([*BOTH, "--shake", "1"], "no spread"),
        ([*BOTH, "--shake", "2", "--resample", "2"], "they answer different questions"),
        ([*BOTH, "--shake", "-1"], "--shake"),
        ([*BOTH, "--report", "no/where.html"], "no/where.html"),
    ],
    ids=["twice", "none", "load", "same-load", "one-shake", "both", "negative", "page"],
)
def test_wrong_input_is_one_line(
    log: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error, nothing on standard output, exit code 2."""
    assert run(["compare", log, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err.splitlines()[-1]
