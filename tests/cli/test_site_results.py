"""Everything after a run works on a site: pages, figures, exports, explanations, replays."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import shadowtime as st
from conftest import recording_path
from shadowtime.cli import run

SITE = """
[site]
name = "small"

[[nodes]]
names = "n[1-3]"
cpus = 8
memory = "16GB"

[[nodes]]
names = "g1"
cpus = 16
memory = "64GB"
gres = "gpu:2"

[[partitions]]
name = "batch"
nodes = "n[1-3],g1"
default = true

[[partitions]]
name = "gpu"
nodes = "g1"
"""
HEAD = "job_id,submit,run,request,start,user,account,qos,partition," + (
    "nodes,tasks,memory,memory_per,gres"
)
JOBS = f"""{HEAD}
1,1700000000,600,900,1700000000,eva,phys,normal,batch,3,24,4194304,node,
2,1700000010,300,600,1700000600,bob,chem,high,batch,2,16,2097152,cpu,
3,1700000020,100,200,1700000020,eva,phys,normal,gpu,1,4,,,gpu:1/node
4,1700000030,60,120,1700000700,bob,chem,high,batch,1,8,,,
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of two policies on a small site, with its log and site beside it."""
    here = tmp_path_factory.mktemp("site")
    (here / "site.toml").write_text(SITE)
    (here / "jobs.csv").write_text(JOBS)
    command = ["compare", str(here / "jobs.csv"), "-c", str(here / "site.toml")]
    assert run([*command, "-p", "fcfs", "-p", "easy", "-o", str(here / "out")]) == 0
    return here


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_mixed_machine_is_described_in_words(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", str(folder / "jobs.csv"), "-c", str(folder / "site.toml")]
    assert run([*command, "-p", "easy"]) == 0
    printed = words(capsys.readouterr().out)
    assert "4 nodes with 40 cpus, 112 GB memory, 2 gpu" in printed
    assert "3 of 8 cpus, 16 GB memory; 1 of 16 cpus, 64 GB memory, 2 gpu" in printed


def test_explain_prints_the_request_and_the_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", str(folder / "out"), "3", "--policy", "easy"]) == 0
    printed = words(capsys.readouterr().out)
    assert (
        "Job 3 of user eva (account phys, QOS normal) asks for 4 cpus on 1 node with 1 gpu per "
        "node in partition gpu for 3 min 20 s; submitted 2023-11-14 22:13:40 UTC." in printed
    )
    assert "on g1:4 (cpus after the colon)" in printed
    assert run(["explain", str(folder / "out"), "2", "--policy", "easy"]) == 0
    printed = words(capsys.readouterr().out)
    assert "2 GB memory per cpu in partition batch" in printed
    assert "it was first in the order and did not fit; it was promised" in printed


def test_the_page_shows_nodes_and_names(folder: Path) -> None:
    page = folder / "page.html"
    assert run(["report", str(folder / "out"), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "user eva" in text and "user bob" in text and "112 GB" in text
    figure = json.loads(_summary(text))["figure"]
    assert [band[0] for band in figure["rows"][0]["bands"]] == ["n1", "n2", "n3", "g1"]
    assert figure["names"]["group"] == ["", "phys", "chem"]
    assert figure["names"]["partition"] == ["", "batch", "gpu"]


def _summary(page: str) -> str:
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
    return next(block for block in blocks if '"figure"' in block)


def test_figures_and_exports_are_written(folder: Path) -> None:
    out = folder / "exports"
    out.mkdir()
    command = ["report", str(folder / "out"), "-p", "easy", "--figures", str(out / "figures")]
    command += ["--paraver", str(out / "a.prv"), "--perfetto", str(out / "a.json")]
    command += ["--job-lines", str(out / "a.svg"), "--batsim", str(out / "batsim")]
    assert run(command) == 0
    assert list((out / "figures").glob("*.svg")) and (out / "a.prv").exists()
    events = json.loads((out / "a.json").read_text())["traceEvents"]
    assert {event["args"]["user"] for event in events if event["ph"] == "X"} == {"eva", "bob"}


def test_a_folder_read_from_python_knows_requests_and_names(folder: Path) -> None:
    loaded = st.load(folder / "out").runs[0]
    assert loaded.workload.requests is not None
    assert loaded.workload.requests[2].gres[0].name == "gpu"
    assert loaded.workload.name_of("user", int(loaded.workload.user[1])) == "bob"
    assert loaded.workload.epoch == 1_700_000_000


def test_a_schedule_of_the_folder_is_proved(folder: Path) -> None:
    for policy in ("fcfs", "easy"):
        schedule = folder / "out" / "schedules" / f"{policy}.csv"
        where = ["--trace", str(folder / "jobs.csv"), "-c", str(folder / "site.toml")]
        assert run(["check", str(schedule), *where]) == 0


def test_a_result_folder_is_a_log_with_its_machine(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    easy = folder / "out" / "schedules" / "easy.csv"
    again = tmp_path / "again.csv"
    command = ["simulate", str(folder / "out"), "-p", "easy", "--schedule", str(again)]
    assert run(command) == 0
    assert again.read_bytes() == easy.read_bytes()
    assert run(["check", str(easy), "--trace", str(folder / "out")]) == 0
    moved = tmp_path / "moved.csv"
    moved.write_text(easy.read_text().replace("g1:4", "n1:4"))  # job 3 outside of its partition
    capsys.readouterr()
    assert run(["check", str(moved), "--trace", str(folder / "out")]) == 1
    assert "job 3" in words(capsys.readouterr().out)


def test_replay_groups_waits_by_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["replay", str(folder / "jobs.csv"), "-c", str(folder / "site.toml"), "-p", "easy"]
    assert run(command) == 0
    printed = words(capsys.readouterr().out)
    for heading in ("by partition", "by QOS", "by account"):
        assert heading in printed
    for label in ("partition gpu", "QOS high", "account chem"):
        assert label in printed


@pytest.mark.parametrize("name", ["A", "E1", "F", "H", "I", "J", "K"])
def test_recordings_run_through_every_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(recording_path(name))
    out, page = str(tmp_path / "out"), tmp_path / "page.html"
    policies = ["-p", "easy", "-p", "conservative", "-p", "lxfw"]
    assert run(["compare", log, *policies, "-o", out, "--report", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cluster"]["shape"] == "site"
    assert "user " in page.read_text("utf-8")
    assert run(["explain", out, "20", "--policy", "lxfw"]) == 0
    assert re.search(r"Job 20 of user [a-z]+ \(.*QOS", words(capsys.readouterr().out))
    for schedule in sorted((tmp_path / "out" / "schedules").iterdir()):
        proved = run(["check", str(schedule), "--trace", out, "-p", schedule.stem])
        assert proved == 0, f"{schedule.name}: {capsys.readouterr().out}"
    assert run(["report", out, "-p", "easy", "--perfetto", str(tmp_path / "a.json")]) == 0
    assert run(["replay", log, "-p", "easy", "--json"]) == 0
    capsys.readouterr()
    assert run(["trace", "info", log, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert all(entry["name"] for entry in info["partitions"] + info["queues"])


def test_a_replay_counts_jobs_that_never_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    # job 5 asks for more GPUs than the site has: no policy ever starts it
    (tmp_path / "jobs.csv").write_text(
        f"{JOBS}5,1700000040,60,120,1700000900,bob,chem,high,gpu,1,1,,,gpu:4/node\n"
    )
    command = ["replay", str(tmp_path / "jobs.csv"), "-c", str(tmp_path / "site.toml")]
    assert run([*command, "-p", "easy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["replay"]
    assert found["never_started"] == 1 and found["all"]["jobs"] == 4
    assert min(row["simulated_mean_s"] for row in found["classes"]) >= 0
