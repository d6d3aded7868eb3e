"""Classes of jobs, and the metrics of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from metrics import slow_twins
from schedule.tiny_worlds import World, greedy, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import KINDS, Window, by_class, by_classes, classify, measure, times_up_to
from shadowtime.metrics.classes import midnight_offset
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.series import Series

W = Workload.build(
    submit=[0, 3600, 90_000, 90_000],
    run=[30, 60, 4000, 90_000],
    procs=[1, 4, 5, 2000],
    request=[60, 600, 7200, 86_400],
    user=[7, 3, -1, 3],
)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("size", ["1", "2-4", "5-16", "> 1024"]),
        ("width", ["small", "small", "small", "large"]),
        ("runtime", ["< 1 min", "1 min - 10 min", "1 h - 6 h", ">= 24 h"]),
        ("estimate", ["1 min - 10 min", "10 min - 1 h", "1 h - 6 h", ">= 24 h"]),
        ("shape", ["short narrow", "short narrow", "long narrow", "long wide"]),
        ("hour", ["00:00", "01:00", "01:00", "01:00"]),
        ("user", ["user 7", "user 3", "user unknown", "user 3"]),
        ("queue", ["queue unknown"] * 4),
    ],
)
def test_classes_by_hand(kind: str, labels: list[str]) -> None:
    """The edges belong to the class they close (size) or open (time)."""
    classes = classify(W, kind)
    assert [classes.labels[k] for k in classes.of] == labels


def test_own_edges_and_few_names() -> None:
    """Edges can be chosen; of many users the busiest get a class each."""
    sizes = classify(W, "size", edges=[8, 64])
    assert [sizes.labels[k] for k in sizes.of] == ["1-8", "1-8", "1-8", "> 64"]
    runs = classify(W, "runtime", edges=[50])
    assert runs.labels == ("< 50 s", ">= 50 s") and runs.of.tolist() == [0, 1, 1, 1]
    users = classify(W, "user", top=1)
    assert [users.labels[k] for k in users.of] == ["others", "user 3", "others", "user 3"]


def test_widths_and_times_that_end_with_their_edge() -> None:
    """Table 7 of Chiang and Vernon, and ranges of requests where a round time closes a range."""
    w = Workload.build(submit=[0] * 4, run=[1] * 4, procs=[31, 32, 64, 65])
    widths = classify(w, "width")
    assert [widths.labels[k] for k in widths.of] == ["small", "medium", "medium", "large"]
    times = times_up_to(np.array([1, 600, 601, 7200]), (600, 7200, 9000))
    assert times.labels == ("<= 10 min", "10 min - 2 h") and times.of.tolist() == [0, 0, 1, 1]
    log = Schedule.recorded(w.replace(recorded_start=np.array([0, 0, 30, 89])))
    rows = by_classes(log, w, widths, kind="width")
    assert [(row.label, row.jobs) for row in rows] == [("small", 1), ("medium", 2), ("large", 1)]
    assert [row.metrics["bsld60_mean"] for row in rows] == [1.0, 1.0, 1.5]
    assert rows[1].metrics["wait_p95_s"] == rows[1].metrics["wait_max_s"] == 30


def test_bad_requests_are_refused() -> None:
    """Unknown kinds list the known ones; edges must make sense."""
    with pytest.raises(UsageError, match="no classes by 'colour': there are size, width"):
        classify(W, "colour")
    with pytest.raises(UsageError, match="rise from class to class"):
        classify(W, "size", edges=[4, 2])
    with pytest.raises(UsageError, match="classes by user have no edges"):
        classify(W, "user", edges=[4])


def test_hours_follow_the_header() -> None:
    """Start time and time zone of the trace; an unknown zone is UTC."""
    start = "; UnixStartTime: 833256000"  # 1996-05-28 04:00:00 UTC
    assert midnight_offset([start]) == 4 * 3600
    assert midnight_offset([start, "; TimeZoneString: US/Eastern"]) == 0
    assert midnight_offset([start, "; TimeZoneString: Atlantis/Deep"]) == 4 * 3600
    hours = classify(W.replace(header=(start,)), "hour")
    assert hours.labels[hours.of[1]] == "05:00"


@given(worlds(), st.sampled_from(KINDS))
@settings(max_examples=examples(120), deadline=None)
def test_rows_equal_their_twin(world: World, kind: str) -> None:
    """Each row equals the slow twin's for the jobs of that class; together they are all jobs."""
    schedule, w = greedy(world), world.workload
    classes = classify(w, kind)
    rows = by_class(schedule, w, kind)
    assert sum(row.jobs for row in rows) == len(w)
    for row in rows:
        members = [k for k in range(len(w)) if classes.labels[classes.of[k]] == row.label]
        expected = slow_twins.per_job(schedule, members)
        assert row.jobs == len(members)
        for name in set(expected) & set(row.metrics):
            assert row.metrics[name] == pytest.approx(expected[name], rel=1e-9), name
        assert row.metrics["share_of_jobs"] == pytest.approx(len(members) / len(w))
    if rows:
        assert sum(row.metrics["share_of_area"] for row in rows) == pytest.approx(1)


def test_rows_respect_window_and_mask() -> None:
    """Only scored jobs have rows; a row is flat for tables."""
    w = Workload.build(submit=[0, 5], run=[10, 10], procs=[1, 8], recorded_start=[0, 15])
    log = Schedule.recorded(w)
    (row,) = by_class(log, w, "size", window=Window(warmup_jobs=1))
    assert (row.label, row.jobs, row.metrics["wait_max_s"]) == ("5-16", 1, 10.0)
    assert row.as_dict()["class"] == "5-16"
    (row,) = by_class(log, w, "size", only=np.array([True, False]))
    assert row.label == "1"


def test_energy_and_deadlines_of_classes_add_up_to_those_of_all() -> None:
    """Each job is in one class."""
    price = Series(name="price", time=np.array([0, 100]), value=np.array([0.1, 0.4]), period=300)
    rng = np.random.default_rng(5)
    n = 40
    jobs = Workload.build(
        submit=np.sort(rng.integers(0, 900, n)), run=rng.integers(1, 300, n),
        procs=2 ** rng.integers(0, 6, n),
        extra={"power": rng.integers(0, 900, n), "deadline": rng.integers(200, 2000, n)},
        series={"price": price},
    )  # fmt: skip
    made = simulate(jobs, Cluster.pool(64), parse_policy("easy"))
    whole = measure(made, jobs, Cluster.pool(64))
    rows = by_class(made, jobs, "size")
    assert len(rows) > 2
    for name in ("energy_kwh", "energy_cost", "deadlines", "deadlines_missed"):
        parts = sum(row.metrics[name] for row in rows)
        assert parts == pytest.approx(whole[name]), name
