"""Paraver traces, read back by the format's own rules."""

from __future__ import annotations

import re

import numpy as np
import pytest

from report.test_browser import on_nodes, preempting
from report.worlds import easy, report_input, workload
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.report import write_paraver
from shadowtime.report.paraver import STATES

NANO = 10**9


def read(paths):
    """Header and records, checking what holds for every trace."""
    prv, _, row = (path.read_text() for path in paths)
    head, *lines = prv.splitlines()
    found = re.match(r"#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:([^:]*):(\d+):(.*)", head)
    assert found
    records = [tuple(map(int, line.split(":"))) for line in lines]
    assert all(len(r) == (8 if r[0] == 1 else len(r)) and r[0] in (1, 2) for r in records)
    times = [r[5] for r in records]
    assert times == sorted(times)
    end = int(found.group(1))
    assert all(r[6] <= end for r in records if r[0] == 1)
    for level in re.finditer(r"LEVEL (\w+) SIZE (\d+)\n((?:.+\n)*)", row):
        assert len(level.group(3).splitlines()) == int(level.group(2))
    return found, records


def test_mapping_b_holds_every_processor_second(tmp_path):
    jobs = workload(80)
    schedule = easy(jobs, 64)
    written = write_paraver(jobs, schedule, Cluster.pool(64), tmp_path / "trace")
    assert [path.name for path in written.paths] == ["trace.prv", "trace.pcf", "trace.row"]
    head, records = read(written.paths)
    assert (head.group(2), head.group(3), head.group(4)) == ("1(64)", "1", "1(64:1)")
    states = [r for r in records if r[0] == 1]
    assert len(states) == written.records
    area = sum(r[6] - r[5] for r in states) // NANO
    assert area == int((schedule.procs * (schedule.end - schedule.start)).sum())
    assert {r[7] - 10 for r in states} == set(np.unique(schedule.reason).tolist())
    ids = {r[7] for r in records if r[0] == 2} - {0}
    assert ids == set(jobs.job_id.tolist())


def test_threads_never_hold_two_jobs(tmp_path):
    jobs = workload(80)
    written = write_paraver(jobs, easy(jobs, 64), Cluster.pool(64), tmp_path / "t.prv")
    _, records = read(written.paths)
    free: dict[int, int] = {}
    for record in (r for r in records if r[0] == 1):
        assert record[5] >= free.get(record[1], 0)
        free[record[1]] = record[6]


def test_nodes_are_tasks(tmp_path):
    report = on_nodes()
    written = write_paraver(
        report.workload, report.runs[0].schedule, report.cluster, tmp_path / "n"
    )
    head, _ = read(written.paths)
    assert (head.group(2), head.group(4)) == ("2(4,4)", "2(4:1,4:2)")
    assert "n2" in written.paths[2].read_text()


def test_mapping_a_shows_the_life_of_each_job(tmp_path):
    """Waiting, running, unused request: the lengths are those of the schedule.

    spec: algorithms 6.4.
    """
    jobs = workload(60)
    schedule = easy(jobs, 64)
    written = write_paraver(jobs, schedule, Cluster.pool(64), tmp_path / "a", mapping="A")
    head, records = read(written.paths)
    assert head.group(3) == "60"
    total = {state: 0 for state in STATES}
    for record in (r for r in records if r[0] == 1):
        total[record[7]] += (record[6] - record[5]) // NANO
    ran = schedule.end - schedule.start
    assert total[1] == int(schedule.wait.sum())
    assert total[2] == int(np.minimum(ran, jobs.request).sum())
    assert total[3] == int(np.maximum(0, jobs.request - ran).sum())
    assert total[2] + total[3] == int(jobs.request.sum())
    assert total[4] == 0


def test_time_beyond_the_limit_is_extra(tmp_path):
    jobs = workload(60)
    longer = jobs.replace(request=jobs.run - jobs.run // 3, limit=jobs.run)
    schedule = easy(longer, 64)
    written = write_paraver(longer, schedule, Cluster.pool(64), tmp_path / "x", mapping="A")
    _, records = read(written.paths)
    extra = sum(r[6] - r[5] for r in records if r[0] == 1 and r[7] == 4) // NANO
    assert extra == int((jobs.run // 3).sum())


def test_lost_work_has_its_own_state(tmp_path):
    report = preempting()
    schedule = report.runs[0].schedule
    for mapping in ("A", "B"):
        written = write_paraver(
            report.workload, schedule, report.cluster, tmp_path / mapping, mapping=mapping
        )
        _, records = read(written.paths)
        assert any(r[0] == 1 and r[7] == 15 for r in records)


def test_colours_are_those_of_the_thesis(tmp_path):
    report = report_input(5, policies=("easy",))
    written = write_paraver(
        report.workload, report.runs[0].schedule, report.cluster, tmp_path / "c"
    )
    pcf = written.paths[1].read_text()
    for line in ("1    {255,0,0}", "2    {0,0,255}", "3    {255,255,255}", "4    {179,143,0}"):
        assert line in pcf
    assert "60000001    Job id" in pcf


def test_refusals_say_what_to_do(tmp_path):
    jobs = workload(5_001, load=0.1)
    none = np.full(len(jobs), -1)
    schedule = easy(workload(1), 64).replace(
        **{k: none for k in ("start", "end")}, job_id=jobs.job_id, submit=jobs.submit
    )
    with pytest.raises(UsageError, match="take mapping B"):
        write_paraver(jobs, schedule, Cluster.pool(64), tmp_path / "m", mapping="A")
    with pytest.raises(UsageError, match="no mapping 'C'"):
        write_paraver(jobs, schedule, Cluster.pool(64), tmp_path / "m", mapping="C")
