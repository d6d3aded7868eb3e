"""Whole runs under Slurm's scheduler: by hand, and against recorded mean waits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import ROOT
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.errors import UsageError
from shadowtime.slurm.run import Phase, run_slurm
from shadowtime.slurm.waits import compare_waits
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

FOLDER = Path(os.environ.get("SHADOWTIME_RECORDINGS", ROOT.parent / "shared" / "slurm-runs"))
WITHIN = {
    **dict.fromkeys(("A", "B1", "B2", "E1", "E2", "F"), 0.05),
    **dict.fromkeys(("J", "K", "O", "P1"), 0.10),
}
"""How far the mean wait over six phases may be from the recorded one."""


def small_site(**config: str) -> Site:
    """Four nodes of four cpus."""
    nodes = tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(1, 5))
    return Site(
        nodes=nodes,
        partitions=(Partition(name="batch", nodes=("n1", "n2", "n3", "n4"), default=True),),
        config=config,
    )


def whole(nodes: int) -> Request:
    """So many whole nodes."""
    return Request(nodes=nodes, max_nodes=nodes, tasks=nodes, exclusive=True)


def run_small(jobs: list[tuple[int, int, int, Request]], **config: str) -> list[int]:
    """Starts of (submit, run, limit, request)."""
    workload = Workload.build(
        submit=[one[0] for one in jobs],
        run=[one[1] for one in jobs],
        procs=[one[3].nodes * 4 for one in jobs],
        request=[one[2] for one in jobs],
    )
    requests = Requests.of_jobs([one[3] for one in jobs])
    return run_slurm(workload, small_site(**config), requests, phase=Phase(tick=0.5)).start


BACKFILL = {
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "batch_sched_delay=0,bf_interval=2,bf_resolution=1",
}


def test_a_short_job_goes_ahead() -> None:
    """Three nodes busy for long, one wants all four: a short one takes the fourth meanwhile."""
    jobs = [(0, 100, 600, whole(3)), (2, 50, 600, whole(4)), (4, 20, 60, whole(1))]
    first, second, third = run_small(jobs, **BACKFILL)
    assert first <= 2 and 4 <= third <= 8
    assert 100 <= second <= 105


def test_a_long_job_does_not_delay_the_head() -> None:
    """What would end after the head's plan waits behind it."""
    jobs = [(0, 100, 120, whole(3)), (2, 50, 600, whole(4)), (4, 20, 600, whole(1))]
    first, second, third = run_small(jobs, **BACKFILL)
    assert first <= 2 and 100 <= second <= 105 and third >= second + 49


def test_builtin_is_first_come_first_served() -> None:
    """Without backfill nobody passes the head."""
    jobs = [(0, 100, 600, whole(3)), (2, 50, 600, whole(4)), (4, 20, 60, whole(1))]
    settings = {"SchedulerType": "sched/builtin", "SchedulerParameters": "batch_sched_delay=0"}
    _, second, third = run_small(jobs, **settings)
    assert 100 <= second <= 105 and third >= second + 49


def test_multifactor_is_refused() -> None:
    """It is said that whole runs do not know it."""
    with pytest.raises(UsageError, match="priority/multifactor"):
        run_small([(0, 1, 60, whole(1))], PriorityType="priority/multifactor")


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings in {FOLDER}")
@pytest.mark.parametrize("name", WITHIN)
def test_mean_waits_from_sacct_alone(name: str) -> None:
    """The mean over six phases is near the recorded one."""
    found = compare_waits(FOLDER / name, phases=6)
    assert abs(found.factor - 1) <= WITHIN[name], (found.recorded, found.phases)
