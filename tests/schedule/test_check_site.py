"""check on a site: a schedule that breaks one rule is caught by the proof of that rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shadowtime.cluster.site import Limits, Node, Outage, Partition, Qos, Reservation, Site
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Request, Requests

SITE = Site(
    nodes=(
        Node(name="n1", amounts=(4, 8), features=frozenset({"fast"})),
        Node(name="n2", amounts=(4, 8)),
        Node(name="n3", amounts=(8, 8)),
    ),
    resources=("cpus", "memory"),
    partitions=(
        Partition(name="small", nodes=("n1", "n2"), default=True),
        Partition(name="large", nodes=("n3",), max_time=50),
    ),
    qos=(Qos(name="one", limits=Limits(user_jobs=1)),),
    reservations=(Reservation(name="class", nodes=("n3",), begin=100, end=200),),
    outages=(Outage(node="n2", begin=300, end=400),),
    amounts={"license/m": 1},
    enforce=frozenset({"limits"}),
)

REQUESTS = [
    Request(tasks=4, memory=2, memory_per="cpu"),  # 1
    Request(tasks=2, features="fast"),  # 2
    Request(tasks=1, exclusive=True),  # 3
    Request(tasks=2, partitions=("large",)),  # 4
    Request(tasks=2, partitions=("large",), reservation="class"),  # 5
    Request(tasks=1, qos="one"),  # 6
    Request(tasks=1, qos="one"),  # 7
    Request(tasks=1, amounts=(("license/m", 1),)),  # 8
    Request(tasks=1, amounts=(("license/m", 1),)),  # 9
    Request(nodes=2, max_nodes=2, tasks=2),  # 10
    Request(tasks=1),  # 11
    Request(tasks=1),  # 12
    Request(tasks=1),  # 13
    Request(tasks=1, excluded=("n1",)),  # 14
]
START = [0, 10, 20, 0, 100, 30, 40, 30, 40, 50, 60, 70, 80, 80]
PLACE = [
    "n1:4",
    "n1:2",
    "n2:4",
    "n3:2",
    "n3:2",
    "n1:1",
    "n1:1",
    "n2:1",
    "n2:1",
    "n[1-2]:1",
    "n1:1",
    "n1:1",
    "n1:1",
    "n2:1",
]


def world(**changes: Any) -> tuple[Schedule, Workload]:
    """A schedule that keeps every rule, with some columns changed."""
    n = len(REQUESTS)
    asked = Requests.of_jobs(
        REQUESTS,
        dependencies=[Dependency(job=11, kind="afterok", on=(11,))],
        begin=[-1] * 12 + [75, -1],
        cancel_at=[-1] * 13 + [90],
        array=[-1] * 12 + [5, 5],
        throttle=[0] * 12 + [2, 2],
    )
    jobs = Workload.build(
        submit=[0] * n,
        run=[10] * n,
        procs=[one.cpus for one in REQUESTS],
        user=[0] * n,
        requests=changes.pop("requests", asked),
        epoch=0,
    )
    start = np.array(changes.pop("start", START), np.int64)
    made = Schedule(
        job_id=jobs.job_id,
        submit=jobs.submit,
        start=start,
        end=start + 10,
        procs=jobs.procs,
        reason=np.zeros(n, np.int8),
        kills=np.zeros(n, np.int64),
        killed=np.zeros(n, np.int8),
        place=changes.pop("place", PLACE),
    )
    return made, jobs


def moved(job: int, start: int | None = None, place: str | None = None) -> dict[str, Any]:
    starts, places = list(START), list(PLACE)
    if start is not None:
        starts[job - 1] = start
    if place is not None:
        places[job - 1] = place
    return {"start": starts, "place": places}


def test_a_schedule_that_keeps_every_rule_is_proved() -> None:
    made, jobs = world()
    report = check(made, jobs, SITE)
    assert report.first_violation is None, report
    proved = {proof.name for proof in report.proofs if proof.verdict == "proved"}
    assert {"site-capacity", "site-limits", "site-throttles", "site-dependencies"} <= proved


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("site-capacity", moved(2, start=5)),  # 4 + 2 cpus of n1
        ("site-partitions", moved(1, place="n3:4")),
        ("site-partitions", moved(1, place="n9:4")),
        ("site-features", moved(2, place="n2:2")),
        ("site-features", moved(14, place="n1:1")),
        ("site-requests", moved(10, place="n1:2")),
        ("site-requests", moved(1, place="n1:3")),
        ("site-exclusive", moved(8, start=25)),
        ("site-reservations", moved(4, start=120)),
        ("site-reservations", moved(5, start=95)),
        ("site-outages", moved(9, start=350)),
        ("site-outages", moved(9, start=295)),
        ("site-limits", moved(7, start=35)),
        ("site-limits", moved(9, start=35)),
        ("site-dependencies", moved(12, start=65)),
        ("site-eligible", moved(13, start=72)),
        ("site-eligible", moved(14, start=90)),
        ("not-before-submit", {}),
    ],
)
def test_one_broken_rule_is_caught(rule: str, change: dict[str, Any]) -> None:
    made, jobs = world(**change)
    if rule == "not-before-submit":
        jobs = jobs.replace(submit=np.where(jobs.job_id == 14, 85, jobs.submit)).sorted()
        made = made.replace(submit=np.where(made.job_id == 14, 85, made.submit))
    report = check(made, jobs, SITE)
    assert report[rule].verdict == "violated", report


def test_memory_is_counted_per_node() -> None:
    made, jobs = world(**moved(1, place="n1:4"))
    small = SITE.replace(nodes=(Node(name="n1", amounts=(4, 7)), *SITE.nodes[1:]))
    assert check(made, jobs, small)["site-capacity"].verdict == "violated"


def test_a_throttle_is_kept() -> None:
    made, jobs = world()
    asked = Requests.of_jobs(REQUESTS, array=[-1] * 12 + [5, 5], throttle=[0] * 12 + [1, 1])
    report = check(made, jobs.replace(requests=asked), SITE)
    assert report["site-throttles"].verdict == "violated"
    assert "throttle of 1" in report["site-throttles"].detail


def test_a_longer_run_than_the_partition_allows_is_caught() -> None:
    made, jobs = world()
    long = np.where(jobs.job_id == 4, 60, jobs.request)
    report = check(made, jobs.replace(request=long), SITE)
    assert report["site-partitions"].verdict == "violated"


def test_without_places_the_rest_is_still_proved() -> None:
    made, jobs = world(**moved(12, start=65))
    report = check(made.replace(place=None), jobs, SITE)
    assert report["site-capacity"].verdict == "not proved"
    assert report["site-dependencies"].verdict == "violated"


NEAR = Site(
    nodes=tuple(Node(name=f"n{i}", amounts=(4,)) for i in range(3)),
    partitions=(
        Partition(name="tight", nodes=("n0", "n1", "n2"), qos="one"),
        Partition(name="free", nodes=("n0", "n1", "n2"), default=True),
    ),
    qos=(Qos(name="one", limits=Limits(user_jobs=1)),),
    enforce=frozenset({"limits"}),
)


def together(request: Request, places: list[str]) -> tuple[Schedule, Workload]:
    """Jobs of one request that all run from 0 to 10."""
    n = len(places)
    jobs = Workload.build(
        submit=[0] * n,
        run=[10] * n,
        procs=[request.cpus] * n,
        user=[0] * n,
        requests=Requests.of_jobs([request] * n),
    )
    zero = np.zeros(n, np.int64)
    made = Schedule(
        job_id=jobs.job_id,
        submit=jobs.submit,
        start=zero,
        end=zero + 10,
        procs=jobs.procs,
        reason=np.zeros(n, np.int8),
        kills=zero,
        killed=np.zeros(n, np.int8),
        place=places,
    )
    return made, jobs


@pytest.mark.parametrize(("place", "good"), [("n[0-1]:1", True), ("n[0,2]:1", False)])
def test_neighbours(place: str, good: bool) -> None:
    request = Request(nodes=2, max_nodes=2, tasks=2, contiguous=True)
    found = check(*together(request, [place]), NEAR)["site-requests"]
    assert (found.verdict == "proved") is good
    assert good or found.detail.endswith("asks for neighbours and ran on others")


def test_limits_of_a_partition_in_which_a_job_may_not_have_run() -> None:
    """Both jobs may have run in ``free``; with ``tight`` alone the second passes the limit."""
    either = Request(partitions=("tight", "free"))
    assert check(*together(either, ["n0:1", "n1:1"]), NEAR)["site-limits"].verdict == "proved"
    tight = Request(partitions=("tight",))
    assert check(*together(tight, ["n0:1", "n1:1"]), NEAR)["site-limits"].verdict == "violated"
