"""Why not earlier: the limit, reservation, outage, dependency, time or job in a job's way."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from shadowtime.cluster.site import Limits, Node, Outage, Partition, Qos, Reservation, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.report import explain
from shadowtime.report.obstacle_words import way_lines
from shadowtime.schedule import Schedule
from shadowtime.slurm.standing import standing
from shadowtime.study.obstacle import Obstacle
from shadowtime.study.obstacles import obstacles
from shadowtime.trace.site_folder import read_site
from shadowtime.types import UNKNOWN
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests

FOLDER = Path(os.environ.get("SHADOWTIME_RECORDINGS", ROOT.parent / "shared" / "slurm-runs"))
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings in {FOLDER}")
WHOLE = Request(nodes=1, max_nodes=1, tasks=1, exclusive=True)


def small(**changes: Any) -> Site:
    """Two nodes of four cpus, 8 KB of memory and a GPU."""
    nodes = tuple(Node(name=name, amounts=(4, 8, 1)) for name in ("a", "b"))
    return Site(nodes=nodes, resources=("cpus", "memory", "gpu"), **changes)


def way(
    site: Site, asked: list[Request], *, policy: str = "easy", of: int = -1, **columns: Any
) -> list[tuple[str, str, int, int, tuple[int, ...]]]:
    """What the last job waits for, interval by interval; jobs of 100 s arrive a second apart."""
    count = len(asked)
    more = {name: columns.pop(name) for name in ("dependencies",) if name in columns}
    jobs = Workload.build(
        submit=list(range(count)),
        run=[100] * count,
        procs=[one.cpus for one in asked],
        user=[1] * count,
        epoch=0,
        names={"user": ("", "ann")},
        requests=Requests.of_jobs(asked, **more, **columns),
    )
    made = simulate(jobs, site, parse_policy(policy))  # type: ignore[arg-type]
    row = of % count
    found = obstacles(jobs, site, made, row)
    assert all(one.until == after.since for one, after in pairwise(found))
    if found and made.start[row] >= 0:
        assert found[0].since == jobs.submit[row] and found[-1].until == made.start[row]
    return [(one.kind, one.name, one.since, one.until, one.jobs) for one in found]


def test_the_jobs_on_its_nodes_and_what_is_short() -> None:
    """Whole nodes, cpus, memory and GPUs; those whose end lets it start come first."""
    assert way(small(), [WHOLE] * 3) == [("room", "nodes", 2, 100, (1, 2))]
    assert way(small(), [Request(tasks=8), Request()]) == [("room", "cpus", 1, 100, (1,))]
    heavy = Request(memory=8)
    assert way(small(), [heavy] * 3) == [("room", "memory", 2, 100, (1, 2))]
    gpu = Request(gres=(Gres(name="gpu", count=1),))
    assert way(small(), [gpu] * 3) == [("room", "gpu", 2, 100, (1, 2))]


def test_a_job_with_room_at_once_has_nothing_in_its_way() -> None:
    assert way(small(), [Request(), Request()]) == []


def test_those_ahead_where_it_would_have_fitted() -> None:
    """First come, first served: the third would fit beside the first but is behind the second."""
    asked = [Request(tasks=6), Request(tasks=8), Request()]
    assert way(small(), asked, policy="fcfs") == [
        ("order", "", 2, 100, (2,)),
        ("room", "cpus", 100, 200, (2,)),
    ]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(user_jobs=1), "QOSMaxJobsPerUserLimit"),
        (Limits(group_resources={"cpus": 1}), "QOSGrpCpuLimit"),
        (Limits(account_resources={"memory": 4}), "MaxMemoryPerAccount"),
        (Limits(group_run_minutes={"cpus": 2}), "QOSGrpCPURunMinutesLimit"),
        (Limits(group_wall=150), "QOSGrpWallLimit"),
    ],
)
def test_the_limit(limits: Limits, name: str) -> None:
    site = small(qos=(Qos(name="q", limits=limits),), enforce=frozenset({"limits"}))
    found = way(site, [Request(qos="q", memory=4)] * 2)
    assert found[0][:3] == ("limit", name, 1) and found[0][4] == (1,)


def test_the_reservation_that_it_would_meet_and_the_nodes_that_are_out() -> None:
    both = Reservation(name="service", nodes=("a", "b"), begin=50, end=130)
    assert way(small(reservations=(both,)), [Request()]) == [("reservation", "service", 0, 130, ())]
    out = Outage(node="a", begin=0, end=70, drain=True)
    asked = [Request(wanted=("a",))]
    assert way(small(outages=(out,)), asked) == [("outage", "a", 0, 70, ())]


def test_begin_times_dependencies_throttles_and_licences() -> None:
    assert way(small(), [Request()], begin=[40]) == [("begin", "", 0, 40, ())]
    found = way(small(), [Request()] * 2, dependencies=[Dependency(job=1, kind="afterok", on=(1,))])
    assert found == [("dependency", "afterok", 1, 100, (1,))]
    found = way(small(), [Request()] * 2, array=[7, 7], task=[1, 2], throttle=[1, 1])
    assert found == [("throttle", "", 1, 100, (1,))]
    asked = [Request(amounts=(("license/matlab", 1),))] * 2
    found = way(small(amounts={"license/matlab": 1}), asked)
    assert found == [("licence", "matlab", 1, 100, (1,))]


def test_of_several_partitions_the_closest_counts() -> None:
    """A job that may run in either waits for room in the one, not for the limit of the other."""
    site = small(
        partitions=(
            Partition(name="one", nodes=("a",), qos="none", default=True),
            Partition(name="two", nodes=("b",)),
        ),
        qos=(Qos(name="none", limits=Limits(group_jobs=0)),),
        enforce=frozenset({"limits"}),
    )
    busy = replace(WHOLE, partitions=("two",))
    assert way(site, [busy, replace(WHOLE, partitions=("one", "two"))]) == [
        ("room", "nodes", 1, 100, (1,))
    ]


def test_sentences_name_limits_users_and_tasks_of_arrays() -> None:
    site = small(qos=(Qos(name="q", limits=Limits(user_jobs=1)),), enforce=frozenset({"limits"}))
    jobs = Workload.build(
        submit=[0, 1],
        run=[100, 100],
        procs=[1, 1],
        user=[1, 1],
        names={"user": ("", "ann")},
        requests=Requests.of_jobs([Request(qos="q")] * 2, array=[5, 5], task=[1, 2]),
    )
    made = simulate(jobs, site, parse_policy("easy"))  # type: ignore[arg-type]
    text = str(explain(jobs, made, 2, cluster=site))
    assert "Job 5_2 of user ann" in text
    assert "QOSMaxJobsPerUserLimit: QOS q, user ann may run 1 at once; at the end 5_1 ran." in text


@recorded
@pytest.mark.parametrize("name", ["E2", "F", "H", "I", "J", "K", "N"])
def test_a_policy_that_starts_whatever_fits_leaves_nothing_unexplained(name: str) -> None:
    """Under greedy every second of every wait has an obstacle other than jobs ahead."""
    site, jobs = read_site(FOLDER / name)
    made = simulate(jobs, site, parse_policy("greedy"))  # type: ignore[arg-type]
    for row in range(0, len(jobs), 3):
        for one in obstacles(jobs, site, made, row):
            assert one.kind != "order", (int(jobs.job_id[row]), one)


@recorded
def test_limits_in_the_way_agree_with_what_slurm_met() -> None:
    """E2 under slurm: a job that met a limit in a pass has one in its way, and mostly the same."""
    site, jobs = read_site(FOLDER / "E2")
    made = simulate(jobs, site, parse_policy("slurm"))  # type: ignore[arg-type]
    assert made.waited_for
    ids = jobs.job_id.tolist()
    same = 0
    for job, reason in made.waited_for.items():
        found = obstacles(jobs, site, made, ids.index(job))
        same += reason in {one.name for one in found}
    assert same >= 0.9 * len(made.waited_for)


@recorded
def test_priorities_are_near_those_that_slurm_recorded() -> None:
    """N: the factors at the recorded starts add up to what sacct has, in the median."""
    site, jobs = read_site(FOLDER / "N")
    made = Schedule.recorded(jobs)
    assert jobs.requests is not None
    off = []
    for row in range(0, len(jobs), 4):
        expected, when = int(jobs.requests.priority[row]), int(made.start[row])
        if expected <= 0 or when == UNKNOWN:
            continue
        found = standing(jobs, site, made, row, when)
        assert found is not None and set(found.parts) >= {"age", "fair-share", "QOS"}
        off.append(abs(found.priority - expected) / expected)
    assert len(off) > 20 and float(np.median(off)) < 0.05


@recorded
@pytest.mark.parametrize(("name", "bound"), [("D1", 0.001), ("D2", 0.06), ("N", 0.001)])
def test_priorities_are_near_those_that_sprio_showed(name: str, bound: float) -> None:
    """As of the last tick, Fair Tree exactly; in the classic formula usage itself counts, and
    whether a tick charges a job that ends in the same second cannot be read from a log."""
    site, jobs = read_site(FOLDER / name)
    made = Schedule.recorded(jobs)
    place = {int(job): row for row, job in enumerate(jobs.job_id)}
    assert jobs.epoch is not None
    off = []
    head, *lines = (FOLDER / name / "sprio_samples.psv").read_text().splitlines()
    names = [one for one in head.split("|") if one != "Account"]  # which has no column
    for line in lines[::60]:
        fields = dict(zip(names, line.split("|"), strict=True))
        when, expected = int(float(fields["t"])), int(fields["Priority"])
        found = standing(jobs, site, made, place[int(fields["JobId"])], when - jobs.epoch)
        assert found is not None
        off.append(abs(found.priority - expected) / expected)
    assert len(off) > 20 and float(np.median(off)) < bound


def test_limits_on_minutes_are_printed_in_minutes() -> None:
    """GrpTRESMins and GrpTRESRunMins are set in minutes, so their amounts are printed in them."""
    used = Obstacle(
        kind="limit", name="QOSGrpCPUMinutesLimit", who="QOS cap", since=0, until=60,
        bound=13_200, used=14_796,
    )  # fmt: skip
    ahead = replace(used, name="AssocGrpCPURunMinutesLimit", used=12_000, asked=1_800)
    [line, other] = way_lines([used, ahead], str, str)
    assert "QOS cap may use 220 minutes in total, 246 were used." in line
    assert (
        "running jobs of QOS cap may have 220 minutes left in total, 200 were left and it" in other
    )
