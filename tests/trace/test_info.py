"""What ``trace info`` reports about a log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shadowtime.cluster import Cluster
from shadowtime.cluster.spec import parse_cluster
from shadowtime.trace import read
from shadowtime.trace.header import start_moment
from shadowtime.trace.info import describe
from shadowtime.trace.quality import WEEK, flurries, flurry_mask, peak_use, remarks
from shadowtime.workload import Workload

DAY = 86400


def jobs(**columns: Any) -> Workload:
    n = len(columns["submit"])
    usual = {"run": [60] * n, "procs": [1] * n, "request": [100] * n, "user": [1] * n}
    return Workload.build(**{**usual, **columns})


def checks(workload: Workload, **more: Any) -> list[str]:
    return [remark.check for remark in remarks(workload, **more)]


def test_a_description_is_plain_numbers() -> None:
    w = jobs(submit=[0, 50, 100], procs=[4, 2, 3], run=[10, 100, 60], user=[7, 7, -1],
             queue=[2, 2, -1], status=[1, 5, 1], recorded_start=[0, 60, -1],
             header=("; Queue: 2 short",), cleaning={"no_run_dropped": 3},
             extra={"requested_memory": np.array([10, -1, 30])})  # fmt: skip
    info = describe(w, cluster=Cluster.pool(4))
    assert json.loads(json.dumps(info)) == info
    assert (info["jobs"], info["span_s"]) == (3, 100)
    assert info["load"] == {"procs": (40 + 200 + 180) / 400}
    assert info["work_proc_hours"] == 420 / 3600
    assert info["users"]["count"] == 1
    assert info["users"]["unknown_share"] == pytest.approx(1 / 3)
    assert info["users"]["top"][0] == {
        "user": 7, "jobs": 2, "jobs_share": pytest.approx(2 / 3), "work_share": 240 / 420,
    }  # fmt: skip
    assert info["queues"] == [{"number": 2, "name": "short", "jobs": 2}]
    assert info["sizes"]["power_of_two_share"] == pytest.approx(2 / 3)
    assert info["sizes"]["max"] == 4
    assert info["requests"]["different"] == 1
    assert info["requests"]["popular"] == [{"seconds": 100, "jobs_share": 1.0}]
    assert info["requests"]["used_share"]["median"] == 0.6
    assert info["requests"]["reached_share"] == pytest.approx(1 / 3)
    assert info["waits"]["known_share"] == pytest.approx(2 / 3)
    assert (info["waits"]["min"], info["waits"]["max"]) == (0, 10)
    assert info["memory"]["requested_memory"]["max"] == 30
    assert "used_memory" not in info["memory"]
    assert info["status"] == {"1": 2, "5": 1}
    assert info["cleaning"] == {"no_run_dropped": 3}


def test_histograms_count_every_job_once() -> None:
    w = jobs(submit=[0] * 8, procs=[1, 2, 3, 4, 5, 8, 9, 1], request=[10**6] * 8,
             run=[1, 60, 61, 600, 3600, 3601, 28800, 10**5])  # fmt: skip
    info = describe(w)
    sizes = info["sizes"]["histogram"]
    assert [(row["above"], row["to"], row["jobs"]) for row in sizes] == [
        (0, 1, 2), (1, 2, 1), (2, 4, 2), (4, 8, 2), (8, None, 1),
    ]  # fmt: skip
    runs = info["runtimes"]["histogram"]
    assert [row["jobs"] for row in runs] == [2, 2, 1, 2, 0, 1]
    assert sum(row["work_share"] for row in runs) == pytest.approx(1)


def test_nothing_and_next_to_nothing() -> None:
    empty = jobs(submit=[])
    assert describe(empty) == {"name": "workload", "jobs": 0, "cleaning": {}}
    one = describe(jobs(submit=[5]), cluster=Cluster.pool(1))
    assert one["load"] == {}
    assert one["arrivals"]["gap_mean_s"] == 0


def test_arrivals_are_printed_in_local_time() -> None:
    """Second 0 is 14:00:31 on a Monday in Stockholm."""
    header = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")
    arrivals = describe(jobs(submit=[0, 10 * 3600, 3 * DAY], header=header))["arrivals"]
    assert arrivals["local"]
    assert [hour for hour, count in enumerate(arrivals["by_hour"]) if count] == [0, 14]
    assert arrivals["by_weekday"] == [1, 1, 0, 1, 0, 0, 0]
    assert arrivals["gap_longest_s"] == 3 * DAY - 36000
    assert not describe(jobs(submit=[0]))["arrivals"]["local"]
    assert start_moment(["; UnixStartTime: 5", "; TimeZoneString: Nowhere/None"]) is None
    assert start_moment(["; UnixStartTime: many"]) is None


# Flurries


def weeks_of(per_week: int, weeks: int, users: int = 5) -> tuple[list[int], list[int]]:
    submit = [w * WEEK + i for w in range(weeks) for i in range(per_week)]
    return submit, [1 + i % users for i in range(len(submit))]


def test_a_burst_over_two_weeks_is_one_flurry() -> None:
    submit, user = weeks_of(10, 8)
    submit += [3 * WEEK + 50 + i for i in range(30)] + [4 * WEEK + 50 + i for i in range(20)]
    user += [9] * 50
    found = flurries(jobs(submit=submit, user=user))
    assert [(f.user, f.jobs, f.since, f.until) for f in found] == [
        (9, 50, 3 * WEEK + 50, 4 * WEEK + 69)
    ]
    assert found[0].jobs_share == 50 / 130
    assert found[0].same_shape_share == 1.0


def test_bursts_apart_are_two_and_a_busy_week_of_all_users_is_none() -> None:
    submit, user = weeks_of(10, 8)
    submit += [WEEK + 50] * 20 + [5 * WEEK + 50] * 20
    user += [9] * 40
    assert len(flurries(jobs(submit=submit, user=user))) == 2
    submit, user = weeks_of(10, 8)
    submit += [WEEK + 50] * 100
    user += [1 + i % 50 for i in range(100)]
    assert flurries(jobs(submit=submit, user=user)) == []


def test_no_flurries_without_users_or_in_a_short_log() -> None:
    submit, _ = weeks_of(10, 8)
    assert flurries(jobs(submit=[*submit, *[WEEK] * 50], user=[-1] * 130)) == []
    assert flurries(jobs(submit=[0] * 100)) == []
    assert flurry_mask(jobs(submit=[])).tolist() == []


# Remarks


def test_an_ordinary_log_needs_no_remark() -> None:
    w = jobs(submit=[0, 50, 100, 150], user=[1, 2, 3, 4], recorded_start=[0, 50, 100, 150])
    assert checks(w, cluster=Cluster.pool(2), load=0.7) == []


@pytest.mark.parametrize(
    ("columns", "more", "check"),
    [
        ({}, {"cluster": None}, "machine"),
        ({"procs": [3, 1, 1, 1]}, {}, "capacity"),
        ({}, {"load": 1.0}, "load"),
        ({}, {"load": 0.1}, "load"),
        ({"cleaning": {"request_from_run": 1}}, {}, "requests"),
        ({"cleaning": {"overrun_cut": 2}}, {}, "overrun"),
        ({"request": [60] * 4}, {}, "estimates"),
        ({"user": [-1, 2, 3, 4]}, {}, "users"),
        ({"user": [1, 1, 1, 4]}, {}, "dominance"),
        ({"recorded_start": [0, 50, 100, -1]}, {}, "starts"),
        ({"submit": [0, 50, 100, 5 * DAY], "recorded_start": [0, 50, 100, 5 * DAY]}, {}, "gap"),
        ({"cleaning": {"no_run_dropped": 1}}, {}, "dropped"),
        ({"cleaning": {"out_of_order_sorted": 1}}, {}, "out_of_order"),
        ({"cleaning": {"repeated_id_renumbered": 1}}, {}, "repeated_id"),
    ],
)
def test_every_check_speaks_up(columns: dict[str, Any], more: dict[str, Any], check: str) -> None:
    usual = {"submit": [0, 50, 100, 150], "user": [1, 2, 3, 4],
             "recorded_start": [0, 50, 100, 150]}  # fmt: skip
    found = checks(jobs(**(usual | columns)), **({"cluster": Cluster.pool(2), "load": 0.7} | more))
    assert found == [check]


def test_flurries_are_remarked_on() -> None:
    submit, user = weeks_of(10, 8)
    w = jobs(submit=[*submit, *[WEEK] * 50], user=[*user, *[9] * 50])
    texts = [remark["text"] for remark in describe(w)["remarks"] if remark["check"] == "flurry"]
    assert len(texts) == 1
    assert "User 9 submitted 50 jobs" in texts[0]


def test_the_peak_counts_ends_before_starts() -> None:
    assert peak_use(jobs(submit=[0, 0], run=[5, 5], procs=[2, 2], recorded_start=[0, 5])) == 2
    assert peak_use(jobs(submit=[0, 0], procs=[2, 2], recorded_start=[0, -1])) == 2
    assert peak_use(jobs(submit=[0])) == 0


@pytest.mark.parametrize(
    ("name", "load", "flurry_users"),
    [
        ("CTC-SP2-1996-3.1-cln", 0.84, set()),
        ("KTH-SP2-1996-2.1-cln", 0.70, set()),
        ("SDSC-SP2-1998-4.2-cln", 0.83, {24, 48}),
    ],
)
def test_real_logs(
    trace_path: Callable[[str], Path], name: str, load: float, flurry_users: set[int]
) -> None:
    w = read(trace_path(f"{name}.swf.gz"))
    info = describe(w, cluster=parse_cluster(None, machine=w.machine))
    assert info["load"]["procs"] == pytest.approx(load, abs=0.011)
    assert {flurry["user"] for flurry in info["flurries"]} == flurry_users
