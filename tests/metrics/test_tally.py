"""Compiled sums and columns equal their plain definitions, to the last bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shadowtime.kernel.jit import entry
from shadowtime.metrics._job_kernel import pairwise_sum, ranked_all
from shadowtime.metrics.jobs import Jobs, sum_of_products
from shadowtime.metrics.load import idle_though_wanted, in_use
from shadowtime.metrics.measure import user_fairness_of
from shadowtime.metrics.statistics import ranks_of, statistics
from shadowtime.metrics.tally import room_for_sums, tally
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.runs import Spans, runs


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
    assert found is not None
    columns = (
        jobs.wait, jobs.response, jobs.slowdown, jobs.bounded(), jobs.bounded_per_processor(),
    )  # fmt: skip
    paper = jobs.bounded_paper()
    for row, column in zip(found.table, (*columns, paper), strict=False):
        assert row.tobytes() == column.astype(np.float64).tobytes()
    assert found.statistics == [statistics(column) for column in columns]
    assert found.sums["lasted"] == jobs.run.sum()
    assert found.sums["procs"] == jobs.procs.sum()
    assert found.sums["area"] == jobs.area.sum()
    assert found.sums["waited"] == jobs.wait.sum()
    assert found.sums["responded"] == jobs.response.sum()
    assert found.paper == paper.sum()
    assert found.by_procs == sum_of_products(paper, jobs.procs)
    assert found.bounded == sum_of_products(jobs.bounded(), jobs.area)
    assert found.response == float((jobs.response * jobs.area).sum())


def test_a_sum_beyond_64_bits_is_made_of_floats() -> None:
    """Centuries on a huge machine: the sum of products exceeds 64 bits."""
    long = np.full(9, 1 << 33)
    jobs = Jobs(wait=long, run=long, procs=np.full(9, 1 << 20))
    found = tally(jobs)
    assert found is not None
    assert found.response == sum_of_products(jobs.response, jobs.area) > 2.0**63
    spans = Spans(row=np.arange(9), since=0 * long, until=long)
    assert in_use(spans, long, 5, 1 << 40) == float(9 * (1 << 33) * ((1 << 33) - 5))
    few = Spans(row=np.arange(9), since=long, until=long + 7)
    assert in_use(few, long, 0, 1 << 40) == 9 * 7 * (1 << 33)


floats = st.one_of(
    st.floats(0, 1e9), st.sampled_from([0.0, 1.0, 1.0, 2.0]), st.integers(0, 9).map(float)
)


@settings(deadline=None)  # the first one compiles
@given(st.lists(floats, min_size=1, max_size=700), st.integers(0, 3))
def test_ranks_and_sums_equal_those_of_numpy(values: list[float], kind: int) -> None:
    """Of any values in any order, and of many equal ones."""
    column = np.array(values)
    if kind == 1:
        column = np.sort(column)
    elif kind == 2:
        column = np.sort(column)[::-1].copy()
    elif kind == 3:
        column = np.floor(column) % 3
    sums, found = np.empty(1), np.empty(4)
    room = np.empty((3, len(column)))
    look(column, np.array(ranks_of(len(column))), room, found, sums, *room_for_sums())
    assert found.tolist() == np.sort(column)[ranks_of(len(column))].tolist()
    assert sums[0] == column.sum()


@entry
def look(
    values: Any, ranks: Any, room: Any, found: Any, sums: Any, sizes: Any, firsts: Any
) -> None:
    """A function that only kernels can call."""
    ranked_all(values, ranks, room[0], room[1], room[2], found)
    sums[0] = pairwise_sum(values, 0, len(values), sizes, firsts)


@pytest.mark.parametrize("n", [5_000, 70_001])
def test_long_columns_are_added_up_as_by_numpy(n: int) -> None:
    """More halvings than a short list needs."""
    draw = np.random.default_rng(n)
    column = draw.random(n) * 10.0 ** draw.integers(-3, 9, n)
    sums, found, room = np.empty(1), np.empty(4), np.empty((3, n))
    look(column, np.array(ranks_of(n)), room, found, sums, *room_for_sums())
    assert sums[0] == column.sum()
    assert found.tolist() == np.sort(column)[ranks_of(n)].tolist()


@settings(deadline=None)
@given(
    st.lists(st.tuples(floats, st.integers(-1, 6)), min_size=1, max_size=300),
    st.sampled_from([1, 7, 10**9 + 7]),
)
def test_evenness_by_its_definition(jobs: list[tuple[float, int]], apart: int) -> None:
    """Unknown users are left out; numbers may be far apart."""
    values = np.array([1.0 + value for value, _ in jobs])
    user = np.array([-1 if number < 0 else number * apart for _, number in jobs])
    means = np.array([values[user == one].mean() for one in np.unique(user[user >= 0])])
    found = user_fairness_of(values, user)
    if len(means) == 0:
        assert found == {}
        return
    jain = means.sum() ** 2 / (len(means) * (means**2).sum())
    between = np.abs(means[:, None] - means[None, :]).sum()
    gini = between / (2 * len(means) ** 2 * means.mean())
    assert found["user_bsld_jain"] == pytest.approx(jain, rel=1e-12)
    assert found["user_bsld_gini"] == pytest.approx(gini, rel=1e-9, abs=1e-12)


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


@pytest.mark.parametrize("seed", range(12))
def test_idle_capacity_between_events(seed: int) -> None:
    """Times far apart, so that sorting them takes several rounds; runs in any order."""
    draw = np.random.default_rng(seed)
    n, most = int(draw.integers(1, 120)), 10 ** int(draw.integers(2, 10))
    submit = draw.integers(0, most, n)
    start = submit + draw.integers(0, most // 9 + 1, n) * draw.integers(0, 2, n)
    end = start + draw.integers(0, most // 5 + 1, n)
    procs = draw.integers(1, 9, n)
    zeros = np.zeros(n, np.int8)
    schedule = Schedule(
        job_id=np.arange(1, n + 1), submit=submit, start=start, end=end, procs=procs,
        reason=zeros, kills=np.zeros(n, np.int64), killed=zeros,
    )  # fmt: skip
    begin, stop = most // 7, most - most // 7
    times = np.unique([*submit, *start, *end, begin, stop]).tolist()
    lost = 0
    for now, then in pairwise(times):
        free = 64 - int(procs[(start <= now) & (now < end)].sum())
        waiting = procs[(submit <= now) & (now < start)]
        if begin <= now < stop and free > 0 and (waiting <= free).any():
            lost += free * (then - now)
    assert idle_though_wanted(schedule, runs(schedule), 64, begin, stop) == lost
