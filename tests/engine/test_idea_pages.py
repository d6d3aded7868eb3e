"""The policies on the pages of ideas equal a few lines of plain Python, job by job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hst

from conftest import examples, written_on
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

PROCS = 4
Job = dict[str, int]


def easy(jobs: list[Job], key: Callable[[int, Job], Any]) -> list[int]:
    """EASY with an order of its own: the first that does not fit is not delayed by the others."""
    start: dict[int, int] = {}
    times = {job["submit"] for job in jobs}
    while times:
        now = min(times)
        times.discard(now)
        running = [j for j in jobs if j["id"] in start and start[j["id"]] + j["run"] > now]
        free = PROCS - sum(job["procs"] for job in running)
        here = [j for j in jobs if j["submit"] <= now and j["id"] not in start]
        line = sorted(here, key=lambda job: (key(now, job), job["submit"], job["id"]))
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
            if job["procs"] > free:
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
