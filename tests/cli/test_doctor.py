"""doctor of site folders: what it counts, what it reports as missing, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import recording_path
from shadowtime.cli import run

FILES = {
    "nodes.txt": (
        "NodeName=n1 CPUTot=4 State=IDLE Partitions=p\n"
        "NodeName=g1 CPUTot=8 Gres=gpu:2 State=IDLE Partitions=p,g\n"
    ),
    "partitions.txt": (
        "PartitionName=p Nodes=n1,g1 MaxTime=01:00:00 Default=YES\nPartitionName=g Nodes=g1\n"
    ),
    "config.txt": "SchedulerType = sched/backfill\nPriorityType = priority/multifactor\n",
    "reservations.txt": "No reservations in the system\n",
    "associations.txt": "Cluster|Account|User|ParentName\nc|root||\nc|phys||root\n",
    "qos.txt": "Name|Priority\nnormal|1\n",
    "events_sacctmgr.txt": (
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\nc|n1|1777600050|1777600090|DOWN|fan\n"
        "c|n1|5|9|DOWN|long before\n"
    ),
    "sacct_resv.txt": "Cluster|Name|TRES|TimeStart|TimeEnd\n",
    "sshare.txt": "Account|User|RawShares|RawUsage\nroot|||0\n phys||50|7\n",
}
HEAD = (
    "JobIDRaw|JobID|Partition|Account|User|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|"
    "NNodes|ReqCPUS|NCPUS|ReqTRES|AllocTRES|Constraints|Reservation|NodeList"
)


def row(
    job: int, *, shown: str = "", partition: str = "p", cpus: int = 1, limit: int = 10,
    tres: str = "", constraints: str = "", reservation: str = "", nodes: int = 1,
) -> str:  # fmt: skip
    amounts = f"cpu={cpus},node={nodes}{tres}"
    return (
        f"{job}|{shown or job}|{partition}|phys|eva|{1777600000 + job}|{1777600000 + job}|"
        f"1777600020|1777600100|80|{limit}|COMPLETED|{nodes}|{cpus}|{cpus}|{amounts}|{amounts}|"
        f"{constraints}|{reservation}|n1"
    )


def site(folder: Path, *rows: str) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "jobs.psv").write_text("\n".join((HEAD, *(rows or (row(1), row(2))))) + "\n")
    return folder


def doctor(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run(["doctor", str(folder), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_whole_folder_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(site(tmp_path), capsys)
    assert (code, found["verdict"], found["missing"]) == (0, "fine", [])
    assert found["counts"] == {
        "jobs": 2, "users": 1, "accounts": 1, "partitions": 2, "qos": 1, "nodes": 2, "cpus": 12,
    }  # fmt: skip
    assert [(one["count"], one["cpus"]) for one in found["nodes"]] == [(1, 4), (1, 8)]
    assert [(one["nodes"], one["kind"], one["reason"]) for one in found["machine_changes"]] == [
        ("n1", "down", "fan")
    ]
    assert run(["doctor", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())  # a long path wraps the line
    assert "fine: nothing is missing" in printed


@pytest.mark.parametrize("name", [*FILES, "jobs.psv"])
def test_a_missing_file_and_its_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without jobs or nodes the folder is unusable, without another file it has a gap."""
    (site(tmp_path) / name).unlink()
    code, found = doctor(tmp_path, capsys)
    assert code == (2 if name in ("nodes.txt", "jobs.psv") else 1)
    (missing,) = found["missing"]
    assert missing["file"] == name
    program = missing["command"].partition(f" > {name}")[0].split()
    assert {"scontrol", "sacctmgr", "sshare", "shadowtime"} & set(program)
    assert run(["doctor", str(tmp_path)]) == code
    assert missing["command"] in capsys.readouterr().out.splitlines()[-1]


def test_a_missing_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site(tmp_path) / "days").mkdir()
    for day in ("2026-05-01", "2026-05-03"):
        (tmp_path / "days" / f"{day}.psv").write_text(f"{HEAD}\n")
    code, found = doctor(tmp_path, capsys)
    (missing,) = found["missing"]
    assert code == 1 and missing["file"] == "days/2026-05-02.psv"
    assert "-S 2026-05-02T00:00:00 -E 2026-05-03T00:00:00" in missing["command"]


def test_jobs_that_cannot_be_expressed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is listed by reason with its id; jobs that run with a request ignored are separate."""
    rows = [
        row(1),
        row(2, partition="old"),
        row(3, cpus=99),
        row(4, tres=",gres/tape=1"),
        row(5, reservation="gone"),
        row(6, limit=120),
        row(7, constraints="[a*1|b*1]"),
        row(8, constraints="a&"),
        row(9, shown="9+1"),
        row(10, partition="g", cpus=2, tres=",gres/gpu=3"),
    ]
    code, found = doctor(site(tmp_path, *rows), capsys)
    reasons = {tuple(one["ids"]): (one["reason"], one["runs"]) for one in found["not_expressed"]}
    assert code == 1
    assert reasons[(2,)] == ("names partition old, which the site does not have", False)
    assert reasons[(3, 10)] == (
        "asks for more than the nodes of its partition have together",
        False,
    )
    assert reasons[(4,)] == ("asks for tape, which no node has", False)
    assert reasons[(5,)] == ("runs in reservation gone, which is not in the folder", False)
    assert reasons[(6,)] == ("has a time limit beyond that of its partition", False)
    assert reasons[(7,)] == ("asks for features or nodes that its partition does not have", False)
    assert reasons[(8,)] == ("has a feature expression that cannot be read", False)
    assert len(reasons) == 7
    assert {part["what"]: part["jobs"] for part in found["not_modelled"]} == {
        "heterogeneous job": 1,
        "--constraint with counts of nodes in several ways": 1,
    }  # fmt: skip


def test_when_no_job_can_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(site(tmp_path, row(1, partition="old")), capsys)
    assert code == 2 and found["problem"].startswith("no job of the log can run")


def test_what_is_ignored_is_a_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site(tmp_path) / "qos.txt").write_text("Name|Priority|MinTRES\nnormal|1|cpu=2\n")
    code, found = doctor(tmp_path, capsys)
    assert (code, [one["what"] for one in found["not_modelled"]]) == (1, ["QOS mintres"])
    assert run(["doctor", str(tmp_path)]) == 1
    assert "QOS mintres" in capsys.readouterr().out


def test_a_broken_folder_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site(tmp_path) / "jobs.psv").write_text(f"{HEAD}\n1|1|p\n")
    code, found = doctor(tmp_path, capsys)
    assert code == 2 and "line 2" in found["problem"]
    code, found = doctor(tmp_path / "nowhere", capsys)
    assert code == 2 and "is no folder" in found["problem"]


@pytest.mark.parametrize(
    ("name", "jobs", "changes"), [("A", 150, 0), ("F", 150, 2), ("J", 220, 0), ("N", None, 0)]
)
def test_recordings(
    name: str, jobs: int | None, changes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every job that a real Slurm ran can be expressed; F's drain and maintenance are found."""
    code, found = doctor(recording_path(name), capsys)
    assert code in (0, 1) and found["not_expressed"] == []
    assert jobs is None or found["counts"]["jobs"] == jobs
    assert len(found["machine_changes"]) == changes


def test_a_flurry_has_its_users_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    week = 7 * 86400
    quiet = [row(1 + w * week + k) for w in range(5) for k in range(10)]
    burst = [row(2 * week + 1000 + k).replace("|eva|", "|bob|") for k in range(40)]
    _, found = doctor(site(tmp_path, *quiet, *burst), capsys)
    assert [(one["user"], one["jobs"]) for one in found["flurries"]] == [("bob", 40)]
