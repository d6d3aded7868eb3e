"""An sacct export is read by columns; each row means what it would mean alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples
from fuzz_formats import sacct_line
from naive.sacct import export, read_rows
from shadowtime.errors import InputError
from shadowtime.slurmtext import sacct_rows, sacct_texts
from shadowtime.slurmtext.fields import parse_count
from shadowtime.slurmtext.job_id import parse_job_id
from shadowtime.slurmtext.sacct_columns import Clock, counts
from shadowtime.slurmtext.sacct_ids import SacctIds
from shadowtime.slurmtext.sacct_rows import LAYOUTS, split_rows
from shadowtime.slurmtext.sacct_texts import Texts
from shadowtime.slurmtext.times import parse_stamp
from shadowtime.trace.sacct import parse_sacct
from shadowtime.workload.raw import FIELDS, RawTrace

ZONE = ZoneInfo("Europe/Zurich")


def content_of(raw: Any) -> dict[str, Any]:
    """The content of a raw trace, as comparable values."""
    asked = raw.requests
    return {
        "table": raw.table.tolist(),
        "line": raw.line.tolist(),
        "header": raw.header,
        "counts": dict(raw.counts),
        "demands": {name: raw.demands[name].tolist() for name in raw.demands},
        "extra": {name: column.tolist() for name, column in raw.extra.items()},
        "names": dict(raw.names),
        "lost": dict(raw.lost_runs),
        "requests": {
            field.name: value.tolist() if isinstance(value, np.ndarray) else value
            for field in fields_of(asked)
            for value in [getattr(asked, field.name)]
        },
    }


def outcome(text: str | bytes, **how: Any) -> Any:
    try:
        return content_of(parse_sacct(text, name="log", **how))
    except InputError as error:
        return str(error)


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one line: nothing is done to many rows at once."""
    monkeypatch.setattr(sacct_rows, "_BLOCK", 1)
    monkeypatch.setattr(sacct_texts, "_MOST", 1)


def jobs_of(raw: RawTrace) -> list[dict[str, Any]]:
    """The jobs of a raw trace as the naive reader has them."""
    asked = raw.requests
    assert asked is not None
    columns = {name: raw[name].tolist() for name in FIELDS}
    columns |= {name: column.tolist() for name, column in raw.extra.items()}
    columns |= {name: raw.demands[name].tolist() for name in ("memory", "gpus")}
    for name in ("array", "task", "throttle", "priority"):
        columns[name] = getattr(asked, name).tolist()
    columns["line"], columns["asked"] = raw.line.tolist(), [asked[at] for at in range(len(asked))]
    for kind, names in raw.names.items():
        columns[kind] = [names[number] if number >= 0 else "" for number in columns[kind]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=examples(60), deadline=None)
def test_every_row_reads_as_with_the_naive_reader(seed: int) -> None:
    """Jobs, dropped rows by rule, and the first bad line with its reason, in any columns."""
    rng = random.Random(seed)
    text, rows = export(rng)
    tz, cluster = rng.choice([None, "Europe/Zurich"]), rng.choice([None, "c1"])
    naive = read_rows(rows, zone=ZoneInfo(tz or "UTC"), cluster=cluster, unlimited=7200)
    labels = [job["label"] for job in naive.jobs]
    assume(len(set(labels)) == len(labels))  # several rows of one job are joined elsewhere
    how: dict[str, Any] = {"tz": tz, "cluster": cluster, "unlimited": 7200}
    if naive.bad:
        line, why = naive.bad[0]
        with pytest.raises(InputError) as found:
            parse_sacct(text, name="log", path="jobs.psv", **how)
        assert str(found.value).startswith(f"jobs.psv, line {line}: {why}. Fix or delete")
    expected = [job for job in naive.jobs if job["ended"]]
    if not expected or len({job["cluster"] for job in naive.jobs if "cluster" in job}) > 1:
        with pytest.raises(InputError, match=r"no ended job|several clusters"):
            parse_sacct(text, name="log", bad_lines="drop", **how)
        return
    raw = parse_sacct(text.encode(), name="log", bad_lines="drop", **how)
    naive.counts["bad_lines_dropped"] = len(naive.bad)
    if tz:
        del naive.counts["local_times_as_utc"]
    assert +Counter(raw.counts) == +naive.counts
    jobs = jobs_of(raw)
    assert len(jobs) == len(expected)
    assert raw.epoch == min(job["submit"] for job in expected)
    same_name: dict[int, str] = {}
    for found_job, job in zip(jobs, expected, strict=True):
        assert same_name.setdefault(found_job["executable"], job["executable"]) == job["executable"]
        used, procs = naive.used.get(job["label"], -1), job["procs"]
        job["used_memory"] = -(-used // procs) if used > 0 and procs > 0 else -1
        job["submit"] -= raw.epoch
        job["eligible"] = max(job["eligible"] - raw.epoch, -1)
        for name in (
            "line", "job_id", "array", "task", "throttle", "submit", "wait", "run", "procs",
            "requested_procs", "request", "status", "user", "group", "queue", "partition", "asked",
            "eligible", "nodes", "memory", "gpus", "node_list", "cpu_time", "used_memory",
            "priority", *(set(raw.extra) & {"started_by", "pending_reason"}),
        ):  # fmt: skip
            assert found_job[name] == job[name], (name, found_job, job)
    assert len(set(same_name.values())) == len(same_name)


@pytest.mark.parametrize("bad_lines", ["refuse", "drop"])
def test_rows_read_together_equal_rows_read_alone(
    bad_lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random exports with odd ids, states, names and broken fields, in one piece and singly."""
    rng = random.Random(11)
    texts = []
    for case in range(10):
        columns = LAYOUTS[case % len(LAYOUTS)]
        lines = [sacct_line(rng, columns).split("|") for _ in range(40)]
        for _ in range(case % 5):
            line = rng.choice(lines)
            line[rng.randrange(len(line))] = rng.choice(
                ["", "x", "Unknown", "-3", "٣", " 8 ", "a|b"]
            )
        texts.append("\n".join(["|".join(columns), *("|".join(line) for line in lines)]) + "\n")
    whole = [outcome(text, bad_lines=bad_lines, tz="Europe/Zurich") for text in texts]
    assert any(isinstance(one, dict) for one in whole)
    row_by_row(monkeypatch)
    assert [outcome(text, bad_lines=bad_lines, tz="Europe/Zurich") for text in texts] == whole


@pytest.mark.parametrize("name", ["A", "D1", "J"])
def test_recordings_say_the_same_in_pieces(
    name: str, recording_path: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (recording_path(name) / "jobs.psv").read_bytes()
    whole = outcome(data)
    assert isinstance(whole, dict)
    assert outcome(data.decode()) == whole
    row_by_row(monkeypatch)
    assert outcome(data) == whole


def test_a_dropped_line_leaves_no_trace() -> None:
    """Its names get no numbers and its limit is not counted, wherever its problem is."""
    head = "JobIDRaw|Submit|Start|End|ElapsedRaw|State|NCPUS|TimelimitRaw|Priority|User|JobName"
    good = "7|100|160|260|100|COMPLETED|4|60|5|ann|a"
    bad = "8|100|160|260|100|COMPLETED|4|UNLIMITED|high|bob|b"
    raw = parse_sacct(f"{head}\n{bad}\n{good}\n", name="log", bad_lines="drop")
    assert raw.names["user"] == ("", "ann")
    assert raw["executable"].tolist() == [1]
    assert (raw.counts["request_unlimited"], raw.counts["bad_lines_dropped"]) == (0, 1)


def test_the_first_bad_line_is_named() -> None:
    """Of two bad lines in one piece the upper, with its own problem."""
    head = "JobIDRaw|Submit|ElapsedRaw|State|NCPUS"
    rows = [f"{job}|100|5|COMPLETED|4" for job in range(1, 50)]
    rows[30] = "31|100|5|COMPLETED|many"
    rows[20] = "21|100|5|SLEEPING|many"
    with pytest.raises(InputError, match=r"22.*'SLEEPING' is not a job state"):
        parse_sacct("\n".join([head, *rows]), name="log", path="jobs.psv")


def test_empty_lines_below_a_row_do_not_belong_to_it() -> None:
    """The last line of ``sacct -p`` ends with the delimiter like the others."""
    rows = split_rows("JobID|State|JobName|\n7|FAILED|a|\n8|FAILED|a|\n\n")
    assert list(rows.each()) == [(2, ["7", "FAILED", "a"]), (3, ["8", "FAILED", "a"])]
    assert rows.joined == 0


def test_a_name_goes_on_in_the_next_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sacct_rows, "_BLOCK", 8)
    rows = split_rows("JobID|State|JobName\n7|FAILED|a\nand\n\nmore\n8|FAILED|c\n")
    assert [fields for _, fields in rows.each()] == [
        ["7", "FAILED", "a\nand\n\nmore"],
        ["8", "FAILED", "c"],
    ]
    assert rows.joined == 2


def test_times_are_those_of_single_fields() -> None:
    """In the hours of a changing clock too, twice over: the second time they are known."""
    texts = [
        f"2026-{day}T{hour:02}:{minute}:07"
        for day in ("03-29", "10-25", "07-01")
        for hour in range(5)
        for minute in ("00", "30", "59")
    ] * 2 + ["1772323210", "Unknown", "", " 2026-03-01 ", "2026-03-01T01:00:10+05:00"]
    clock = Clock(ZONE)
    least = np.array([1792890000 * (row % 2) for row in range(len(texts))])
    expected = [
        parse_stamp(text, ZONE, not_before=int(low)) for text, low in zip(texts, least, strict=True)
    ]
    assert clock.stamps(Texts.of(texts), not_before=least).tolist() == expected
    assert clock.stamps(Texts.of(texts), not_before=least).tolist() == expected
    with pytest.raises(ValueError, match="is not a time"):
        clock.stamps(Texts.of([*texts, "2026-03-01T25:00:10"]))


@pytest.mark.parametrize("texts", [["1", "22"], ["1", " 2", "None", ""], ["0" * 15]])
def test_counts_are_those_of_single_fields(texts: list[str]) -> None:
    assert counts(Texts.of(texts), "NCPUS").tolist() == [
        parse_count(text, "NCPUS") for text in texts
    ]


@pytest.mark.parametrize("text", ["٣", "²", "-1", "1_0", "1" * 16, "5x"])
def test_what_is_no_count_alone_is_none_among_others(text: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        counts(Texts.of(["1", text]), "NCPUS")


def test_ids_are_those_of_single_fields() -> None:
    raw = ["7", "8", "9", "10", "11.batch", "", "12"]
    shown = ["7", "5_2", "9", "6_[1-3%2]", "11.batch", "13+1", " 12 "]
    ids = SacctIds().parse(Texts.of(raw), Texts.of(shown))
    for row, text in enumerate(shown):
        one = parse_job_id(text)
        assert ids.task[row] == one.task
        assert ids.array[row] == (one.number if one.task >= 0 or one.tasks else -1)
        assert ids.step[row] == bool(one.step)
    assert ids.number.tolist() == [7, 8, 9, 10, 11, 14, 12]
    assert list(ids.blocks) == [3]
    with pytest.raises(ValueError, match="'5_x' is not a job id"):
        SacctIds().parse(Texts.of(["7", "8"]), Texts.of(["5_1", "5_x"]))
