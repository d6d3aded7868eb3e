"""Sites on the command line: what was read is shown; a folder replaces a log and a machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run

NODES = (
    "NodeName=n1 CPUTot=4 RealMemory=1000 State=IDLE Partitions=p\n"
    "NodeName=n2 CPUTot=8 RealMemory=2000 State=DOWN* Gres=gpu:2 Partitions=p Odd=1\n"
)
JOBS = (
    "JobIDRaw|User|Partition|Submit|Start|End|State|NCPUS|ReqCPUS|TimelimitRaw|NodeList\n"
    "1|eva|p|100|110|120|COMPLETED|4|1|1|n1\n"
    "2|bob|p|105|120|150|COMPLETED|2|2|1|n2\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes.txt").write_text(NODES)
    (tmp_path / "jobs.psv").write_text(JOBS)
    (tmp_path / "qos.txt").write_text("Name|Priority|MaxJobsPU\nfew|3|2\n")
    return tmp_path


def test_show_prints_what_was_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["site", "show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "2 nodes with 12 cpus, 2 gpu" in out
    assert "QOS few: user_jobs 2" in out and "not enforced" in out
    assert "1  Odd" in out and "1 nodes were down" in out
    assert run(["site", "show", str(folder / "nodes.txt"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unusable"] == ["n2"] and set(found["ignored"]) == {"Odd"}
    assert [kind["cpus"] for kind in found["nodes"]] == [4, 8]


def test_a_site_as_toml_reads_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["site", "show", str(folder), "--toml"]) == 0
    text = capsys.readouterr().out
    (folder / "site.toml").write_text(text)
    assert run(["site", "show", str(folder / "site.toml"), "--toml"]) == 0
    assert capsys.readouterr().out == text


def test_an_older_machine_is_shown_as_a_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["site", "show", "pool:64"]) == 0
    assert "1 nodes with 64 cpus" in capsys.readouterr().out


def test_info_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "info", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["jobs"] == 2 and found["site"]["total"] == {"cpus": 12, "gpu": 2}


@pytest.mark.parametrize("machine", [[], ["-c", "{here}/nodes.txt"], ["-c", "{here}"]])
def test_policies_run_on_a_site(
    folder: Path, machine: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    where = [word.replace("{here}", str(folder)) for word in machine]
    assert run(["compare", str(folder), *where, "-p", "fcfs", "-p", "easy", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["trace"]["jobs"] == 2
    assert "1 nodes were down" in printed.err and "Odd (1)" in printed.err


def test_a_result_folder_keeps_the_site(folder: Path) -> None:
    from shadowtime.result.inputs import read_cluster

    out = folder / "out"
    assert run(["simulate", str(folder), "-p", "easy", "--output", str(out)]) == 0
    kept = read_cluster(next(out.rglob("cluster.json")).parent)
    assert kept.shape == "site" and kept.procs == 12


def test_a_folder_beside_a_pool_is_its_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", str(folder), "-c", "pool:12", "-p", "fcfs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trace"]["jobs"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["site", "show", "none"], "'none' does not name a machine"),
        (["site", "show", "{here}", "--toml", "--json"], "--toml or --json, not both"),
        (["site", "show", "{here}/empty"], "neither nodes.txt nor slurm.conf"),
        (["trace", "info", "{here}/empty"], "there is no job log in the folder"),
        (["simulate", "{here}", "-p", "easy", "--demand", "HIGH"], "--demand is for machines"),
    ],
)
def test_bad_calls_are_one_sentence(
    folder: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    assert run([word.replace("{here}", str(folder)) for word in arguments]) == 2
    printed = capsys.readouterr().err.strip().splitlines()
    assert words in printed[-1]
