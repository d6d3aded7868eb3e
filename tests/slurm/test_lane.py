"""Ordinary events without Python: the same run as when the loop carries out each of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.conftest import thorough

from shadowtime.cluster.site import Site
from shadowtime.slurm.lane import Lane
from shadowtime.slurm.outcome import SlurmRun
from shadowtime.slurm.run import run_slurm
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import bench_slurm, bench_slurm_year

JOBS = 400 if thorough() else 150


def university(version: str) -> tuple[Workload, Site, Requests]:
    """GPUs, fair-share, limits and preemption on few nodes, so that many jobs wait."""
    site = bench_slurm_year.university(version, 48)
    jobs, requests = bench_slurm_year.part_of_a_year(JOBS, site)
    return jobs, site, requests


def shared(version: str) -> tuple[Workload, Site, Requests]:
    """Nodes of three sizes, which jobs share."""
    config = {"SLURM_VERSION": version, "SelectTypeParameters": "CR_Core_Memory"}
    jobs, requests = bench_slurm.cpus_of_a_year(JOBS, 32)
    return jobs, bench_slurm.shared_site(32).replace(config=config), requests


def whole(version: str) -> tuple[Workload, Site, Requests]:
    """Interchangeable nodes; every 40th job belongs to an array, which Python looks at."""
    jobs, requests = bench_slurm.part_of_a_year(JOBS, 48)
    each = [requests[row] for row in range(len(jobs))]
    named: list[Request] = list(each)
    found = Requests.of_jobs(named)
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
    for name in (
        "start",
        "end",
        "nodes",
        "scheduler",
        "passes",
        "preemptions",
        "lost",
        "waited_for",
    ):
        assert getattr(found, name) == getattr(expected, name), name
    assert (
        {row: tuple(held) for row, held in found.holding.items()}
        == {row: tuple(held) for row, held in expected.holding.items()}
        if isinstance(found.holding, dict)
        else list(map(tuple, found.holding)) == list(map(tuple, expected.holding))
    )
