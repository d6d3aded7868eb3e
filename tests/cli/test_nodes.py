"""Nodes on the command line: demand classes, the extended log, what is rejected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload

NODES = """
[cluster]
shape = "nodes"
[[nodes]]
name = "n"
count = 64
procs = 4
bandwidth = 6000
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log and a machine of nodes."""
    monkeypatch.chdir(tmp_path)
    write_swf(demo_workload().take(range(300)), "log.swf")
    Path("nodes.toml").write_text(NODES)


def simulate(*more: str, policy: str = "rua", log: str = "log.swf") -> int:
    return run(["simulate", log, "--cluster", "nodes.toml", "--policy", policy, "--json", *more])


def test_demand_classes_are_drawn(capsys: pytest.CaptureFixture[str]):
    """HIGH slows jobs down, high=1500 none; the metrics count the jobs killed for it."""
    assert simulate("--demand", "HIGH") == 0
    high = json.loads(capsys.readouterr().out)["policies"][0]["metrics"]
    assert high["penalised_mean"] > 0
    assert high["killed"] == high["killed_contention"] + high["killed_anyway"]
    assert high["finished"] + high["killed"] == high["jobs"]
    assert simulate("--demand", "HIGH,high=1500") == 0
    calm = json.loads(capsys.readouterr().out)["policies"][0]["metrics"]
    assert calm["penalised_mean"] == calm["killed_contention"] == 0


def test_an_extended_log_carries_them(capsys: pytest.CaptureFixture[str]):
    """convert --demand writes what simulate --demand draws."""
    assert run(["trace", "convert", "log.swf", "high.swf", "--demand", "HIGH,seed=3"]) == 0
    capsys.readouterr()
    assert simulate(log="high.swf") == 0
    read = json.loads(capsys.readouterr().out)["policies"][0]["metrics"]
    assert simulate("--demand", "HIGH,seed=3") == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["metrics"] == read


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "have no bandwidth demand"),
        (["--demand", "HIGH,high=7000"], "need more bandwidth per process than a node has (6000)"),
        (["--demand", "HUGE"], "'HUGE' is not a demand"),
        (["--demand", "80/10/20"], "sum to 100"),
        (["--demand", "HIGH,high=-5"], "is not a demand setting"),
    ],
)
def test_bad_demands_are_one_sentence(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
):
    """A wrong demand is one sentence with what to do, and exit code 2."""
    assert simulate(*more) == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split()) and "Traceback" not in error


def test_a_default_demand_can_be_stated(capsys: pytest.CaptureFixture[str]):
    """The cluster's [contention] table sets the demand of jobs without one."""
    Path("nodes.toml").write_text(NODES + "[contention]\ndefault = {bandwidth = 500}\n")
    assert simulate() == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["metrics"]["penalised_mean"] == 0


def test_a_negative_demand_is_refused(capsys: pytest.CaptureFixture[str]):
    """The reader rejects values below -1 (unknown) and names the line."""
    assert run(["trace", "convert", "log.swf", "high.swf", "--demand", "HIGH"]) == 0
    lines = Path("high.swf").read_text().splitlines()
    lines[-1] = lines[-1].rsplit(" ", 1)[0] + " -9"
    Path("high.swf").write_text("\n".join(lines) + "\n")
    assert simulate(log="high.swf") == 2
    assert f"high.swf, line {len(lines)}: bandwidth is -9" in capsys.readouterr().err


def test_a_comparison_reports_what_sharing_costs(capsys: pytest.CaptureFixture[str]):
    """Jobs killed for others and lost work are beside the waits; the load is the log's."""
    loads = {}
    for policy in ("consres", "rua"):
        assert simulate("--demand", "HIGH", policy=policy) == 0
        printed = json.loads(capsys.readouterr().out)["policies"][0]["metrics"]
        loads[policy] = printed["offered_load"]
    assert loads["consres"] == loads["rua"]
    words = ["compare", "log.swf", "--cluster", "nodes.toml", "--demand", "HIGH"]
    assert run([*words, "--policy", "consres", "--policy", "rua"]) == 0
    table = capsys.readouterr().out
    assert (
        "penalised" in table and "killed: by contention" in table and " jobs " not in table[80:400]
    )


def test_a_pool_has_no_nodes_to_share(capsys: pytest.CaptureFixture[str]):
    """A policy that places by bandwidth runs on a pool, with a note."""
    assert run(["simulate", "log.swf", "--policy", "rua"]) == 0
    assert "a pool has no nodes" in capsys.readouterr().err
    assert run(["simulate", "log.swf", "--policy", "easy"]) == 0
    assert "a pool has no nodes" not in capsys.readouterr().err


def test_explain_reports_what_sharing_cost(capsys: pytest.CaptureFixture[str]):
    """Prints the time lost, and that the job would have kept its limit alone."""
    assert simulate("--demand", "HIGH,high=2900", "-o", "out", policy="consres") == 0
    (row,) = json.loads(capsys.readouterr().out)["policies"]
    assert row["metrics"]["killed_contention"] > 0
    lines = Path("out/schedules/consres.csv").read_text().splitlines()
    names = lines[0].split(",")
    jobs = [dict(zip(names, line.split(","), strict=False)) for line in lines[1:]]
    hit = next(job for job in jobs if job["killed"] == "1" and int(job["penalised"]) > 0)
    assert run(["explain", "out", hit["job_id"]]) == 0
    assert "were lost to contention on its nodes" in " ".join(capsys.readouterr().out.split())
