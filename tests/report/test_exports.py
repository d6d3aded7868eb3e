"""Files for Perfetto and evalys."""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from report.test_browser import nothing_finished, preempting
from report.worlds import easy, workload
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.report import write_batsim, write_perfetto

POOL = Cluster.pool(64)


def slices(path):
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return trace, [event for event in trace["traceEvents"] if event["ph"] == "X"]


def assert_apart(found):
    """Perfetto rejects slices that overlap on a thread without nesting."""
    free: dict[tuple[int, int], int] = {}
    for event in sorted(found, key=lambda e: e["ts"]):
        where = event["pid"], event["tid"]
        assert event["ts"] >= free.get(where, 0)
        free[where] = event["ts"] + event["dur"]


def test_a_slice_for_every_processor(tmp_path):
    jobs = workload(80)
    schedule = easy(jobs, 64)
    written = write_perfetto(jobs, schedule, POOL, tmp_path / "t.json")
    trace, found = slices(written.paths[0])
    assert len(found) == written.records == int(schedule.procs.sum())
    assert written.left_out == 0
    assert_apart(found)
    area = sum(event["dur"] for event in found) // 10**6
    assert area == int((schedule.procs * (schedule.end - schedule.start)).sum())
    assert {e["name"] for e in trace["traceEvents"] if e["ph"] == "C"} == {
        "queue",
        "busy processors",
    }


def test_the_cap_first_joins_rows_then_cuts_the_end(tmp_path):
    jobs = workload(80)
    schedule = easy(jobs, 64)
    joined = write_perfetto(jobs, schedule, POOL, tmp_path / "j.json", cap=200)
    _, found = slices(joined.paths[0])
    assert 80 <= len(found) <= 200 and joined.left_out == 0 and "per piece" in joined.note
    cut = write_perfetto(jobs, schedule, POOL, tmp_path / "c.json.gz", cap=30)
    trace, found = slices(cut.paths[0])
    assert len(found) == 30 and cut.left_out >= 50
    assert trace["otherData"]["jobs omitted"] == str(cut.left_out)
    assert_apart(found)


def test_lost_attempts_are_slices_of_their_own(tmp_path):
    report = preempting()
    schedule = report.runs[0].schedule
    _, found = slices(write_perfetto(report.workload, schedule, POOL, tmp_path / "p.json").paths[0])
    assert "lost" in {event["cat"] for event in found}


def test_an_empty_trace_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cap of 1 or more"):
        write_perfetto(workload(3), easy(workload(3), 64), POOL, tmp_path / "x.json", cap=0)


def test_jobs_csv_has_batsims_columns_and_sums(tmp_path):
    jobs = workload(80, name='a, "quoted" name')
    schedule = easy(jobs, 64)
    written = write_batsim(jobs, schedule, POOL, tmp_path / "jobs.csv")
    with written.paths[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == written.records == 80
    assert list(rows[0])[:4] == ["job_id", "workload_name", "profile", "submission_time"]
    for row, start, end, procs in zip(
        rows, schedule.start.tolist(), schedule.end.tolist(), schedule.procs.tolist(), strict=True
    ):
        assert row["workload_name"] == jobs.name
        assert (int(row["starting_time"]), int(row["finish_time"])) == (start, end)
        waited, ran = int(row["waiting_time"]), int(row["execution_time"])
        assert waited + ran == int(row["turnaround_time"])
        assert float(row["stretch"]) == pytest.approx((waited + ran) / max(1, ran))
        used = set()
        for part in row["allocated_resources"].split():
            low, _, high = part.partition("-")
            used |= set(range(int(low), int(high or low) + 1))
        assert len(used) == procs and used <= set(range(64))


def test_jobs_that_never_ran_are_counted(tmp_path):
    report = nothing_finished()
    schedule = report.runs[0].schedule
    written = write_batsim(report.workload, schedule, report.cluster, tmp_path / "jobs.csv")
    assert (written.records, written.left_out) == (0, 12) and written.note
