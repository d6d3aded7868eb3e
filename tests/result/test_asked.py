"""Requests, names and the log's clock survive a result folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import recording_path
from shadowtime.errors import InputError
from shadowtime.result.inputs import JOBS, NAMES, read_jobs, write_jobs
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests


def made_up() -> Workload:
    """Jobs that ask for something of every kind, on a clock that began before the first of them."""
    asked = Requests.of_jobs(
        [
            Request(nodes=2, max_nodes=4, tasks=8, memory=4 << 20, partitions=("a", "b")),
            Request(
                gres=(Gres(name="gpu:a100", count=2, per="job"),),
                features="[x*1&y*1]",
                amounts=(("license/matlab", 2),),
                qos="high",
                account="phys",
                exclusive=True,
                wanted=("n1", "n2"),
                excluded=("n3",),
                reservation="r",
                memory=0,
            ),
            Request(cpus_per_task=3, memory=7, memory_per="cpu", contiguous=True, cpus_per_gpu=2),
        ],
        dependencies=[
            Dependency(job=2, kind="afterok", on=(11, 12), any_of=True),
            Dependency(job=2, kind="afterany", on=(11,), any_of=True),
        ],
        begin=[-1, 90, 0],
        cancel_at=[-1, -1, 70],
        nice=[-5, 0, 5],
        array=[-1, 12, -1],
        task=[-1, 3, -1],
        throttle=[0, 2, 0],
        requeue=[1, 0, 1],
    )
    return Workload.build(
        submit=[40, 50, 60],
        run=[5, 6, 7],
        procs=[8, 1, 3],
        job_id=[11, 12, 13],
        user=[1, 2, 1],
        group=[1, -1, 1],
        names={"user": ("", "eva", "bob"), "group": ("", "chem"), "node_list": ("", "n[1-2]")},
        requests=asked,
        epoch=1_700_000_000,
        lost_runs={12: ((0, 3), (4, 5))},
        extra={"node_list": np.array([1, 0, 1])},
    )


def assert_same(kept: Workload, w: Workload) -> None:
    assert kept.requests is not None and w.requests is not None
    assert [kept.requests[i] for i in range(len(w))] == [w.requests[i] for i in range(len(w))]
    for name in Requests.COLUMNS:
        assert getattr(kept.requests, name).tolist() == getattr(w.requests, name).tolist(), name
    assert kept.requests.dependencies == w.requests.dependencies
    assert kept.requests.inferred == w.requests.inferred
    assert dict(kept.names) == dict(w.names) and kept.epoch == w.epoch
    assert dict(kept.lost_runs) == dict(w.lost_runs)
    for name in ("submit", "run", "request", "user", "group", "queue", "partition"):
        assert getattr(kept, name).tolist() == getattr(w, name).tolist(), name
    assert kept.extra["node_list"].tolist() == w.extra["node_list"].tolist()


def test_everything_that_jobs_ask_for_is_kept(tmp_path: Path) -> None:
    workload = made_up()
    write_jobs(workload, tmp_path)
    assert_same(read_jobs(tmp_path), workload)


@pytest.mark.parametrize("name", ["G", "H", "I", "J", "K", "N"])
def test_recordings_are_kept(name: str, tmp_path: Path) -> None:
    _, workload = read_site(recording_path(name))
    write_jobs(workload, tmp_path)
    assert_same(read_jobs(tmp_path), workload)


def test_a_log_without_them_leaves_no_files_not_even_older_ones(tmp_path: Path) -> None:
    write_jobs(made_up(), tmp_path)
    write_jobs(Workload.build(submit=[0], run=[1], procs=[1]), tmp_path)
    assert not (tmp_path / JOBS).exists() and not (tmp_path / NAMES).exists()
    kept = read_jobs(tmp_path)
    assert kept.requests is None and not kept.names and kept.epoch is None


def test_requests_of_other_jobs_are_rejected(tmp_path: Path) -> None:
    write_jobs(made_up(), tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    write_jobs(made_up().take([0, 1]), other)
    (tmp_path / JOBS).write_bytes((other / JOBS).read_bytes())
    with pytest.raises(InputError, match=r"jobs\.csv\.gz: .*not the jobs of the trace"):
        read_jobs(tmp_path)


@pytest.mark.parametrize("text", ["[", "[1]"])
def test_broken_names_are_one_sentence(text: str, tmp_path: Path) -> None:
    write_jobs(made_up(), tmp_path)
    (tmp_path / NAMES).write_text(text)
    with pytest.raises(InputError, match=r"names\.json.*Write the folder again"):
        read_jobs(tmp_path)
