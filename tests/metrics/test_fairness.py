"""Fair starts, reservation violations and the pyss filter, by hand and against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from metrics import slow_twins
from schedule.tiny_worlds import World, greedy, preemptive, state, worlds
from shadowtime.cluster import Cluster, Host
from shadowtime.errors import UsageError
from shadowtime.metrics import (
    delayed_by,
    fair_starts,
    fairness,
    pyss_filter,
    reservation_violations,
)
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.types import Reason
from shadowtime.workload import Workload


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_fair_starts_by_hand() -> None:
    """Job 3 is blocked at 2 behind jobs 1 and 2 and delayed by job 4, backfilled then.

        4 |111111 . 3333      1: 2 procs, 0-6    2 (later than 3 in order? no: 2): 1 proc, 0-9
        2 |222222222 3333     4: 1 proc, 2-12, backfilled at 2
        1 |..444444444433     3: 4 procs, from 12
           0 2   6  9  12
    Without job 4 it would have started at 9: FST2 = FST = 9.
    """
    w = Workload.build(submit=[0, 0, 2, 2], run=[6, 9, 5, 10], procs=[2, 1, 4, 1])
    s = Schedule.recorded(w.replace(recorded_start=ints(0, 0, 12, 2))).replace(
        reason=np.array([1, 1, 2, 3], np.int8), blocked_at=ints(-1, -1, 2, -1)
    )
    found = fair_starts(s, w, Cluster.pool(4))
    assert (found.row.tolist(), found.fst2.tolist(), found.fst.tolist()) == ([2], [9], [9])
    assert fairness(s, w, Cluster.pool(4)) == {
        "blocked": 1,
        "fst2_delayed": 1,
        "fst2_delay_mean_s": 3.0,
        "fst2_delay_max_s": 3,
        "fst_delayed": 1,
        "fst_delay_mean_s": 3.0,
        "fst_delay_max_s": 3,
    }


def test_strict_fairness_ignores_later_jobs_already_there() -> None:
    """A later job that ran before the head was blocked counts for FST2, not for FST.

    2 |22  .111     job 1 (2 procs) is blocked at 0 by job 0, then by job 2, started at 0
    1 |0222 111     b = 1: the head changes only then
    """
    w = Workload.build(submit=[0, 0, 0], run=[1, 3, 4], procs=[1, 2, 1])
    s = Schedule.recorded(w.replace(recorded_start=ints(0, 4, 0))).replace(
        reason=np.array([1, 2, 3], np.int8), blocked_at=ints(-1, 1, -1)
    )
    found = fair_starts(s, w, Cluster.pool(2))
    assert (found.fst2.tolist(), found.fst.tolist()) == ([4], [1])
    assert (found.delay2.tolist(), found.delay.tolist()) == ([0], [3])


@given(worlds(), st.sampled_from([greedy, preemptive]))
@settings(max_examples=examples(150), deadline=None)
def test_fair_starts_equal_their_twin(world: World, scheduler: object) -> None:
    """Second by second from the block on, for every blocked job."""
    schedule, w = scheduler(world), world.workload  # type: ignore[operator]
    found = fair_starts(schedule, w, world.cluster)
    assert found.row.tolist() == [k for k in range(len(w)) if schedule.blocked_at[k] >= 0]
    for row, fst2, fst in zip(found.row, found.fst2, found.fst, strict=True):
        total = world.cluster.procs
        assert fst2 == slow_twins.fair_start(schedule, w, total, int(row), strict=False)
        assert fst == slow_twins.fair_start(schedule, w, total, int(row), strict=True)


@given(worlds())
@settings(max_examples=examples(100), deadline=None)
def test_the_culprits_are_those_without_whom_the_job_had_started(world: World) -> None:
    """Every delayed job has some; with their processors free it fits at its fair start."""
    schedule, w = greedy(world), world.workload
    fair = fair_starts(schedule, w, world.cluster)
    pairs = delayed_by(schedule, w, world.cluster)
    assert set(pairs.delayed.tolist()) == set(fair.row[fair.delay > 0].tolist())
    for job in sorted(set(pairs.delayed.tolist())):
        mine = pairs.delayed == job
        (moment,) = set(pairs.fair_start[mine].tolist())
        running, _ = state(schedule, moment)
        assert pairs.by[mine].tolist() == [row for row in running if row > job]
        held = sum(int(w.procs[row]) for row in running if row < job)
        assert held + w.procs[job] <= world.cluster.procs


@given(worlds())
@settings(max_examples=examples(100), deadline=None)
def test_preemption_delays_no_job_beyond_the_fair_start(world: World) -> None:
    """Strict fairness in numbers: no blocked job starts after its FST."""
    schedule = preemptive(world)
    assert fairness(schedule, world.workload, world.cluster)["fst_delayed"] == 0


@given(worlds(), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_violations_equal_their_twin(world: World, data: st.DataObject) -> None:
    """Random promises and predictions on greedy schedules: the same jobs as the culprit rule."""
    w = world.workload
    n = len(w)
    schedule = data.draw(st.sampled_from([greedy, preemptive]))(world)
    early = np.array(data.draw(st.lists(st.integers(-2, 8), min_size=n, max_size=n)), np.int64)
    promised = np.where(schedule.blocked_at >= 0, schedule.blocked_at + 1 + np.abs(early), -1)
    schedule = schedule.replace(promised=promised)
    prediction = data.draw(st.lists(st.integers(1, 14), min_size=n, max_size=n))
    found = reservation_violations(
        schedule, w, world.cluster, prediction=np.array(prediction, np.int64)
    )
    total = world.cluster.procs
    expected = [k for k in range(n) if slow_twins.violated(schedule, w, total, k, prediction)]
    assert found.row.tolist() == expected
    summary = found.summary()
    assert summary["violations"] == len(expected)
    if expected:
        late = [int(schedule.start[k] - promised[k]) for k in expected]
        run = [max(int(schedule.end[k] - schedule.start[k]), 10) for k in expected]
        increments = [a / b for a, b in zip(late, run, strict=True)]
        assert summary["violation_delay_mean_s"] == pytest.approx(sum(late) / len(late))
        assert summary["violation_delay_max_s"] == max(late)
        assert summary["violation_si_mean"] == pytest.approx(sum(increments) / len(increments))
        assert summary["violation_si_max"] == pytest.approx(max(increments))
        procs = [int(w.procs[k]) for k in expected]
        assert summary["violation_procs_mean"] == pytest.approx(sum(procs) / len(procs))


def test_figure_1_of_the_paper() -> None:
    """(b) a job ahead outlives its prediction: benign. (c) a backfilled one does: a violation."""
    w = Workload.build(submit=[0, 0], run=[6, 4], procs=[4, 4])
    benign = Schedule.recorded(w.replace(recorded_start=ints(0, 6))).replace(
        blocked_at=ints(-1, 0), promised=ints(-1, 3)
    )
    pool = Cluster.pool(4)
    assert reservation_violations(benign, w, pool, prediction=ints(3, 4)).summary() == {
        "violations": 0
    }
    w = Workload.build(submit=[0, 0, 0], run=[3, 4, 6], procs=[3, 4, 1])
    serious = Schedule.recorded(w.replace(recorded_start=ints(0, 6, 0))).replace(
        blocked_at=ints(-1, 0, -1), promised=ints(-1, 3, -1)
    )
    assert reservation_violations(serious, w, pool, prediction=ints(3, 4, 3)).row.tolist() == [1]
    # Had job 3 been predicted to run longer, it would have been allowed beside the promise.
    assert reservation_violations(serious, w, pool, prediction=ints(3, 4, 4)).row.tolist() == []


def test_whoever_starts_at_the_promised_moment_is_no_excuse() -> None:
    """Job 4 is backfilled exactly at the promise, into the hole that job 3's outliving left."""
    w = Workload.build(submit=[0, 0, 0, 3], run=[3, 4, 6, 3], procs=[3, 4, 1, 3])
    s = Schedule.recorded(w.replace(recorded_start=ints(0, 6, 0, 3))).replace(
        blocked_at=ints(-1, 0, -1, -1), promised=ints(-1, 3, -1, -1)
    )
    pool = Cluster.pool(4)
    assert reservation_violations(s, w, pool, prediction=ints(3, 4, 3, 3)).row.tolist() == [1]
    report = check(s, w, pool, claims=["no-reservation-violation"])
    assert report["no-reservation-violation"].verdict == "violated"


def test_what_fairness_needs() -> None:
    """Columns that are missing and machines it is not defined on are refused by name."""
    w = Workload.build(submit=[0], run=[1], procs=[1], recorded_start=[0])
    bare = Schedule.recorded(w)
    with pytest.raises(UsageError, match="blocked_at"):
        fair_starts(bare, w, Cluster.pool(1))
    with pytest.raises(UsageError, match="promised and blocked_at"):
        reservation_violations(bare, w, Cluster.pool(1), prediction=ints(1))
    hosts = Cluster(shape="hosts", hosts=(Host("a", (1,)), Host("b", (1,))))
    unknown = bare.replace(blocked_at=ints(-1), promised=ints(-1))
    with pytest.raises(UsageError, match="pool"):
        fair_starts(unknown, w, hosts)
    with pytest.raises(UsageError, match="pool"):
        reservation_violations(unknown, w, hosts, prediction=ints(1))


def slow_pyss(schedule: Schedule, workload: Workload) -> list[bool]:
    """The rule, one event at a time."""
    n = len(workload)
    size = sum(int(start >= 0) for start in schedule.start)
    order = sorted(
        (k for k in range(n) if schedule.start[k] >= 0),
        key=lambda k: (schedule.end[k], workload.submit[k], workload.job_id[k]),
    )
    kept = [False] * n
    for counter, k in enumerate(order, start=1):
        if workload.procs[k] == 1 and workload.request[k] == 1:
            size -= 1
            continue
        if counter <= size // 100:
            continue
        if schedule.end[k] > max(workload.submit):
            break
        kept[k] = True
    return kept


@given(st.integers(0, 10**6), st.integers(0, 350))
@settings(max_examples=examples(60), deadline=None)
def test_the_pyss_filter_equals_its_walk(seed: int, n: int) -> None:
    """Enough jobs for the first per cent to matter, with tiny ones among them."""
    rng = np.random.default_rng(seed)
    w = Workload.build(
        submit=np.sort(rng.integers(0, 500, n)),
        run=rng.integers(1, 20, n),
        procs=rng.integers(1, 3, n),
        request=rng.integers(1, 4, n),
        recorded_start=np.full(n, -1),
    )
    start = np.where(rng.random(n) < 0.95, w.submit + rng.integers(0, 50, n), -1)
    schedule = Schedule.recorded(w.replace(recorded_start=start))
    assert pyss_filter(schedule, w).tolist() == slow_pyss(schedule, w)


def test_the_pyss_filter_by_hand() -> None:
    """200 jobs of one second each: two skipped at first, none ending after the last submission."""
    w = Workload.build(submit=list(range(200)), run=[1] * 200, procs=[2] * 200)
    schedule = Schedule.recorded(w.replace(recorded_start=w.submit)).replace(
        reason=np.full(200, Reason.HEAD, np.int8)
    )
    kept = np.flatnonzero(pyss_filter(schedule, w))
    assert (int(kept[0]), int(kept[-1]), len(kept)) == (2, 198, 197)
