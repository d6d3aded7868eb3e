"""Tables that nobody described, folders of days, tables of nodes: made after public forms."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shadowtime.cli import run
from shadowtime.cluster.site import Site
from shadowtime.cluster.spec import parse_machine
from shadowtime.errors import ClusterError, InputError
from shadowtime.study.site.doctor import examine
from shadowtime.trace import read
from shadowtime.trace.formats import read_raw
from shadowtime.trace.job_map import read_map
from shadowtime.trace.job_map_cells import span
from shadowtime.trace.job_map_guess import proposed_map

BEGIN = datetime(2022, 3, 1, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def write(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def hashed(n: int = 40) -> list[dict[str, Any]]:
    """A year of a site that hashes names, in the columns of Kestrel's published table."""
    return [
        {
            "id": f"h{k:x}", "job_id": 900 + k, "user_hash": f"u{k % 5}", "account_hash": "proj-a",
            "partition": ("short", "gpu")[k % 2], "qos": ("normal", "high")[k % 3 == 0],
            "state": "CANCELLED" if k % 10 == 9 else "COMPLETED", "submit_time": at(60 * k),
            "start_time": None if k % 10 == 9 else at(60 * k + 30),
            "end_time": at(60 * k + 30 + 600), "wallclock_req": "1-02:00:00",
            "nodes_req": 1 + k % 2, "processors_req": 36, "gpus_requested": 2 * (k % 2),
            "memory_req": "80G", "priority": 1000 + k,
        }
        for k in range(n)
    ]  # fmt: skip


def test_states_by_their_numbers(tmp_path: Path) -> None:
    """Slurm's numbers are recognised where 3 is more common than 0, which is an exit code's."""
    numbers = {"COMPLETED": 3, "CANCELLED": 4}
    rows = [one | {"state": numbers[one["state"]]} for one in hashed()]
    by_name, by_number = write(tmp_path / "a.csv", hashed()), write(tmp_path / "b.csv", rows)
    for path in (by_name, by_number):
        with pytest.raises(InputError, match="check it"):
            read(path)
    assert "state" not in read_map(f"{by_name}.map.toml").units
    assert read_map(f"{by_number}.map.toml").units["state"] == "slurm"
    assert (read(by_number).status == read(by_name).status).all()
    codes = write(tmp_path / "c.csv", [one | {"state": k % 4 // 3} for k, one in enumerate(rows)])
    with pytest.raises(InputError, match="check it"):
        read(codes)
    assert "state" not in read_map(f"{codes}.map.toml").units


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_an_unknown_table_is_answered_with_a_map(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"jobs-of-2022.{ending}"
    if ending == "parquet":
        arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow.Table.from_pylist(hashed()), path)
    else:
        write(tmp_path / "plain.csv", hashed())
        text = (tmp_path / "plain.csv").read_bytes()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    with pytest.raises(InputError, match=r"its columns are not known.*map\.toml: check it"):
        read(path)
    found = read_map(f"{path}.map.toml")
    assert found.columns == {
        "submit": "submit_time", "start": "start_time", "end": "end_time",
        "request": "wallclock_req", "procs": "processors_req", "nodes": "nodes_req",
        "gpus": "gpus_requested", "memory": "memory_req", "priority": "priority",
        "user": "user_hash", "account": "account_hash", "partition": "partition", "qos": "qos",
        "state": "state", "job_id": "job_id",
    }  # fmt: skip
    jobs = read(path, cancelled="queue-until-cancel", gpus=True, memory=True)
    asked = jobs.requests
    assert len(jobs) == 40 and asked is not None
    assert jobs.request.tolist() == [93_600] * 40 and jobs.run[0] == 600
    assert jobs.resources == ("procs", "memory", "gpus") and jobs.demand[1].tolist()[2] == 2
    assert jobs.demand[1].tolist()[1] == 80 << 20
    assert asked.priority.tolist() == list(range(1000, 1040))
    assert asked.cancel_at[9] == jobs.submit[9] + 630 and jobs.recorded_start[9] > 0
    assert jobs.name_of("user", int(jobs.user[3])) == "u3"
    assert asked[1].partitions == ("gpu",) and asked[0].qos == "high"
    assert asked[0].account == "proj-a" and asked[1].gres[0].count == 1


def test_units_are_guessed_by_name_and_content() -> None:
    """Epochs in ms, limits in minutes, sizes by their names; a unit in no name by the runs."""
    rows = [(1_646_092_800_000 + 60_000 * k, 30_000 + 600_000 * (k + 1)) for k in range(30)]
    text, lacking = proposed_map(
        {
            "QueuedTimestamp": [str(a) for a, _ in rows],
            "StartTimestamp": [str(a) for a, _ in rows],
            "FinishTimestamp": [str(a + b) for a, b in rows],
            "WallTimeLimit": [str(b // 60_000 + 10) for _, b in rows],
            "cpu_milli": ["1500"] * 30, "MemoryGB": ["4"] * 30, "mem_used": ["1"] * 30,
            "q_cores_above": ["7"] * 30,
        }
    )  # fmt: skip
    entries = [line for line in text.splitlines() if " = " in line]
    assert not lacking
    for unit in ('submit = "ms"', 'request = "min"', 'procs = "milli"', 'memory = "GB"'):
        assert unit in entries
    assert '"mem_used"' in text.splitlines()[-1] and '"q_cores_above"' in text.splitlines()[-1]


def test_a_table_without_times_says_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [{"colour": "red", "shape": "round", "cores": 4}])
    with pytest.raises(InputError, match="none of them looks like a time of submission") as caught:
        read(tmp_path / "x.csv")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="the map needs submit"):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-02:03:04", 93_784), ("02:03:04", 7_384), ("4 days 00:00:00", 345_600), ("10:30", 630),
     ("2 days, 1:00:00", 176_400), ("90.0", 90), ("0 days 00:00:05.500000", 5)],
)  # fmt: skip
def test_spans(text: str, seconds: int) -> None:
    assert span(text) == seconds


def pods(n: int = 30) -> list[dict[str, Any]]:
    return [
        {
            "name": f"openb-pod-{k:04d}", "cpu_milli": 500 if k % 3 else 11_908,
            "memory_mib": 15_258, "num_gpu": k % 3, "gpu_milli": 1000,
            "gpu_spec": "V100M16|V100M32" if k % 3 == 2 else "", "qos": ("LS", "BE")[k % 2],
            "pod_phase": "Pending" if k == 5 else "Succeeded", "creation_time": 1000 + 40 * k,
            "deletion_time": 3000 + 40 * k, "scheduled_time": "" if k == 5 else 1010 + 40 * k,
        }
        for k in range(n)
    ]  # fmt: skip


def test_pods_on_their_nodes(tmp_path: Path) -> None:
    """Milli-cpus, MiB, GPUs by model; a pod that was never scheduled; the table of nodes."""
    write(tmp_path / "pods.csv", pods())
    nodes = [
        {"sn": f"n{k}", "cpu_milli": 96_000, "memory_mib": 786_432, "gpu": 8, "model": model}
        for k, model in enumerate(("V100M16", "G2"))
    ]
    write(tmp_path / "nodes-list.csv", [*nodes, {**nodes[0], "sn": "n9", "gpu": 0, "model": ""}])
    jobs = read(tmp_path / "pods.csv")
    assert jobs.procs[:2].tolist() == [12, 1] and len(jobs) == 29 and jobs.job_id[7] == 8
    asked = jobs.requests
    assert asked is not None and asked[2].features == "V100M16|V100M32"
    assert asked[2].memory == 15_258 << 10 and asked[2].gres[0].count == 2
    site = parse_machine(str(tmp_path / "nodes-list.csv"))
    assert isinstance(site, Site) and site.resources == ("cpus", "memory", "gpu")
    assert site.nodes[0].amounts == (96, 786_432 << 10, 8)
    assert site.nodes[0].features == {"V100M16"} and site.nodes[2].amounts[2] == 0
    assert (
        run(
            [
                "simulate",
                str(tmp_path / "pods.csv"),
                "--cluster",
                str(tmp_path / "nodes-list.csv"),
                "-p",
                "easy",
                "--json",
            ]
        )
        == 0
    )


def snapshot(job: int, day: int) -> dict[str, Any]:
    text = {"sep": " ", "timespec": "seconds"}
    return {
        "": job, "job_unique_id": 7000 + job,
        "submit_time": at(3600 * job).replace(tzinfo=None).isoformat(**text),  # type: ignore[arg-type]
        "start_time": at(90_000 * (job + 1)).replace(tzinfo=None), "time_limit": "4 days 00:00:00",
        "end_time": at(90_000 * (job + 1) + 600).replace(tzinfo=None), "time_limit_sec": 345_600,
        "partition_id_x": job % 2, "account_id": 3, "req_cpus": 4, "req_mem_total": 16_000,
        "req_tres": "billing=4,cpu=4,gres/gpu=2,mem=16000M,node=1", "state": "COMPLETED",
        "eligible_time": at(3600 * job + 60 * (job == 2)).replace(tzinfo=None), "priority_x": 5,
        "priority_y": 9, "q_cores_above": day, "poll_time": at(86_400 * day).replace(tzinfo=None),
    }  # fmt: skip


def test_a_folder_of_daily_snapshots(tmp_path: Path) -> None:
    """A job that waits on several days is one job; GPUs come from the TRES list."""
    folder = tmp_path / "graham"
    folder.mkdir()
    for day, first in ((1, 0), (2, 2), (3, 4)):
        rows = [snapshot(job, day) for job in range(first, first + 5)]
        write(folder / f"jobs_2021-05-0{day}.csv", rows)
    jobs = read(folder, gpus=True)
    assert jobs.job_id.tolist() == list(range(7000, 7009)) and jobs.name == "graham"
    assert jobs.cleaning["snapshots_joined"] == 6 and jobs.request[0] == 345_600
    assert jobs.demand[0].tolist() == [4, 2] and jobs.name_of("group", int(jobs.group[0])) == "3"
    assert jobs.requests is not None
    assert jobs.requests.begin.tolist()[:3] == [-1, -1, 3600 * 2 + 60]
    write(folder / "jobs_2021-05-04.csv", [{"other": 1, "columns": 2, "here": 3}])
    with pytest.raises(InputError, match=r"jobs_2021-05-04\.csv, line 1: the table has no column"):
        read(folder)


def pbs_line(day: int, k: int) -> str:
    queued = 1_711_900_000 + day * 86_400 + k * 600
    return (
        f"04/0{day}/2024 01:00:00;E;{day}{k:03d}.host;user=eva group=hep queue=batch "
        f"qtime={queued} start={queued + 100} end={queued + 700} Resource_List.ncpus=8 "
        "Resource_List.walltime=02:00:00 Exit_status=0"
    )


@pytest.mark.parametrize("length", [15, 30, 90, 120])
def test_a_folder_of_pbs_days_with_a_cut_line(length: int, tmp_path: Path) -> None:
    """The line is counted and named, wherever it breaks off."""
    folder = tmp_path / "accounting"
    folder.mkdir()
    for day in (1, 2, 3):
        lines = [pbs_line(day, k) for k in range(20)]
        if day == 2:
            lines[7] = lines[7][:length]
        (folder / f"2024040{day}").write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="20240402, line 8: cut off, and left out"):
        jobs = read(folder)
    assert len(jobs) == 59 and jobs.cleaning["cut_lines_dropped"] == 1
    assert jobs.name_of("user", int(jobs.user[0])) == "eva"


def test_a_csv_that_ends_in_a_row(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit,run\n1,0,5\n2,3,6\n3,7")
    with pytest.warns(UserWarning, match=r"jobs\.csv, line 4: cut off"):
        assert len(read(path)) == 2
    path.write_text("job_id,submit,run\n1,0,5\n2,3\n3,7,9\n")
    with pytest.raises(InputError, match="line 3: expected 3 columns, found 2"):
        read(path)
    assert read(path, bad_lines="drop").cleaning["bad_lines_dropped"] == 1


LOG = """\
[2026-01-01T00:00:00.500] slurmctld version 24.11.5 started on cluster c
[2026-01-01T00:00:01.000] _slurm_rpc_submit_batch_job: JobId=5 InitPrio=99 usec=5
[2026-01-01T00:00:02.000] _slurm_rpc_submit_batch_job: JobId=8 InitPrio=98 usec=5
[2026-01-01T00:00:02.000] _slurm_rpc_submit_batch_job: JobId=9 InitPrio=97 usec=5
[2026-01-01T00:00:11.000] sched: Allocate JobId=5_1(6) NodeList=n[1-2] #CPUs=16 Partition=batch
[2026-01-01T00:00:12.000] sched/backfill: _start_job: Started JobId=8 in batch on n3
[2026-01-01T00:00:20.000] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9 uid 0
[2026-01-01T00:01:11.000] _job_complete: JobId=5_1(6) WEXITSTATUS 0
[2026-01-01T00:01:11.000] _job_complete: JobId=5_1(6) done
[2026-01-01T00:01:12.000] _job_complete: JobId=8 WEXITSTATUS 1
[2026-01-01T00:01:12.000] _job_complete: JobId=8 done
[2026-01-01T00:02:00.000] _job_complete: JobId=2 done
"""


def test_the_log_of_slurmctld_alone(tmp_path: Path) -> None:
    path = tmp_path / "slurmctld.log"
    path.write_text(LOG)
    raw = read_raw(path, tz="Europe/Zurich")
    assert raw["job_id"].tolist() == [8, 9, 6] and raw["wait"].tolist() == [10, 18, 10]
    assert raw["run"].tolist() == [60, -1, 60] and raw["status"].tolist() == [0, 5, 1]
    assert raw["procs"].tolist() == [8, 8, 16] and raw.counts["procs_of_others"] == 2
    assert raw.epoch == int(datetime(2025, 12, 31, 23, 0, 1, tzinfo=UTC).timestamp())
    assert raw.requests is not None and raw.requests[0].partitions == ("batch",)
    (tmp_path / "other.log").write_text(LOG.splitlines()[0] + "\n")
    with pytest.raises(InputError, match="no job is submitted and ends in this log"):
        read(tmp_path / "other.log")


def test_names_reach_the_result_folder_and_its_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GPUs, priorities, accounts, partitions, QOS and users by name, from the table to the page."""
    path = write(tmp_path / "jobs-of-2022.csv", hashed(120))
    (tmp_path / "jobs-of-2022.csv.map.toml").write_text(
        'submit = "submit_time"\nstart = "start_time"\nend = "end_time"\njob_id = "job_id"\n'
        'request = "wallclock_req"\nprocs = "processors_req"\nnodes = "nodes_req"\n'
        'gpus = "gpus_requested"\npriority = "priority"\nuser = "user_hash"\nstate = "state"\n'
        'account = "account_hash"\npartition = "partition"\nqos = "qos"\n'
    )
    out = tmp_path / "out"
    assert (
        run(
            [
                "compare",
                str(path),
                "--cluster",
                "pool:360,gpus=16",
                "-p",
                "easy",
                "-p",
                "fcfs",
                "-o",
                str(out),
            ]
        )
        == 0
    )
    table = gzip.decompress((out / "inputs" / "jobs.csv.gz").read_bytes()).decode()
    first = next(csv.DictReader(table.splitlines()[:1] + table.splitlines()[2:3]))
    assert (first["user"], first["account"], first["partition"], first["qos"]) == (
        "u1", "proj-a", "gpu", "normal",
    )  # fmt: skip
    assert first["gres"] == "gpu:1/node" and first["priority"] == "1001"
    names = json.loads((out / "inputs" / "names.json").read_text())["names"]
    assert "proj-a" in names["group"] and "gpu" in names["partition"]
    assert run(["report", str(out)]) == 0
    page = (out / "report.html").read_text()
    for name in ("proj-a", "u1", "gpu", "high"):
        assert name in page
    capsys.readouterr()
    assert run(["explain", str(out), "901"]) == 0
    assert "user u1 (account proj-a, QOS normal)" in " ".join(capsys.readouterr().out.split())


def test_tables_of_nodes_and_partitions_make_a_site(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet

    for name, table in {
        "nodes": {"node": ["x1", "x2"], "cpus": [72, 72], "memory_gb": [200, 200],
                  "gpus": [4, 0], "partition": ["gpu", "short"]},
        "partitions": {"partition": ["gpu", "short"], "nodes": ["x1", "x2"],
                       "max_walltime_h": [48, 48]},
    }.items():  # fmt: skip
        pyarrow.parquet.write_table(arrow.table(table), tmp_path / f"{name}.parquet")
    ours = [
        {"job_id": k, "submit": k, "run": 60, "request": 90, "procs": 36, "partition": "gpu",
         "gres": "gpu:1/node", "user": "eva", "account": "phys"}
        for k in range(1, 9)
    ]  # fmt: skip
    write(tmp_path / "jobs.csv", ours)
    found = examine(tmp_path, today=BEGIN.date())
    assert found["counts"]["nodes"] == 2 and found["counts"]["partitions"] == 2
    assert not found["not_expressed"] and found["verdict"] == "gaps"


@pytest.mark.parametrize(
    ("text", "says"),
    [("a,b\n1,2\n", "no table of nodes"), ("node,cpus\nx1,many\n", "line 2: cpus must be a number"),
     ("node,cpus\n", "no row")],
)  # fmt: skip
def test_a_wrong_table_of_nodes_is_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(text)
    with pytest.raises(ClusterError, match=says) as caught:
        parse_machine(str(tmp_path / "n.csv"))
    assert "\n" not in str(caught.value)
