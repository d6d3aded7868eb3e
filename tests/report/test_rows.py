"""Where runs are drawn: nothing overlaps, every processor is there, hosts are the real ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from report.worlds import easy, workload
from shadowtime.cluster import Cluster, Host
from shadowtime.errors import InputError
from shadowtime.report import rows as rows_module
from shadowtime.report.rows import Rows, lay_out
from shadowtime.schedule import Attempts, Schedule
from shadowtime.workload import Workload


def cells(rows: Rows) -> list[tuple[int, int, int]]:
    """Row, start and end of every row of every run that takes time."""
    return [
        (row, int(rows.runs.start[run]), int(rows.runs.end[run]))
        for run, first, width in zip(
            rows.owner.tolist(), rows.row.tolist(), rows.width.tolist(), strict=True
        )
        for row in range(first, first + width)
        if rows.runs.end[run] > rows.runs.start[run]
    ]


def assert_apart(rows: Rows) -> None:
    """No two runs share a row at a time, and each has as many rows as processors."""
    by_row: dict[int, list[tuple[int, int]]] = {}
    for row, start, end in cells(rows):
        assert 0 <= row < rows.rows
        by_row.setdefault(row, []).append((start, end))
    for spans in by_row.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def recorded(starts: list[tuple[int, int, int]]) -> Schedule:
    start, run, procs = (list(column) for column in zip(*starts, strict=True))
    jobs = Workload.build(submit=[0] * len(start), run=run, procs=procs, recorded_start=start)
    return Schedule.recorded(jobs)


boxes = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(1, 8)), min_size=1, max_size=40
)


@given(boxes=boxes)
@settings(max_examples=examples(80), deadline=None)
def test_any_schedule_is_laid_out_without_overlap(boxes):
    """Also one that holds more than the machine: then rows are added beyond its capacity."""
    schedule = recorded(boxes)
    rows = lay_out(schedule, Cluster.pool(12))
    assert_apart(rows)
    widths = np.bincount(rows.owner, weights=rows.width * rows.unit, minlength=len(rows.runs))
    assert widths.tolist() == schedule.procs[rows.runs.job].tolist()
    assert rows.rows - rows.bands[0].beyond == 12 // rows.unit


@given(boxes=boxes)
@settings(max_examples=examples(15), deadline=None)
def test_compiled_and_plain_colouring_agree(boxes):
    """Small schedules run the same source as plain Python."""
    schedule = recorded(boxes)
    plain = lay_out(schedule, Cluster.pool(12))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "COMPILE_FROM", 0)
        compiled = lay_out(schedule, Cluster.pool(12))
    assert plain.row.tolist() == compiled.row.tolist()
    assert plain.width.tolist() == compiled.width.tolist()


def test_a_valid_schedule_never_leaves_the_machine():
    jobs = workload(400)
    rows = lay_out(easy(jobs, 64), Cluster.pool(64))
    assert_apart(rows)
    assert rows.rows * rows.unit == 64 and rows.bands[0].beyond == 0


def test_rows_count_the_largest_common_unit():
    """Machines that hand out whole nodes get a row per node."""
    rows = lay_out(recorded([(0, 5, 16), (0, 5, 8)]), Cluster.pool(32))
    assert (rows.unit, rows.rows) == (8, 4)


def test_a_job_is_split_only_where_no_gap_holds_it():
    rows = lay_out(recorded([(0, 5, 2), (0, 9, 2), (0, 5, 2), (5, 4, 4)]), Cluster.pool(6))
    assert rows.count.tolist() == [1, 1, 1, 2]


def test_lost_attempts_are_drawn_too():
    schedule = recorded([(10, 5, 2)]).replace(
        kills=np.array([1]),
        attempts=Attempts(
            job_id=np.array([1, 1]),
            start=np.array([0, 10]),
            end=np.array([4, 15]),
            killed=np.array([1, 0], np.int8),
        ),
    )
    rows = lay_out(schedule, Cluster.pool(2))
    assert rows.runs.lost.tolist() == [0, 1]
    assert rows.runs.start.tolist() == [10, 0]


def test_hosts_keep_their_own_rows():
    """On hosts and nodes the place column shows where a job ran."""
    cluster = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    schedule = recorded([(0, 5, 4), (0, 5, 3)]).replace(place=("n1:1 n2:3", "n1"))
    rows = lay_out(schedule, cluster)
    assert rows.real
    assert [band.name for band in rows.bands] == ["n1", "n2"]
    assert_apart(rows)
    by_host = {(int(o), int(r) // 4): 0 for o, r in zip(rows.owner, rows.row, strict=True)}
    for o, r, w in zip(rows.owner, rows.row, rows.width, strict=True):
        by_host[int(o), int(r) // 4] += int(w)
    assert by_host == {(0, 0): 1, (0, 1): 3, (1, 0): 3}


def test_an_unknown_host_is_named():
    cluster = Cluster(shape="hosts", hosts=(Host("n1", (4,)),))
    with pytest.raises(InputError, match="job 1 ran on the host n9"):
        lay_out(recorded([(0, 5, 4)]).replace(place=("n9",)), cluster)


def test_nothing_to_draw():
    empty = Workload.build(submit=[], run=[], procs=[])
    rows = lay_out(Schedule.recorded(empty), Cluster.pool(4))
    assert len(rows.runs) == 0 and len(rows.row) == 0
