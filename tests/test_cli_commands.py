"""The commands, from what is typed to what is printed and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.metrics import REGISTRY

SIX = """\
; MaxProcs: 5
1   0 -1 360 4 -1 -1 4 360 -1 1 1 1 1 1 1 -1 -1
2  60 -1 540 2 -1 -1 2 540 -1 1 1 1 1 1 1 -1 -1
3 120 -1  60 3 -1 -1 3  60 -1 1 1 1 1 1 1 -1 -1
4 180 -1 300 2 -1 -1 2 300 -1 1 1 1 1 1 1 -1 -1
5 240 -1 240 2 -1 -1 2 240 -1 1 1 1 1 1 1 -1 -1
6 300 -1 480 1 -1 -1 1 480 -1 1 1 1 1 1 1 -1 -1
7 310 -1  -1 1 -1 -1 1 480 -1 5 1 1 1 1 1 -1 -1
"""
EASY_STARTS = [0, 360, 780, 360, 840, 300]
"""A runs at once, B is the head until A ends, F overtakes, C and E wait (worked out by hand)."""


@pytest.fixture
def six(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Six jobs on five processors, and a job that was cancelled, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("six.swf").write_text(SIX)
    return "six.swf"


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def rows(path: str | Path) -> list[dict[str, str]]:
    header, *lines = Path(path).read_text().splitlines()
    return [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]


def test_simulate_prints_the_object_of_the_contract_and_nothing_else(
    six: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json standard output is one JSON object with the documented keys."""
    assert run(["simulate", six, "--policy", "easy", "--json"]) == 0
    found = json.loads(printed(capsys))
    assert list(found) == ["trace", "cluster", "window", "policies", "versions"]
    assert found["trace"]["name"] == "six" and found["trace"]["jobs"] == 6
    assert found["trace"]["cleaning"]["cancelled_dropped"] == 1
    assert found["cluster"]["procs"] == 5
    [policy] = found["policies"]
    assert policy["name"] == "easy" and policy["parameters"]["order"] == "fcfs"
    assert policy["metrics"]["wait_mean_s"] == 290 and policy["metrics"]["backfilled"] == 2
    assert set(policy["metrics"]) <= set(REGISTRY), "every metric printed is documented"


def test_simulate_shows_a_table(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json the numbers are shown for people, and the cleaning with them."""
    assert run(["simulate", six, "--policy", "easy"]) == 0
    out = printed(capsys)
    assert "6 jobs on a pool of 5 procs" in out and "4 min 50 s" in out
    assert "cancelled before they started" in out
    assert "\x1b" not in out, "no colour where there is no terminal"


def test_simulate_writes_the_schedule(six: str) -> None:
    """--schedule holds a row per job, at the starts worked out by hand."""
    assert run(["simulate", six, "-c", "pool:5", "-p", "easy", "--schedule", "out.csv"]) == 0
    found = rows("out.csv")
    assert [int(row["start"]) for row in found] == EASY_STARTS
    assert found[5]["reason"] == "backfilled"


def test_a_parquet_schedule_has_the_columns_of_the_log(six: str) -> None:
    """As ``run.write`` writes it: user, run, partition and policy beside the starts."""
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(["simulate", six, "-c", "pool:5", "-p", "easy", "--schedule", "out.parquet"]) == 0
    table = parquet.read_table("out.parquet")
    assert {"run", "user", "partition", "policy"} <= set(table.column_names)
    assert table.column("start").to_pylist() == EASY_STARTS
    assert set(table.column("policy").to_pylist()) == {"easy"}


def test_simulate_writes_a_folder(six: str) -> None:
    """-o holds the result, the schedule, the jobs and the machine; twice the same bytes."""
    policy = "easy(reserve=2, order=sjf)"
    command = ["simulate", six, "--policy", policy, "-o", "out"]
    assert run(command) == 0
    first = {path: path.read_bytes() for path in sorted(Path("out").rglob("*")) if path.is_file()}
    assert run(command) == 0
    assert {path: path.read_bytes() for path in first} == first
    assert [str(path.relative_to("out")) for path in first] == [
        "inputs/cluster.json",
        "inputs/trace.swf.gz",
        "result.json",
        "schedules/easy-reserve-2-order-sjf.csv",
    ]
    result = json.loads(Path("out/result.json").read_text())
    assert result["command"] == f"shadowtime simulate six.swf --policy '{policy}' -o out"
    assert len(rows(Path("out") / result["policies"][0]["schedule"])) == 6
    assert json.loads(Path("out/inputs/cluster.json").read_text())["hosts"] == [["pool", 5]]


def test_the_folder_holds_what_was_scheduled(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The jobs of a result folder give the same schedule again."""
    assert run(["simulate", six, "-p", "easy", "-o", "out"]) == 0
    again = ["simulate", "out/inputs/trace.swf.gz", "-p", "easy", "--schedule", "again.csv"]
    assert run(again) == 0
    assert Path("again.csv").read_bytes() == Path("out/schedules/easy.csv").read_bytes()


def test_the_window_is_part_of_the_result(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything is simulated, only the window is scored, and the result states the window."""
    assert run(["simulate", six, "-p", "easy", "--window", "2:1", "--json"]) == 0
    found = json.loads(printed(capsys))
    assert found["window"]["warmup_jobs"] == 2 and found["trace"]["jobs"] == 6
    assert found["policies"][0]["metrics"]["jobs"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.swf", "-p", "easy"], "nowhere.swf"),
        (["six.swf", "-p", "esay"], "Did you mean easy"),
        (["six.swf", "-p", "easy", "-c", "5"], "did you mean pool:5?"),
        (["six.swf", "-p", "easy", "-c", "pool:3"], "fit nowhere"),
        (["six.swf", "-p", "easy", "--window", "soon"], "window"),
        (["six.swf", "-p", "easy", "--overrun", "ignore"], "--overrun"),
        (["six.swf"], "--policy"),
        (["six.swf", "-p", "easy", "-o", "six.swf/x"], "six.swf/x"),
        (["six.swf", "-p", "easy", "--schedule", "no/where.csv"], "no/where.csv"),
    ],
    ids=["trace", "policy", "cluster", "too-wide", "window", "switch", "none", "folder", "file"],
)
def test_wrong_input_is_one_line_and_code_2(
    six: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong with what was typed: one line that names it, nothing on stdout."""
    assert run(["simulate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("shadowtime: ")


def test_check_proves_our_schedule(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What simulate writes, check proves, with the policy's own claims."""
    run(["simulate", six, "-p", "easy", "--schedule", "out.csv"])
    capsys.readouterr()
    assert run(["check", "out.csv", "--trace", six, "-p", "easy", "--json"]) == 0
    found = json.loads(printed(capsys))
    verdicts = {proof["name"]: proof["verdict"] for proof in found["proofs"]}
    assert found["ok"] and verdicts["capacity"] == verdicts["promises-kept"] == "proved"
    assert verdicts["strictly-fair"] == "not claimed"


@pytest.mark.parametrize(
    ("policy", "why"), [(["-p", "easy"], "does not claim"), ([], "name the policy with -p")]
)
def test_check_explains_what_it_did_not_check(
    six: str, capsys: pytest.CaptureFixture[str], policy: list[str], why: str
) -> None:
    """A sentence names the properties that were not checked, with the reason."""
    run(["simulate", six, "-p", "easy", "--schedule", "out.csv"])
    capsys.readouterr()
    run(["check", "out.csv", "--trace", six, *policy])
    text = " ".join(printed(capsys).split())
    assert "Not checked: " in text and "strictly-fair" in text and why in text


def test_check_finds_a_wrong_schedule(six: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A job moved to where it does not fit: exit code 1 and the violation explained."""
    run(["simulate", six, "-p", "easy", "--schedule", "out.csv"])
    text = Path("out.csv").read_text().replace("\n3,120,780,840,", "\n3,120,300,360,")
    Path("out.csv").write_text(text)
    capsys.readouterr()
    assert run(["check", "out.csv", "--trace", six]) == 1
    assert "violated: capacity: at 300 s" in " ".join(printed(capsys).split())


def test_check_reads_other_names(six: str) -> None:
    """Columns of other tools are translated."""
    run(["simulate", six, "-p", "easy", "--schedule", "out.csv"])
    Path("out.csv").write_text(Path("out.csv").read_text().replace(",start,", ",begun,", 1))
    assert run(["check", "out.csv", "--trace", six]) == 2
    assert run(["check", "out.csv", "--trace", six, "--column", "start=begun"]) == 0


def test_policies_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    """Every policy is listed, and each can be described."""
    assert run(["policies", "--json"]) == 0
    names = [policy["name"] for policy in json.loads(printed(capsys))["policies"]]
    assert {"fcfs", "greedy", "easy", "easy-sjbf", "conservative"} <= set(names)
    for name in names:
        assert run(["policies", name]) == 0
        assert printed(capsys).startswith(f"{name}: ")


def test_policies_describes_a_variant(capsys: pytest.CaptureFixture[str]) -> None:
    """Parameters are shown as they were given."""
    assert run(["policies", "easy(reserve=4, order=sjf)", "--json"]) == 0
    found = json.loads(printed(capsys))
    assert found["slots"]["order"] == "sjf" and found["parameters"]["reserve.jobs"] == 4


def test_policies_lists_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """Every slot has its parts."""
    assert run(["policies", "--parts", "--json"]) == 0
    assert "lxfw" in json.loads(printed(capsys))["order"]
    assert run(["policies", "--parts"]) == 0
    assert "shadow-load" in printed(capsys)


def test_demo_compares_and_marks_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row per policy, a star on the best of each column, a folder if requested."""
    assert run(["demo", "-o", str(tmp_path / "demo")]) == 0
    out = printed(capsys)
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert {"easy", "easy++", "conservative", "lxfw", "pv-easy", "greedy", "fcfs"} <= set(lines)
    assert "★" in out and "easy++ serves most jobs best" in out
    written = [path.name for path in (tmp_path / "demo" / "schedules").glob("*.csv")]
    assert len([name for name in written if ".attempts." not in name]) == 7
