"""Every metric by hand once, and against its slow twin on random worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples
from metrics import slow_twins
from schedule.tiny_worlds import World, fcfs, greedy, preemptive, worlds
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.nodes.run_tables import law_for
from shadowtime.errors import UsageError
from shadowtime.metrics import REGISTRY, Window, loss_of_capacity, lost_work, measure, utilisation
from shadowtime.policy import parse_policy
from shadowtime.schedule import Attempts, Schedule
from shadowtime.types import Reason
from shadowtime.workload import Workload


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def hand() -> tuple[Schedule, Workload, Cluster]:
    """Four processors; job 2 was backfilled, preempted at 20 by job 3 and ran again from 50 on.

    4 |1111 333333 222 .
    2 |2222.333333 222 .
       0   20     50   80 90
    """
    w = Workload.build(
        submit=[0, 0, 10, 80],
        run=[20, 30, 30, 5],
        procs=[2, 2, 4, 1],
        request=[20, 30, 25, 5],
        user=[1, 1, 2, -1],
    ).replace(limit=ints(20, 30, 30, 4))
    s = Schedule(
        job_id=w.job_id,
        submit=w.submit,
        start=ints(0, 50, 20, 80),
        end=ints(20, 80, 50, 84),
        procs=w.procs,
        reason=np.array([1, 2, 4, 1], np.int8),
        kills=ints(0, 1, 0, 0),
        killed=np.array([0, 0, 0, 1], np.int8),
        blocked_at=ints(-1, 20, 10, -1),
        promised=ints(-1, 40, 20, -1),
        attempts=Attempts(
            job_id=ints(2, 2), start=ints(0, 50), end=ints(20, 80), killed=np.array([1, 0], np.int8)
        ),
    )
    return s, w, Cluster.pool(4)


def test_every_metric_by_hand(hand: tuple[Schedule, Workload, Cluster]) -> None:
    """Waits 0, 50, 10, 0; runs 20, 30, 30, 4; processors 2, 2, 4, 1."""
    got = measure(*hand)
    paper = [1.0, 80 / 30, 40 / 30, 1.0]
    area = [40, 60, 120, 4]
    response = [20, 80, 40, 4]
    per_processor = [1.0, 80 / 60, 1.0, 1.0]
    users = [(1.0 + 80 / 30) / 2, 40 / 30]
    expected = {
        "jobs": 4,
        "unknown_start": 0,
        "unstarted": 0,
        "wait_mean_s": 15.0,
        "wait_median_s": 0.0,
        "wait_p95_s": 50.0,
        "wait_p99_s": 50.0,
        "wait_max_s": 50.0,
        "response_mean_s": 36.0,
        "response_median_s": 20.0,
        "response_p95_s": 80.0,
        "response_p99_s": 80.0,
        "response_max_s": 80.0,
        "slowdown_mean": (1 + 80 / 30 + 40 / 30 + 1) / 4,
        "slowdown_median": 1.0,
        "slowdown_p95": 80 / 30,
        "slowdown_p99": 80 / 30,
        "slowdown_max": 80 / 30,
        "bsld_mean": (1 + 80 / 30 + 40 / 30 + 1) / 4,
        "bsld_median": 1.0,
        "bsld_p95": 80 / 30,
        "bsld_p99": 80 / 30,
        "bsld_max": 80 / 30,
        "ppbsld_mean": sum(per_processor) / 4,
        "ppbsld_median": 1.0,
        "ppbsld_p95": 80 / 60,
        "ppbsld_p99": 80 / 60,
        "ppbsld_max": 80 / 60,
        "mbs": sum(paper) / 4,
        "mwbs": (2 * paper[0] + 2 * paper[1] + 4 * paper[2] + paper[3]) / 9,
        "awrt_s": sum(a * r for a, r in zip(area, response, strict=True)) / 224,
        "awbsld": sum(a * b for a, b in zip(area, paper, strict=True)) / 224,
        "expansion": 144 / 84,
        "user_bsld_jain": sum(users) ** 2 / (2 * sum(u * u for u in users)),
        "user_bsld_gini": abs(users[0] - users[1]) / (2 * sum(users)),
        # From 0 to 80: 4 processors for 50 s (20 of them job 2's lost run), then 2 for 30 s.
        "utilisation": 260 / 320,
        "goodput": 220 / 320,
        "lost_work": 40 / 320,
        "loss_of_capacity": 0.0,
        "makespan_s": 84,
        "offered_load": 224 / 320,
        "total_load": 264 / 336,
        "wasted_load": 40 / 336,
        "killed": 1,
        "backfilled": 0,
        "blocked": 2,
        "promises": 2,
        "promises_missed": 1,
        "preempted_jobs": 1,
        "preempted_share": 0.25,
        "kills": 1,
        "mkt": 1.0,
        "rtw_mean": 20 / 30,
    }
    assert got == pytest.approx(expected)


def test_every_metric_is_described() -> None:
    """Each name that measure gives has a unit, a direction and a definition."""
    for name, metric in REGISTRY.items():
        assert metric.name == name and metric.label and metric.definition
        assert metric.better in ("lower", "higher", "neither")
        assert (metric.unit == "s") == name.endswith("_s")


def test_the_two_bounded_slowdowns_differ_for_short_runs_only() -> None:
    """wait 12, run 3: max(1, 15/10) against (12 + 10)/10."""
    w = Workload.build(submit=[0], run=[3], procs=[1], recorded_start=[12])
    got = measure(Schedule.recorded(w), w, Cluster.pool(1))
    assert (got["bsld_mean"], got["mbs"], got["slowdown_mean"]) == (1.5, 2.2, 5.0)


def check_against_twins(schedule: Schedule, world: World, window: Window) -> None:
    w, c = world.workload, world.cluster
    rows = np.flatnonzero(window.mask(w.submit)).tolist()
    got = measure(schedule, w, c, window=window)
    begin, end = window.bounds(w.submit)
    last = int(schedule.end.max())
    expected: dict[str, float] = {"jobs": len(rows), "unknown_start": 0}
    expected |= slow_twins.per_job(schedule, rows) | slow_twins.users(schedule, w, rows)
    expected |= slow_twins.whole_run(schedule, w, c)
    lost_end = end if window.closes_early else last
    end = end if end > begin else last
    if begin < min(end, lost_end):
        expected |= slow_twins.machine(schedule, w, c, begin, end, lost_end)
        assert {name for name in got if name.startswith(("util", "loss"))} <= set(expected)
    if rows:
        expected |= slow_twins.preempted(schedule, rows)
        expected["killed"] = sum(int(w.run[row] > w.limit[row]) for row in rows)
        expected["backfilled"] = sum(int(schedule.reason[row] == Reason.BACKFILLED) for row in rows)
    assert schedule.blocked_at is not None
    expected["blocked"] = sum(int(schedule.blocked_at[row] >= 0) for row in rows)
    for name, value in expected.items():
        assert got[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@given(worlds(), st.sampled_from([greedy, fcfs, preemptive]))
@settings(max_examples=examples(150), deadline=None)
def test_measure_equals_its_twin(world: World, scheduler: object) -> None:
    """All jobs, with and without preemption."""
    assume(len(world.workload) > 0)
    check_against_twins(scheduler(world), world, Window.all())  # type: ignore[operator]


windows = st.one_of(
    st.builds(
        Window,
        warmup_s=st.integers(0, 6),
        cooldown_s=st.integers(0, 6),
        warmup_jobs=st.integers(0, 3),
        cooldown_jobs=st.integers(0, 3),
    ),
    st.builds(Window, since=st.integers(0, 6), until=st.integers(7, 15)),
)


@given(worlds(), windows)
@settings(max_examples=examples(150), deadline=None)
def test_windows_score_what_they_say(world: World, window: Window) -> None:
    """Jobs submitted inside, utilisation and loss over the window's own stretch of time."""
    assume(len(world.workload) > 0)
    check_against_twins(preemptive(world), world, window)


def test_utilisation_does_not_reward_an_early_end() -> None:
    """The same jobs done sooner after the last submission: the same utilisation until then."""
    w = Workload.build(submit=[0, 100], run=[100, 400], procs=[1, 1])
    base = w.replace(recorded_start=ints(0, 100))
    late = w.replace(recorded_start=ints(0, 900))
    for log in (base, late):
        assert utilisation(Schedule.recorded(log), log, Cluster.pool(1)) == {"procs": 1.0}


def test_utilisation_of_every_resource_the_log_knows() -> None:
    """Memory is counted where both the machine and the log have it."""
    w = Workload.build(
        submit=[0, 10],
        run=[10, 10],
        procs=[1, 1],
        demand={"memory": [3, 1]},
        recorded_start=[0, 10],
    )
    log = Schedule.recorded(w)
    assert utilisation(log, w, Cluster.pool(4, memory=4, gpus=2)) == {"procs": 0.25, "memory": 0.75}
    assert measure(log, w, Cluster.pool(4, memory=4))["utilisation_memory"] == 0.75


def test_jobs_without_a_recorded_start_are_left_out_and_counted() -> None:
    """A recorded log: unknown starts disturb nothing, and reasons are not measured."""
    w = Workload.build(
        submit=[0, 5, 10], run=[10, 10, 10], procs=[1, 1, 1], recorded_start=[0, -1, 20]
    )
    got = measure(Schedule.recorded(w), w, Cluster.pool(2))
    assert (got["jobs"], got["unknown_start"], got["wait_mean_s"]) == (2, 1, 5.0)
    assert not {"killed", "backfilled", "blocked", "preempted_jobs"} & set(got)


def test_no_jobs_at_all() -> None:
    """An empty log and an empty window: counts, no statistics, no warning."""
    none = Workload.build(submit=[], run=[], procs=[])
    assert measure(Schedule.recorded(none), none, Cluster.pool(1)) == {
        "jobs": 0,
        "unknown_start": 0,
        "unstarted": 0,
    }
    w = Workload.build(submit=[0], run=[10], procs=[1], recorded_start=[0])
    got = measure(Schedule.recorded(w), w, Cluster.pool(1), window=Window(since=5))
    assert got["jobs"] == 0 and "wait_mean_s" not in got and got["makespan_s"] == 10


def test_a_mask_narrows_what_is_scored(hand: tuple[Schedule, Workload, Cluster]) -> None:
    """Any mask may be given besides the window."""
    got = measure(*hand, only=np.array([False, True, True, False]))
    assert (got["jobs"], got["wait_mean_s"], got["preempted_share"]) == (2, 30.0, 0.5)


def test_other_jobs_are_refused(hand: tuple[Schedule, Workload, Cluster]) -> None:
    """Measuring a schedule against another trace would be meaningless."""
    schedule, workload, cluster = hand
    with pytest.raises(UsageError, match="0 of the trace missing, 3 unknown, 0 repeated"):
        measure(schedule, workload.take([0]), cluster)


def test_unrecorded_lost_runs_leave_the_load_unknown(
    hand: tuple[Schedule, Workload, Cluster],
) -> None:
    """kills without attempts: no utilisation rather than one that is too low."""
    schedule, workload, cluster = hand
    got = measure(schedule.replace(attempts=Attempts.none()), workload, cluster)
    assert not {"utilisation", "wasted_load", "rtw_mean", "loss_of_capacity"} & set(got)
    assert got["mkt"] == 1.0


def test_slipped_promises_are_a_metric() -> None:
    """The first job outlives its request, so the promise to the second has to move."""
    w = Workload.build(
        submit=[0, 0], run=[100, 10], procs=[1, 1], request=[50, 10], limit=[200, 10]
    )
    made = simulate(w, Cluster.pool(1), parse_policy("conservative"))
    got = measure(made, w, Cluster.pool(1))
    assert got["promises_slipped"] == made.counters["slipped_promises"] > 0
    assert got["promises_missed"] == 1


def test_rates_that_were_rounded_down_are_a_metric(
    hand: tuple[Schedule, Workload, Cluster],
) -> None:
    """Demands without a common unit: the schedule is not exact, and the metric counts it."""
    draws = np.array([1_000_003, 1_000_033, 1_000_037, 1_000_039])
    w = Workload.build(submit=[0] * 4, run=[100] * 4, procs=[1] * 4, extra={"bandwidth": draws})
    estimate = parse_policy("easy").estimate
    for bandwidth, exact in ((2_000_000, False), (9_000_000, True)):
        nodes = node_cluster(1, procs=4, bandwidth=bandwidth)
        assert law_for(w, nodes, 4, estimate).exact is exact
    schedule, workload, cluster = hand
    counted = schedule.replace(counters={"rates_rounded_down": 1})
    assert measure(counted, workload, cluster)["rates_rounded_down"] == 1
    assert "rates_rounded_down" not in measure(schedule, workload, cluster)


def test_lost_work_over_time(hand: tuple[Schedule, Workload, Cluster]) -> None:
    """Two processors for twenty seconds, lost at 20."""
    moments, total = lost_work(hand[0])
    assert (moments.tolist(), total.tolist()) == ([20], [40])


def test_loss_of_capacity_by_hand() -> None:
    """Three of four processors idle for 10 s while a narrow job waits behind a wide one.

    4 |...2222
    1 |1  2222 3
    job 3 (1 proc) waits from 0 to 20 though 3 processors are idle until 10.
    """
    w = Workload.build(
        submit=[0, 0, 0], run=[10, 10, 10], procs=[1, 4, 1], recorded_start=[0, 10, 20]
    )
    assert loss_of_capacity(Schedule.recorded(w), w, Cluster.pool(4)) == 30 / 120
    # A window that ends at 5 sees the first five seconds only.
    window = Window(since=0, until=5)
    assert math.isnan(loss_of_capacity(Schedule.recorded(w), w, Cluster.pool(4), window=window))
    later = w.replace(submit=ints(0, 0, 5))
    got = loss_of_capacity(Schedule.recorded(later), later, Cluster.pool(4), window=window)
    assert got == 0.0  # job 3 is submitted at 5, and the wide job never fits


def test_hosts_have_no_loss_of_capacity() -> None:
    """Idle processors on different hosts are not one hole: the metric is left out."""
    w = Workload.build(submit=[0, 9], run=[10, 1], procs=[1, 1], recorded_start=[0, 9])
    hosts = Cluster(shape="hosts", hosts=(Host("a", (1,)), Host("b", (1,))))
    got = measure(Schedule.recorded(w), w, hosts)
    assert "loss_of_capacity" not in got and got["utilisation"] == 0.5
