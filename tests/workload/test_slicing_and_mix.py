"""Parts of workloads and workloads put together."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload import Workload
from shadowtime.workload.scale import from_zero
from shadowtime.workload.slicing import first_jobs, job_range, merge, time_window


def jobs(submit, procs=1, **columns):
    n = len(submit)
    return Workload.build(submit=submit, run=[10] * n, procs=[procs] * n, **columns)


def test_slices_keep_times_and_ids():
    w = jobs([10, 20, 30, 40], recorded_start=[11, 22, 33, 44], user=[1, 2, 3, 4])
    assert job_range(w, 1, 3).submit.tolist() == [20, 30]
    assert job_range(w, 1, 3).user.tolist() == [2, 3]
    assert first_jobs(w, 9).job_id.tolist() == [1, 2, 3, 4]
    assert len(job_range(w, 7, 9)) == 0
    assert time_window(w, 20, 40).job_id.tolist() == [2, 3]
    assert time_window(w, 20, 40).recorded_start.tolist() == [22, 33]
    assert len(time_window(w, 41, 50)) == 0
    for call in (
        lambda: first_jobs(w, -1),
        lambda: job_range(w, 3, 1),
        lambda: time_window(w, 2, 1),
    ):
        with pytest.raises(UsageError):
            call()


def test_from_zero_shifts_everything_alike():
    w = from_zero(jobs([10, 20], recorded_start=[-1, 25]))
    assert w.submit.tolist() == [0, 10]
    assert w.recorded_start.tolist() == [-1, 15]
    assert len(from_zero(jobs([]))) == 0


def test_merge_order_spans_and_numbers():
    # Spans 30 and 20: jobs up to second 20 stay. Ties: the first workload first, then the id.
    a = jobs([100, 110, 110, 130], procs=2, job_id=[9, 8, 7, 6], name="a")
    b = jobs([5, 15, 25], procs=3, job_id=[1, 2, 3], name="b")
    w = merge(a, b)
    assert w.name == "a+b"
    assert w.submit.tolist() == [0, 0, 10, 10, 10, 20]
    assert w.extra["source"].tolist() == [0, 1, 0, 0, 1, 1]
    assert w.extra["source_id"].tolist() == [9, 1, 7, 8, 2, 3]
    assert w.job_id.tolist() == [1, 2, 3, 4, 5, 6]
    assert merge(b, a).extra["source_id"].tolist() == [1, 9, 2, 7, 8, 3]


def test_merge_takes_the_union_of_resources():
    a = jobs([0, 9], demand={"memory": [5, 6]}, machine={"procs": 4, "memory": 9})
    b = jobs([0, 9], demand={"gpus": [1, 2]}, machine={"procs": 6}, cleaning={"x": 1})
    w = merge(a, b, name="both")
    assert w.resources == ("procs", "memory", "gpus")
    assert w.demand.tolist() == [[1, 5, 0], [1, 0, 1], [1, 6, 0], [1, 0, 2]]
    assert dict(w.machine) == {"procs": 10}
    assert dict(w.cleaning) == {"x": 1}


def test_people_of_two_logs_stay_apart():
    a = jobs([0, 1, 2], user=[1, -1, 4], group=[-1, -1, -1], executable=[0, 1, 0])
    b = jobs([0, 1, 2], user=[0, 7, -1], group=[1, 1, 2], executable=[0, 0, 0])
    c = jobs([0, 1, 2], user=[2, 2, 2])
    w = merge(a, b, c)
    by_source = {s: w.user[w.extra["source"] == s].tolist() for s in range(3)}
    assert by_source == {0: [1, -1, 4], 1: [5, 12, -1], 2: [13, 13, 13]}
    assert w.group[w.extra["source"] == 1].tolist() == [1, 1, 2]
    assert set(w.executable[w.extra["source"] == 1].tolist()) == {2}


def test_extra_columns_are_joined_and_marked_where_missing():
    a = jobs([0, 1], extra={"bandwidth": np.array([500, 1000]), "x": np.array([0.5, 1.5])})
    b = jobs([0, 1], extra={"bandwidth": np.array([2000, 2000]), "flag": np.array([True, True])})
    w = merge(a, b)
    assert w.extra["bandwidth"].tolist() == [500, 2000, 1000, 2000]
    assert np.isnan(w.extra["x"]).tolist() == [False, True, False, True]
    assert w.extra["flag"].tolist() == [False, True, False, True]


def test_an_empty_workload_is_not_merged():
    with pytest.raises(UsageError, match="leave it out"):
        merge(jobs([0, 1]), jobs([]))
