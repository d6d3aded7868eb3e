"""The policies on the pages of ideas equal a few lines of plain Python, job by job."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hst

from conftest import examples, written_on
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.estimates import predicted_seconds
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.follows import ENDED, follow_table
from shadowtime.workload.series import Series

PROCS = 4
Job = dict[str, int]


def easy(
    jobs: list[Job],
    key: Callable[[int, Job], Any],
    *,
    begin_of: Callable[[int, Job], int] = lambda now, job: now,
    safe: Callable[[int, Job, int], bool] = lambda now, job, shadow: True,
    parents: dict[int, list[int]] | None = None,
) -> list[int]:
    """EASY with an order of its own: the first that does not fit is not delayed by the others.

    Jobs enter the queue at their begin, overtake if that is safe, and come after their parents.
    """
    start: dict[int, int] = {}
    came: dict[int, int] = {}
    begins: dict[int, int] = {}
    ahead, run = parents or {}, {job["id"]: job["run"] for job in jobs}
    times = {job["submit"] for job in jobs}
    while times:
        now = min(times)
        times.discard(now)
        for job in jobs:
            own = ahead.get(job["id"], [])
            ended = all(one in start and start[one] + run[one] <= now for one in own)
            if job["id"] not in came and (ended if own else job["submit"] <= now):
                came[job["id"]], begins[job["id"]] = now, max(now, begin_of(now, job))
                times.add(begins[job["id"]])
        times.discard(now)
        running = [j for j in jobs if j["id"] in start and start[j["id"]] + j["run"] > now]
        free = PROCS - sum(job["procs"] for job in running)
        here = [j for j in jobs if begins.get(j["id"], now + 1) <= now and j["id"] not in start]
        line = sorted(here, key=lambda job: (key(now, job), came[job["id"]], job["id"]))
        ends = sorted((start[j["id"]] + j["request"], j["procs"]) for j in running)

        def begin(job: Job, now: int = now, ends: list[tuple[int, int]] = ends) -> None:
            start[job["id"]] = now
            times.add(now + job["run"])
            ends.append((now + job["request"], job["procs"]))

        while line and line[0]["procs"] <= free:
            free -= line[0]["procs"]
            begin(line.pop(0))
        if not line:
            continue
        there, shadow = free, now
        for end, procs in sorted(ends):
            if there < line[0]["procs"]:
                there, shadow = there + procs, end
        # All that ends at that instant is there too.
        there = free + sum(procs for end, procs in ends if end <= shadow)
        spare = there - line[0]["procs"]
        for job in line[1:]:
            if job["procs"] > free or not safe(now, job, shadow):
                continue
            if now + job["request"] > shadow:
                if job["procs"] > spare:
                    continue
                spare -= job["procs"]
            free -= job["procs"]
            begin(job)
    return [start[job["id"]] for job in jobs]


@hst.composite
def logs(draw: hst.DrawFn) -> list[Job]:
    """A few jobs with deadlines, some of them hopeless."""
    count = draw(hst.integers(1, 12))
    number = draw(hst.lists(hst.integers(0, 9), min_size=5 * count, max_size=5 * count))
    jobs = []
    submit = 0
    for at in range(count):
        a, b, c, d, e = number[5 * at : 5 * at + 5]
        submit += a % 4
        request = 1 + b
        jobs.append({
            "id": at + 1, "submit": submit, "request": request, "run": 1 + c % request,
            "procs": 1 + d % PROCS, "deadline": submit + 3 * e,
        })  # fmt: skip
    return jobs


@pytest.mark.parametrize("name", ["edf", "without_admission"])
def test_edf(name: str, tmp_path: Path) -> None:
    """Jobs that are lost already come last; without admission the deadline alone counts."""
    path = written_on("deadlines.md", "edf.py", tmp_path)
    policy = parse_policy(f"{path}:{name}")

    def key(now: int, job: Job) -> tuple[bool, int]:
        return name == "edf" and now + job["request"] > job["deadline"], job["deadline"]

    @given(logs())
    @settings(max_examples=examples(100), deadline=None)
    def equal(jobs: list[Job]) -> None:
        columns = {
            name: [job[name] for job in jobs] for name in ("submit", "run", "request", "procs")
        }
        due = {"deadline": np.array([job["deadline"] for job in jobs])}
        workload = Workload.build(**columns, extra=due)
        made = simulate(workload, Cluster.pool(PROCS), policy)
        assert made.start.tolist() == easy(jobs, key)

    equal()


def plain(jobs: list[Job], **more: Any) -> Workload:
    names = ("submit", "run", "request", "procs")
    return Workload.build(**{name: [job[name] for job in jobs] for name in names}, **more)


def test_carbon_shifting(tmp_path: Path) -> None:
    """The begin with the least carbon over the estimate, the earliest of equal ones."""
    path = written_on("carbon-shifting.md", "green.py", tmp_path)
    policy = parse_policy(f"{path}:greenest(step=2, steps=3)")

    @given(logs(), hst.lists(hst.integers(0, 5), min_size=12, max_size=12))
    @settings(max_examples=examples(60), deadline=None)
    def equal(jobs: list[Job], value: list[int]) -> None:
        def begin(now: int, job: Job) -> int:
            def mean(at: int) -> float:
                return sum(value[t % 12] for t in range(at, at + job["request"])) / job["request"]

            return min(range(now, now + 7, 2), key=lambda at: (mean(at), at))

        carbon = Series(name="carbon", time=np.arange(12), value=np.array(value, float), period=12)
        made = simulate(plain(jobs, series={"carbon": carbon}), Cluster.pool(PROCS), policy)
        assert made.start.tolist() == easy(jobs, lambda now, job: 0, begin_of=begin)

    equal()


def test_quantile_backfilling(tmp_path: Path) -> None:
    """Jobs that overtake end before the reservation by their quantile too."""
    path = written_on("quantile-backfilling.md", "quantile.py", tmp_path)
    policy = parse_policy(f"easy(backfill={path}:safe)")
    part = policy.backfill.columns[0][1]

    @given(logs())
    @settings(max_examples=examples(60), deadline=None)
    def equal(jobs: list[Job]) -> None:
        workload = plain(jobs, user=[job["id"] % 2 for job in jobs])
        likely = predicted_seconds(part, workload)[0].tolist()
        made = simulate(workload, Cluster.pool(PROCS), policy)
        assert made.start.tolist() == easy(
            jobs,
            lambda now, job: 0,
            safe=lambda now, job, shadow: now + likely[job["id"] - 1] <= shadow,
        )

    equal()


def test_inspector(tmp_path: Path) -> None:
    """What is wide, or stays long beyond the reservation, does not overtake."""
    path = written_on("inspector.md", "inspector.py", tmp_path)
    weights = "width=0.5, late=1800.0, bound=1.5"
    policy = parse_policy(f"easy(backfill={path}:inspected({weights}))")

    def safe(now: int, job: Job, shadow: int) -> bool:
        return 0.5 * log2(job["procs"]) + max(0, now + job["request"] - shadow) / 2 <= 1.5

    @given(logs())
    @settings(max_examples=examples(60), deadline=None)
    def equal(jobs: list[Job]) -> None:
        made = simulate(plain(jobs), Cluster.pool(PROCS), policy)
        assert made.start.tolist() == easy(jobs, lambda now, job: 0, safe=safe)

    equal()


@pytest.mark.parametrize("name", ["upward_rank", "by_workflow"])
def test_workflow_order(name: str, tmp_path: Path) -> None:
    """The longest path of requests first, within the workflow or of all."""
    path = written_on("workflow-order.md", "heft.py", tmp_path)
    policy = parse_policy(f"{path}:{name}")

    @given(logs(), hst.lists(hst.integers(0, 9), min_size=24, max_size=24))
    @settings(max_examples=examples(60), deadline=None)
    def equal(jobs: list[Job], draw: list[int]) -> None:
        parents = {
            job["id"]: sorted({draw[2 * at + k] for k in (0, 1)} & set(range(1, job["id"])))
            for at, job in enumerate(jobs)
        }
        follows = [(job, other, 0, ENDED) for job, all_ in parents.items() for other in all_]
        flow = {job["id"]: 1 + job["id"] % 2 for job in jobs}

        def rank(job: int) -> int:
            behind = [rank(one) for one, own in parents.items() if job in own]
            return jobs[job - 1]["request"] + max(behind, default=0)

        def key(now: int, job: Job) -> tuple[int, int]:
            return flow[job["id"]] * (name == "by_workflow"), -rank(job["id"])

        extra = {"workflow": np.array([flow[job["id"]] for job in jobs])}
        workload = plain(jobs, extra=extra, follows=follow_table(follows or [(1, 99, 0, ENDED)]))
        made = simulate(workload, Cluster.pool(PROCS), policy)
        assert made.start.tolist() == easy(jobs, key, parents=parents)

    equal()
