"""Tables of public data sets, by rows made after their published columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shadowtime.errors import InputError
from shadowtime.trace import read
from shadowtime.trace.formats import read_raw
from shadowtime.trace.swf import parse_swf

BEGIN = datetime(2021, 5, 4, 12, 0, 0)
EPOCH = int(BEGIN.replace(tzinfo=UTC).timestamp())


def moments(*seconds: int) -> list[datetime]:
    return [BEGIN + timedelta(seconds=one) for one in seconds]


TABLES = {
    "eagle": {
        "job_id": [7, 8], "user": ["u1", "u2"], "account": ["a", "a"], "name": ["x", "y"],
        "state": ["COMPLETED", "TIMEOUT"], "partition": ["short", "standard"],
        "qos": ["normal", "high"], "submit_time": moments(0, 10), "start_time": moments(60, 70),
        "end_time": moments(160, 3670), "run_time": [100, 3600], "wallclock_req": [600, 3600],
        "nodes_req": [1, 2], "processors_req": [36, 72], "gpus_req": [0, 0],
    },
    "pm100": {
        "job_id": [7, 8], "user_id": [5, 6], "group_id": [1, 1], "partition": [1, 2],
        "qos": [0, 1], "job_state": ["COMPLETED", "FAILED"], "submit_time": moments(0, 10),
        "start_time": moments(60, 70), "end_time": moments(160, 3670), "run_time": [100, 3600],
        "time_limit": [10, 60], "num_nodes_req": [1, 2], "num_cores_req": [36, 72],
        "num_gpus_req": [4, 8], "power_consumption": [1.5, 2.5],
    },
    "m100": {
        "job_id": [7, 8], "user_id": [5, 6], "group_id": [1, 1], "partition": [1, 2],
        "qos": [0, 1], "job_state": ["COMPLETED", "FAILED"], "submit_time": moments(0, 10),
        "start_time": moments(60, 70), "end_time": moments(160, 3670), "run_time": [100, 3600],
        "time_limit": [10, 60], "num_nodes": [1, 2], "num_cpus": [36, 72], "nodes": ["n1", "n2"],
    },
    "f-data": {
        "jid": ["7", "8"], "usr": ["u1", "u2"], "jnam": ["x", "y"], "cnumr": [36, 72],
        "nnumr": [1, 2], "adt": moments(0, 10), "sdt": moments(60, 70), "edt": moments(160, 3670),
        "duration": [99.0, 3300.0], "elpl": [600.0, 3600.0], "exit state": ["completed", "failed"],
    },
    "alcf": {
        "COBALT_JOBID": [7.0, 8.0], "USERNAME_GENID": [11, 12], "PROJECT_NAME_GENID": [1, 1],
        "QUEUE_NAME": ["default", "debug"], "QUEUED_TIMESTAMP": moments(0, 10),
        "START_TIMESTAMP": moments(60, 70), "END_TIMESTAMP": moments(160, 3670),
        "RUNTIME_SECONDS": [100.0, 3600.0], "WALLTIME_SECONDS": [600.0, 3600.0],
        "NODES_REQUESTED": [1, 2], "CORES_REQUESTED": [36, 72], "EXIT_STATUS": [0, 1],
        "MACHINE_NAME": ["theta", "theta"],
    },
    "alcf-pbs": {
        "JOB_NAME": ["7", "8"], "USERNAME_GENID": [11, 12], "PROJECT_NAME_GENID": [1, 1],
        "QUEUE_NAME": ["prod", "debug"], "QUEUED_TIMESTAMP": moments(0, 10),
        "START_TIMESTAMP": moments(60, 70), "END_TIMESTAMP": moments(160, 3670),
        "RUNTIME_SECONDS": [100.0, 3600.0], "WALLTIME_SECONDS": [600.0, 3600.0],
        "NODES_REQUESTED": [1.0, 2.0], "CORES_REQUESTED": [36.0, 72.0], "EXIT_STATUS": [0, 1],
        "MACHINE_NAME": ["polaris", "polaris"], "GPUS_REQUESTED": [4, 8],
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_known_data_sets(kind: str, ending: str, tmp_path: Path) -> None:
    """Recognised by their columns; the same jobs come out of each, whatever the units."""
    path = tmp_path / f"jobs.{ending}"
    table = TABLES[kind]
    if ending == "csv":
        rows = [
            ",".join(table),
            *(",".join(map(str, row)) for row in zip(*table.values(), strict=False)),
        ]
        path.write_text("\n".join(rows) + "\n")
    else:
        arrow = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow.table(table), path)
    raw = read_raw(path)
    assert raw["job_id"].tolist() == [7, 8] and raw.epoch == EPOCH
    assert raw["submit"].tolist() == [0, 10] and raw["wait"].tolist() == [60, 60]
    assert raw["run"].tolist() == [100, 3600] and raw["request"].tolist() == [600, 3600]
    assert raw["procs"].tolist() == [36, 72] and raw["status"].tolist() == [1, 0]
    assert [raw.requests[k].nodes for k in (0, 1)] == [1, 2]
    assert len(read(path)) == 2


def test_no_limit_is_no_request(tmp_path: Path) -> None:
    """Slurm's number and words for no limit leave the request unknown."""
    path = tmp_path / "jobs.csv"
    table = {**TABLES["pm100"], "time_limit": [4294967295, "INFINITE"]}
    rows = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n")
    assert read_raw(path)["request"].tolist() == [-1, -1]


def test_a_map_beside_a_table(tmp_path: Path) -> None:
    """TABLE.map.toml names the columns and units of any table; invalid ids are replaced."""
    path = tmp_path / "own.csv"
    path.write_text(
        "name,queued,begun,done,limit,cores\n"
        "a,2021-05-04T12:00:00,2021-05-04 12:01:00,2021-05-04 12:02:40,0:10:00,4\n"
        "b,2021-05-04T12:00:10,,,1-00:00:00,8\n"
    )
    (tmp_path / "own.csv.map.toml").write_text(
        'job_id = "name"\nsubmit = "queued"\nstart = "begun"\nend = "done"\n'
        'request = "limit"\nprocs = "cores"\n'
    )
    raw = read_raw(path)
    assert raw["job_id"].tolist() == [1, 2] and raw["run"].tolist() == [100, -1]
    assert raw["request"].tolist() == [600, 86400]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('submit = "queued"', "run or start and end"),
        ('submit = "nowhere"\nrun = "r"', "no column 'nowhere'"),
        ('submitted = "queued"', "submitted"),
        ('submit = "queued"\nrun = "r"\n[units]\nrun = "year"', "units"),
        ('submit = "r"\nrun = "queued"', "must be"),
    ],
)
def test_a_wrong_map_is_refused(text: str, says: str, tmp_path: Path) -> None:
    """The error is one sentence with the file."""
    (tmp_path / "own.csv").write_text("queued,r\n2021-05-04T12:00:00,5\n")
    (tmp_path / "own.csv.map.toml").write_text(text)
    with pytest.raises(InputError, match=says):
        read_raw(tmp_path / "own.csv")


def test_swf_with_21_columns() -> None:
    """Columns behind the 18th are counted, or read where the header names them."""
    line = b"1 0 5 9 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1 7 8 9\n"
    plain = parse_swf(b"; MaxProcs: 8\n" + line, name="x")
    assert plain["run"].tolist() == [9] and plain.counts["extra_columns_ignored"] == 1
    named = parse_swf(b"; MaxProcs: 8\n; ExtraFields: gpus power network\n" + line, name="x")
    assert [named.extra[n].tolist() for n in ("gpus", "power", "network")] == [[7], [8], [9]]
