"""Compiled sums and columns equal their plain definitions, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.metrics.jobs import Jobs
from shadowtime.metrics.load import idle_though_wanted
from shadowtime.metrics.statistics import statistics, statistics_of_rows
from shadowtime.metrics.tally import tally
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.runs import runs


@pytest.mark.parametrize("n", [1, 7, 129, 5_000])
def test_columns_equal_those_of_jobs(n: int) -> None:
    """Every ratio, weight and sum; runs of 0 s and waits of 0 s too."""
    draw = np.random.default_rng(n)
    jobs = Jobs(
        wait=draw.integers(0, 90_000, n) * draw.integers(0, 2, n),
        run=draw.integers(0, 50_000, n) * draw.integers(0, 2, n),
        procs=draw.integers(1, 500, n),
    )
    found = tally(jobs)
    ratios = (
        jobs.slowdown, jobs.bounded(), jobs.bounded_per_processor(), jobs.bounded_paper()
    )  # fmt: skip
    for row, column in zip(found.ratios, ratios, strict=True):
        assert row.tobytes() == column.tobytes()
    assert found.times.tolist() == [jobs.wait.tolist(), jobs.response.tolist()]
    assert found.weights.tolist() == [jobs.procs.tolist(), jobs.area.tolist()]
    assert found.sums == (jobs.run.sum(), jobs.procs.sum(), jobs.area.sum())
    assert found.weighed == float((jobs.response * jobs.area).sum())
    assert statistics_of_rows(found.ratios) == [statistics(row) for row in found.ratios]


def idle_second_by_second(schedule: Schedule, procs: int, begin: int, end: int) -> int:
    """The definition of loss of capacity, for every second."""
    spans = [
        (int(attempt), int(until), int(row))
        for attempt, until, row in zip(
            schedule.attempts.start,
            schedule.attempts.end,
            np.searchsorted(schedule.job_id, schedule.attempts.job_id),
            strict=True,
        )
    ]
    stopped = {row for *_, row in spans}
    spans += [
        (int(schedule.start[row]), int(schedule.end[row]), row)
        for row in range(len(schedule))
        if row not in stopped
    ]
    lost = 0
    for now in range(begin, end):
        free = procs - sum(int(schedule.procs[row]) for a, b, row in spans if a <= now < b)
        for row in range(len(schedule)):
            own = [span for span in spans if span[2] == row]
            waits = schedule.submit[row] <= now < max(span[0] for span in own)
            runs_now = any(a <= now < b for a, b, _ in own)
            if waits and not runs_now and schedule.procs[row] <= free:
                lost += free
                break
    return lost


@pytest.mark.parametrize("seed", range(40))
def test_idle_capacity_second_by_second(seed: int) -> None:
    """In any order of starts, before a submission too, in runs of 0 s and with stopped jobs."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 12))
    submit = np.sort(draw.integers(5, 40, n))
    start = submit + draw.integers(-5 if seed % 2 else 0, 25, n)
    end = start + draw.integers(0, 20, n)
    attempts = Attempts.none()
    if seed % 4 == 0 and end[0] > start[0]:  # the first job is stopped once and runs again
        again = end[0] + int(draw.integers(0, 9))
        attempts = Attempts(
            job_id=np.array([1, 1]),
            start=np.array([start[0], again]),
            end=np.array([end[0], again + 6]),
            killed=np.array([1, 0], np.int8),
        )
        start[0], end[0] = again, again + 6
    ones = np.zeros(n, np.int8)
    schedule = Schedule(
        job_id=np.arange(1, n + 1), submit=submit, start=start, end=end,
        procs=draw.integers(1, 5, n), reason=ones, kills=np.zeros(n, np.int64), killed=ones,
        attempts=attempts,
    )  # fmt: skip
    for begin, stop in ((0, 90), (12, 33)):
        found = idle_though_wanted(schedule, runs(schedule), 8, begin, stop)
        assert found == idle_second_by_second(schedule, 8, begin, stop)
