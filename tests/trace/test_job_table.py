"""The table of jobs: columns for all that a job can request, written and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import recording_path
from shadowtime.errors import InputError, UsageError
from shadowtime.trace import read
from shadowtime.trace.job_table_files import write_jobs
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests


def same(one: Workload, other: Workload) -> None:
    for name in ("job_id", "submit", "run", "request", "recorded_start"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.epoch == other.epoch
    first, second = one.requests, other.requests
    assert first is not None and second is not None
    for row in range(len(one)):
        assert first[row] == second[row]
        assert one.name_of("user", int(one.user[row])) == other.name_of(
            "user", int(other.user[row])
        )
    for name in Requests.COLUMNS:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert first.dependencies == second.dependencies


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["H", "I2", "J", "K", "N"])
def test_recordings_there_and_back(name: str, ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    _, workload = read_site(recording_path(name), release="asked")
    write_jobs(workload, tmp_path / f"jobs.{ending}")
    again = read(tmp_path / f"jobs.{ending}", cancelled="queue-until-cancel")
    same(again, workload)


def test_every_column_there_and_back(tmp_path: Path) -> None:
    asked = Request(
        nodes=2, max_nodes=4, tasks=8, cpus_per_task=2, tasks_per_node=4, memory=1024,
        memory_per="cpu", gres=(Gres(name="gpu:a100", count=2, per="job"),), cpus_per_gpu=3,
        features="[a*2&b]", exclusive=True, contiguous=True, partitions=("p", "q"), qos="high",
        account="phys", reservation="r", wanted=("n1", "n2"), excluded=("n9",),
        amounts=(("license/matlab", 2),),
    )  # fmt: skip
    requests = Requests.of_jobs(
        [asked, Request()], begin=[50, -1], array=[7, -1], task=[3, -1], throttle=[2, 0],
        nice=[-5, 0], priority=[9, -1], least_time=[60, -1], requeue=[0, 1],
        dependencies=[Dependency(job=0, kind="afterok", on=(2, 3), any_of=True),
                      Dependency(job=0, kind="singleton", any_of=True)],
    )  # fmt: skip
    workload = Workload.build(
        submit=[0, 5], run=[9, 9], procs=[16, 1], requests=requests, user=[1, 1],
        group=[1, -1], queue=[1, -1], names={"user": ("", "eva"), "group": ("", "phys"),
                                             "queue": ("", "high")},
    )  # fmt: skip
    write_jobs(workload, tmp_path / "jobs.csv")
    same(read(tmp_path / "jobs.csv"), workload)


def test_three_columns_suffice(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job_id,submit,run\n1,0,5\n2,3,6\n")
    workload = read(tmp_path / "jobs.csv")
    assert workload.procs.tolist() == [1, 1] and workload.epoch is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job_id,submit,run,node\n1,0,5,2\n", "line 1: there is no column 'node'. Is it nodes?"),
        ("job_id,submit,run,nodes\n1,0,5,two\n", "line 2: nodes must be a whole number"),
        ("job_id,submit,run,nodes\n1,0,5,0\n", "line 2: nodes must be at least 1"),
        ("job_id,submit,run\n1,,5\n", "line 2: submit is missing"),
        ("job_id,submit,run\n1,0\n", "line 2: expected 3 columns, found 2"),
        ("job_id,submit,run,run\n1,0,5,5\n", "named twice"),
        ("job_id,submit,run,gres\n1,0,5,gpu\n", "gres must be like gpu:a100:2/node"),
        ("job_id,submit,run,exclusive\n1,0,5,maybe\n", "exclusive must be yes or no"),
        ("job_id,submit,run,licences\n1,0,5,a:b\n", "licences must be like matlab:1"),
    ],
)
def test_bad_tables_are_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "jobs.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "jobs.csv")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_columns_of_other_names_are_kept(tmp_path: Path) -> None:
    """Numbers, fractions and texts; deadlines move to the log's clock; there and back."""
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,submit,run,procs,deadline,weight,team\n"
        "1,1600000000,5,1,1600000900,0.5,red\n"
        "2,1600000010,5,1,,2,blue\n"
        "3,1600000020,5,1,1600000500,,red\n"
    )
    jobs = read(path)
    assert jobs.extra["deadline"].tolist() == [900, -1, 500]
    assert jobs.extra["weight"].tolist() == [0.5, 2.0, -1.0]
    team = jobs.extra["team"].tolist()
    assert [jobs.name_of("team", one) for one in team] == ["red", "blue", "red"]
    write_jobs(jobs, tmp_path / "again.csv")
    again = read(tmp_path / "again.csv")
    for name in ("deadline", "weight"):
        assert again.extra[name].tolist() == jobs.extra[name].tolist(), name
    assert [again.name_of("team", one) for one in again.extra["team"].tolist()] == [
        "red", "blue", "red",
    ]  # fmt: skip


def test_other_endings_are_rejected(tmp_path: Path) -> None:
    jobs = Workload.build(submit=[0], run=[1], procs=[1])
    with pytest.raises(UsageError, match=r"ends in \.csv or \.parquet"):
        write_jobs(jobs, tmp_path / "jobs.xls")
    (tmp_path / "jobs.parquet").write_bytes(b"nothing")
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "jobs.parquet")
