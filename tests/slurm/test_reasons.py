"""What jobs wait for under Slurm's scheduler, in the words of squeue and sacct."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from shadowtime.cluster.site import Association, Limits, Node, Qos, Site
from shadowtime.metrics.where import Where
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import Repeats
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

FOLDER = Path(os.environ.get("SHADOWTIME_RECORDINGS", ROOT.parent / "shared" / "slurm-runs"))
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings in {FOLDER}")


def waited_for(
    limits: Limits, *, of: str = "qos", request: Request | None = None, **more: object
) -> dict[int, str]:
    """Two jobs of one user on two nodes of four cpus, with limits on their QOS or account."""
    asked = request or Request(qos="normal", account="phys", tasks=4)
    site = Site(
        nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,))),
        qos=(Qos(name="normal", limits=limits if of == "qos" else Limits()),),
        associations=(
            Association(account="root"),
            Association(
                account="phys", parent="root", limits=limits if of == "assoc" else Limits()
            ),
            Association(account="phys", user="ann"),
        ),
        enforce=frozenset({"limits"}),
        **more,  # type: ignore[arg-type]
    )
    jobs = Workload.build(
        submit=[0, 1],
        run=[60, 60],
        procs=[4, 4],
        user=[1, 1],
        names={"user": ("", "ann")},
        requests=Requests.of_jobs([asked, asked]),
    )
    found = SlurmPolicy().simulate(jobs, site)
    assert found.start[1] >= 60 and found.waited_for is not None
    return dict(found.waited_for)


@pytest.mark.parametrize(
    ("limits", "of", "reason"),
    [
        (Limits(user_jobs=1), "qos", "QOSMaxJobsPerUserLimit"),
        (Limits(account_jobs=1), "qos", "MaxJobsPerAccount"),
        (Limits(group_jobs=1), "qos", "QOSGrpJobsLimit"),
        (Limits(group_resources={"cpus": 4}), "qos", "QOSGrpCpuLimit"),
        (Limits(user_resources={"nodes": 1}), "qos", "QOSMaxNodePerUserLimit"),
        (Limits(group_jobs=1), "assoc", "AssocGrpJobsLimit"),
        (Limits(group_resources={"cpus": 7}), "assoc", "AssocGrpCpuLimit"),
    ],
)
def test_the_limit_that_held_a_job_back_is_named(limits: Limits, of: str, reason: str) -> None:
    assert waited_for(limits, of=of) == {2: reason}


def test_licences_are_named() -> None:
    asked = Request(tasks=1, amounts=(("license/matlab", 1),))
    assert waited_for(Limits(), request=asked, amounts={"license/matlab": 1}) == {2: "Licenses"}


def test_tasks_of_a_throttled_array_wait_for_each_other() -> None:
    site = Site(nodes=(Node(name="a", amounts=(4,)),))
    requests = replace(
        Requests.of_jobs([Request(), Request()], array=[5, 5], task=[1, 2]),
        throttle=[1, 1],  # type: ignore[arg-type]
    )
    jobs = Workload.build(submit=[0, 0], run=[60, 60], procs=[1, 1], requests=requests)
    assert SlurmPolicy().simulate(jobs, site).waited_for == {2: "JobArrayTaskLimit"}


@recorded
def test_reasons_are_near_those_of_sacct_and_follow_a_slice() -> None:
    """E2's limits: as many jobs met each as in sacct; --where counts only the selected jobs."""
    site, jobs = read_site(FOLDER / "E2")
    found = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=3))
    rows = {row.reason: (row.recorded, row.simulated) for row in found.reasons}
    assert set(rows) == {"QOSMaxJobsPerUserLimit", "QOSGrpCpuLimit"}
    for count, simulated in rows.values():
        assert simulated is not None and abs(simulated - count) <= 0.25 * count
    few = Where.parse("qos=few")
    part = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=2), where=few)
    assert {row.reason for row in part.reasons} == {"QOSMaxJobsPerUserLimit"}


@recorded
def test_requeued_jobs_wait_for_their_begin_time() -> None:
    """Preempted jobs of G carry BeginTime, which the simulation gives itself, not the log."""
    site, jobs = read_site(FOLDER / "G")
    found = replay_site(jobs, site, SlurmPolicy(), repeats=Repeats(phases=3))
    rows = {row.reason: (row.recorded, row.simulated) for row in found.reasons}
    count, simulated = rows["BeginTime"]
    assert simulated is not None and simulated > 0 and abs(simulated - count) <= 0.35 * count
