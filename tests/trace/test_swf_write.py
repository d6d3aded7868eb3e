"""Writing SWF: what is written is read back as it was."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import UsageError
from shadowtime.trace import parse_swf, read, read_swf, to_swf, write_swf
from shadowtime.trace.swf import NOTE
from shadowtime.workload import Workload
from shadowtime.workload.clean import clean
from shadowtime.workload.raw import FIELDS, KEPT, MAX_PROCS, MAX_TIME, RawTrace
from shadowtime.workload.workload import COLUMNS

BIG = 1 << 40


def columns_of(w: Workload) -> dict[str, list[object]]:
    names = ("job_id", "submit", "run", "request", "limit", *COLUMNS)
    return {name: getattr(w, name).tolist() for name in names} | {"demand": w.demand.tolist()}


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(1, 8))
    ints = lambda low, high: draw(st.lists(st.integers(low, high), min_size=n, max_size=n))  # noqa: E731
    submit = ints(0, MAX_TIME // 2)
    waits = ints(-1, MAX_TIME // 2)
    procs = ints(1, 10_000)
    optional = {name: ints(-1, BIG) for name in COLUMNS if name not in ("recorded_start", "status")}
    demand = {}
    if draw(st.booleans()):
        each = ints(0, 1 << 30)
        demand["memory"] = [kb * p for kb, p in zip(each, procs, strict=True)]
    kept = draw(st.lists(st.sampled_from(KEPT), unique=True))
    extra = {name: np.array(ints(1, MAX_PROCS)) for name in kept if "memory" not in name}
    header = draw(st.lists(st.from_regex(r";[ A-Za-z0-9:,()é-]{0,30}", fullmatch=True)))
    return Workload.build(
        job_id=draw(st.lists(st.integers(0, BIG), min_size=n, max_size=n, unique=True)),
        submit=submit,
        run=ints(1, 10**9),
        procs=procs,
        request=ints(1, 10**9),
        demand=demand,
        status=draw(st.lists(st.sampled_from([-1, 0, 1, 5]), min_size=n, max_size=n)),
        recorded_start=[s + w if w >= 0 else -1 for s, w in zip(submit, waits, strict=True)],
        extra=extra,
        header=tuple(header),
        **optional,
    )


@settings(deadline=None, max_examples=examples(150))
@given(workloads())
def test_a_workload_comes_back_exactly(w: Workload) -> None:
    text = to_swf(w)
    again = clean(parse_swf(text.encode(), name=w.name), memory="memory" in w.resources)
    assert columns_of(again) == columns_of(w)
    for name in w.extra:
        assert again.extra[name].tolist() == w.extra[name].tolist()
    assert again.header[: len(w.header)] == w.header
    assert again.header[-1] == NOTE or NOTE in w.header
    assert to_swf(again) == text


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(
        st.lists(st.integers(-MAX_PROCS, MAX_PROCS), min_size=18, max_size=18),
        min_size=1,
        max_size=6,
    )
)
def test_a_raw_trace_keeps_every_field(rows: list[list[int]]) -> None:
    raw = RawTrace(name="x", table=np.array(rows, np.int64).T, line=np.arange(len(rows)))
    again = parse_swf(to_swf(raw).encode(), name="x")
    assert again.table.T.tolist() == rows


def test_unknown_stays_minus_one() -> None:
    line = to_swf(Workload.build(submit=[3], run=[9], procs=[2])).splitlines()[-1]
    fields = dict(zip(FIELDS, line.split(), strict=True))
    known = {"job_id": "1", "submit": "3", "run": "9", "procs": "2", "request": "9"}
    assert fields == dict.fromkeys(FIELDS, "-1") | known


def test_the_machine_is_written_once() -> None:
    w = Workload.build(submit=[0], run=[1], procs=[1], machine={"procs": 8, "nodes": 2})
    text = to_swf(w)
    assert text.count("; MaxProcs: 8\n") == text.count("; MaxNodes: 2\n") == 1
    again = clean(parse_swf(text.encode(), name="x"))
    assert again.machine == w.machine
    assert to_swf(again) == text


def test_odd_header_lines_stay_comments() -> None:
    w = Workload.build(submit=[0], run=[1], procs=[1], header=("no semicolon", "; a\nb"))
    assert to_swf(w).splitlines()[:3] == ["; no semicolon", "; a", "; b"]


def test_memory_that_does_not_divide_is_rounded_up() -> None:
    w = Workload.build(submit=[0], run=[1], procs=[3], demand={"memory": [10]})
    again = clean(parse_swf(to_swf(w).encode(), name="x"), memory=True)
    assert again.demand.tolist() == [[3, 12]]


def test_used_memory_is_not_passed_off_as_requested() -> None:
    text = b"1 0 5 60 4 -1 77 4 100 -1 1 7 8 9 2 3 -1 -1\n"
    w = clean(parse_swf(text, name="x"), memory=True)
    assert to_swf(w).splitlines()[-1] == text.decode().strip()


def test_resources_without_a_field_are_noted() -> None:
    w = Workload.build(submit=[0], run=[1], procs=[1], demand={"gpus": [2]})
    assert "; Note: SWF has no field for gpus: left out here" in to_swf(w)


def test_gzip_by_suffix_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    w = Workload.build(submit=[0], run=[1], procs=[1])
    for name in ("a.swf", "a.swf.gz", "b.swf.gz"):
        write_swf(w, tmp_path / name)
    assert (tmp_path / "a.swf").read_text() == to_swf(w)
    assert gzip.decompress((tmp_path / "a.swf.gz").read_bytes()).decode() == to_swf(w)
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()
    assert len(read(tmp_path / "a.swf.gz")) == 1
    with pytest.raises(UsageError, match="cannot be written"):
        write_swf(w, tmp_path / "none" / "a.swf")


def test_a_real_log_comes_back(trace_path: Callable[[str], Path], tmp_path: Path) -> None:
    path = trace_path("KTH-SP2-1996-2.1-cln.swf.gz")
    raw, w = read_swf(path), read(path)
    write_swf(raw, tmp_path / "raw.swf.gz")
    again = read_swf(tmp_path / "raw.swf.gz")
    assert np.array_equal(again.table, raw.table)
    assert again.header == (*raw.header, NOTE)
    write_swf(w, tmp_path / "clean.swf")
    assert columns_of(read(tmp_path / "clean.swf")) == columns_of(w)
