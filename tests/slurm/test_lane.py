"""Ordinary events without Python: the same run as when the loop carries out each of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import thorough
from shadowtime.cluster.site import Site
from shadowtime.slurm.lane import Lane
from shadowtime.slurm.outcome import SlurmRun
from shadowtime.slurm.run import run_slurm
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests
from slurm.test_resumed import Killed, Reports, columns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import bench_slurm, bench_slurm_year

JOBS = 400 if thorough() else 150


def university(version: str) -> tuple[Workload, Site, Requests]:
    """GPUs, fair-share, limits and preemption on few nodes, so that many jobs wait."""
    site = bench_slurm_year.university(version, 48)
    jobs, requests = bench_slurm_year.part_of_a_year(JOBS, site)
    return jobs, site, requests


def shared(version: str) -> tuple[Workload, Site, Requests]:
    """Nodes of three sizes, which jobs share; every 30th job is cancelled."""
    config = {"SLURM_VERSION": version, "SelectTypeParameters": "CR_Core_Memory"}
    jobs, requests = bench_slurm.cpus_of_a_year(JOBS, 32)
    requests.cancel_at[::30] = jobs.submit[::30] + 900
    return jobs, bench_slurm.shared_site(32).replace(config=config), requests


def whole(version: str) -> tuple[Workload, Site, Requests]:
    """Interchangeable nodes; every 40th job belongs to an array, which Python looks at."""
    jobs, requests = bench_slurm.part_of_a_year(JOBS, 48)
    each = [requests[row] for row in range(len(jobs))]
    found = Requests.of_jobs(each)
    found.array[::40], found.task[::40] = 7, range(len(found.array[::40]))
    return jobs, bench_slurm.plain_site(48).replace(config={"SLURM_VERSION": version}), found


def run_without(
    world: tuple[Workload, Site, Requests], monkeypatch: pytest.MonkeyPatch
) -> SlurmRun:
    """Every event by the loop."""
    with monkeypatch.context() as patch:
        patch.setattr(Lane, "_is_usual", lambda lane: False)
        return run_slurm(*world)


@pytest.mark.parametrize("version", ["22.05.8", "24.11.5", "26.05.5"])
@pytest.mark.parametrize("make", [university, shared, whole])
def test_runs_are_the_same(make: object, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make(version)  # type: ignore[operator]
    expected = run_without(world, monkeypatch)
    used = []
    load = Lane.load
    monkeypatch.setattr(Lane, "load", lambda lane: (used.append(lane), load(lane))[1])
    found = run_slurm(*world)
    assert used, "the tables were never in use"
    mine, others = columns(found), columns(expected)
    for name, column in mine.items():
        assert column == others[name], name


def test_a_run_in_tables_continues_from_its_checkpoint(tmp_path: Path) -> None:
    world = university("24.11.5")
    counts = Reports()
    whole = columns(run_slurm(*world, watch=replace(counts.watch(None), stride=40)))
    assert whole == columns(run_slurm(*world))
    file = tmp_path / "key.checkpoint"
    for save_at in (counts.count // 3, counts.count // 3 + 5):
        with pytest.raises(Killed):
            killed = Reports(save_at, later=3).watch(file)
            run_slurm(*world, watch=replace(killed, stride=40))
    assert columns(run_slurm(*world, watch=replace(Reports().watch(file), stride=40))) == whole
