"""Jobs that change on a pool equal a slow walk through the specification, job by job."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hst

import shadowtime as st
from conftest import examples
from naive import changing as naive
from shadowtime.schedule.check import check

PROCS = 8
SPEEDS = {1000: 1.0, 700: 0.5, 400: 0.3}
TABLE = "1:1 2:1.75 4:2.5"


@st.resize
def equipartition(now, jobs, free):  # type: ignore[no-untyped-def]
    """Equal shares; whoever came first gets what is left over."""
    left = free.level[0, 0]
    count = 0
    for i in range(len(jobs.size)):
        jobs.size[i] = 0
        if jobs.least[i] <= left:
            jobs.size[i] = jobs.least[i]
            left -= jobs.least[i]
            count += 1
    for i in range(len(jobs.size)):
        if jobs.size[i] > 0:
            more = min(left // count, jobs.most[i] - jobs.size[i])
            jobs.size[i] += more
            left -= more
            count -= 1


@st.resize(speeds=SPEEDS)
def unsteady(now, jobs, free):  # type: ignore[no-untyped-def]
    """Sizes, stops and speeds by numbers that look random."""
    left = free.level[0, 0]
    for i in range(len(jobs.size)):
        draw = (now * 7 + jobs.submit[i] * 13 + jobs.procs[i] * 5 + i) % 11
        wanted = min(jobs.most[i], max(jobs.least[i], draw - 2))
        jobs.size[i] = 0
        if (draw != 0 or i == 0) and jobs.least[i] <= left:
            jobs.size[i] = min(wanted, left)
            left -= jobs.size[i]
            jobs.speed[i] = 1000 - 300 * (draw % 3)


@st.speed(speeds=SPEEDS)
def by_queue(now, jobs, i):  # type: ignore[no-untyped-def]
    """Slower the shorter the queue is."""
    return max(400, 1000 - 300 * max(0, 3 - len(jobs.procs)))


def naive_equipartition(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    left, size = PROCS, {}
    for job in jobs:
        size[job.id] = job.least if job.least <= left else 0
        left -= size[job.id]
    there = [job for job in jobs if size[job.id]]
    for k, job in enumerate(there):
        more = min(left // (len(there) - k), job.most - job.least)
        size[job.id] += more
        left -= more
    return {job.id: (size[job.id], 1000) for job in jobs}


def naive_unsteady(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    left, found = PROCS, {}
    for i, job in enumerate(jobs):
        draw = (now * 7 + job.submit * 13 + job.procs * 5 + i) % 11
        found[job.id] = (0, 1000)
        if (draw or i == 0) and job.least <= left:
            size = min(min(job.most, max(job.least, draw - 2)), left)
            found[job.id] = (size, 1000 - 300 * (draw % 3))
            left -= size
    return found


def naive_paced(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """EASY: the first that does not fit gets the earliest start, and nobody delays it."""
    speed = max(400, 1000 - 300 * max(0, 3 - len(jobs)))
    plans: list[tuple[int, int, int]] = []

    def fits(procs: int, start: int, end: int) -> bool:
        times = [start, *(plan[0] for plan in plans if start < plan[0] < end)]
        used = [sum(p for a, b, p in plans if a <= t < b) for t in times]
        return max(used) + procs <= PROCS

    found = {job.id: (job.size, speed) for job in jobs}
    plans += [(now, now + job.seconds_at(now, job.size, speed), job.size)
              for job in jobs if job.size]  # fmt: skip
    blocked = False
    for job in jobs:
        if job.size:
            continue
        seconds = job.seconds_at(now, job.procs, speed)
        if fits(job.procs, now, now + seconds):
            found[job.id] = (job.procs, speed)
            plans.append((now, now + seconds, job.procs))
        elif not blocked:
            blocked = True
            ends = sorted(end for _, end, _ in plans)
            start = next(t for t in ends if fits(job.procs, t, t + seconds))
            plans.append((start, start + seconds, job.procs))
    return found


@hst.composite
def logs(draw: hst.DrawFn) -> list[dict[str, Any]]:
    """A few jobs of all kinds."""
    jobs: list[dict[str, Any]] = []
    submit = 0
    for number in range(draw(hst.integers(1, 9))):
        submit += draw(hst.integers(0, 20))
        procs = draw(hst.integers(1, PROCS))
        kind = draw(hst.sampled_from(["rigid", "linear", "serial", "downey", "table"]))
        job: dict[str, Any] = {
            "id": number + 1, "submit": submit, "procs": procs, "run": draw(hst.integers(1, 60)),
            "kind": kind, "least": procs, "most": procs,
            "cost": draw(hst.sampled_from([0, 0, 1, 4])),
            "checkpoint": draw(hst.sampled_from([0, 0, 1, 7])),
            "beta": draw(hst.sampled_from([0.0, 0.5, 1.0])),
            "serial": draw(hst.sampled_from([0.0, 0.1, 0.5, 1.0])),
            "parallelism": draw(hst.sampled_from([1.0, 2.5, 6.0])),
            "sigma": draw(hst.sampled_from([0.0, 0.5, 1.0, 2.0])),
        }  # fmt: skip
        job["request"] = max(1, job["run"] + draw(hst.integers(-5, 30)))
        if kind != "rigid":
            job["least"] = draw(hst.integers(1, procs))
            job["most"] = draw(hst.integers(procs, PROCS))
        jobs.append(job)
    return jobs


def workload_of(jobs: list[dict[str, Any]]) -> st.Workload:
    def column(name: str, *kinds: str, otherwise: float = -1.0) -> Any:
        return np.array([job[name] if job["kind"] in kinds else otherwise for job in jobs])

    curved = ("linear", "serial", "downey", "table")
    extra = {
        "serial": column("serial", "serial"),
        "parallelism": column("parallelism", "downey"),
        "sigma": column("sigma", "downey"),
        "speedup": np.array([0 if job["kind"] == "table" else -1 for job in jobs]),
        "min_procs": column("least", *curved),
        "max_procs": column("most", *curved),
        "resize_cost": np.array([job["cost"] for job in jobs]),
        "checkpoint": np.array([job["checkpoint"] for job in jobs]),
        "beta": np.array([job["beta"] for job in jobs]),
        "power": np.array([100 * job["procs"] for job in jobs]),
    }
    columns = {name: [job[name] for job in jobs] for name in ("submit", "run", "request", "procs")}
    made = st.Workload.build(**columns, extra=extra)
    return made.replace(names={**made.names, "speedup": (TABLE,)})


def naive_of(jobs: list[dict[str, Any]]) -> list[naive.Job]:
    points = {1: Fraction(1), 2: Fraction(7, 4), 4: Fraction(5, 2)}

    def curve(job: dict[str, Any]) -> Any:
        return {
            "serial": naive.amdahl(job["serial"]),
            "downey": naive.downey(job["parallelism"], job["sigma"]),
            "table": naive.table(points),
        }.get(job["kind"], naive.amdahl(0.0))

    names = ("id", "submit", "run", "procs", "request", "least", "most")
    more = ("cost", "checkpoint", "beta")
    cut = [job | {"run": min(job["run"], job["request"])} for job in jobs]  # at its limit
    return [
        naive.Job(**{name: job[name] for name in names + more}, speedup=curve(job)) for job in cut
    ]


@pytest.mark.parametrize(
    ("part", "decide"),
    [
        (equipartition, naive_equipartition),
        (unsteady, naive_unsteady),
        (by_queue, naive_paced),
    ],
    ids=["equipartition", "unsteady", "paced"],
)
def test_equals_naive(part: Any, decide: naive.Decide) -> None:
    """Starts, ends and every piece, and the proofs of check hold."""

    @given(logs())
    @settings(max_examples=examples(150), deadline=None)
    def equal(jobs: list[dict[str, Any]]) -> None:
        workload, walked = workload_of(jobs), naive_of(jobs)
        naive.follow(walked, PROCS, decide)
        cluster = st.Cluster.pool(PROCS)
        made = st.simulate(workload, cluster, st.easy(backfill=part)).schedule
        assert made.start.tolist() == [job.start for job in walked]
        assert made.end.tolist() == [job.end for job in walked]
        assert made.kills.tolist() == [job.stops for job in walked]
        a = made.attempts
        if a.procs is not None:
            assert a.speed is not None and a.work is not None
            columns = (a.job_id, a.start, a.end, a.killed, a.procs, a.speed, a.work)
            found = sorted(zip(*(column.tolist() for column in columns), strict=True))
            mine = {row[0] for row in found}
            assert found == sorted(
                (job.id, *piece) for job in walked for piece in job.pieces if job.id in mine
            )
        for job in walked:  # who has no pieces never changed
            if a.procs is None or job.id not in a.job_id:
                assert all(piece[2:5] == (0, job.procs, 1000) for piece in job.pieces)
        report = check(made, workload, cluster)
        assert report.ok, report.first_violation

    equal()
