"""The values in sacct's output: one test per row of the format's table."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from shadowtime.slurmtext.fields import NOT_ENDED, STATES, parse_count, parse_reqmem, parse_state
from shadowtime.slurmtext.job_id import JobId, parse_job_id
from shadowtime.slurmtext.times import UNLIMITED, parse_minutes, parse_span, parse_stamp
from shadowtime.slurmtext.tres import gpus_of, parse_tres

UTC = ZoneInfo("UTC")
ZURICH = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784), ("02:03:04", 7384), ("03:04", 184), ("00:00:00", 0),
        ("00:01.499999", 1), ("00:01.500000", 2), ("365-00:00:00", 31536000),
        ("UNLIMITED", UNLIMITED), ("unlimited", UNLIMITED), ("Partition_Limit", UNLIMITED),
        ("", -1), ("INVALID", -1), ("Unknown", -1),
    ],
)  # fmt: skip
def test_time_spans(text: str, seconds: int) -> None:
    assert parse_span(text) == seconds


@pytest.mark.parametrize("text", ["5", "1-5", "a:b", "1:2:3:4", "-1:00", "1-02:03:04x", "01:0٣"])
def test_bad_time_spans(text: str) -> None:
    if text == "01:0٣":  # a digit of another script counts as a digit in Python
        assert parse_span(text) == 63
        return
    with pytest.raises(ValueError, match="not a time span"):
        parse_span(text)


def test_raw_time_limits_are_minutes_or_a_word() -> None:
    assert parse_minutes("90") == 5400
    assert parse_minutes("UNLIMITED") == UNLIMITED
    assert parse_minutes("Partition_Limit") == UNLIMITED
    assert parse_minutes("") == -1
    with pytest.raises(ValueError, match="TimelimitRaw"):
        parse_minutes("1:30")


def test_counts() -> None:
    assert parse_count(" 12 ", "NCPUS") == 12
    assert parse_count("", "NCPUS") == -1
    for text in ("-3", "1.5", "many", "²", "9" * 16):
        with pytest.raises(ValueError, match="NCPUS"):
            parse_count(text, "NCPUS")


def test_time_stamps_are_local_or_epochs() -> None:
    assert parse_stamp("2026-07-01T12:00:00", UTC) == 1782907200
    assert parse_stamp("2026-07-01T12:00:00", ZURICH) == 1782900000
    assert parse_stamp("2026-07-01T12:00:00+02:00", UTC) == 1782900000
    assert parse_stamp("1782900000", ZURICH) == 1782900000
    for text in ("Unknown", "None", "", "N/A"):
        assert parse_stamp(text, UTC) == -1


def test_the_hour_that_occurs_twice() -> None:
    """On 2026-10-25 Zurich's clocks go from 03:00 back to 02:00."""
    first = parse_stamp("2026-10-25T02:30:00", ZURICH)
    assert parse_stamp("2026-10-25T02:30:00", ZURICH, not_before=first + 1) == first + 3600
    assert parse_stamp("2026-10-25T02:30:00", ZURICH, not_before=first) == first


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00", "1969-01-01T00:00:00", "-5",
                                  "9999999999999", "0001-01-01T00:00:00"])  # fmt: skip
def test_bad_time_stamps(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a time|before 1970"):
        parse_stamp(text, ZURICH)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("COMPLETED", "COMPLETED"), ("CANCELLED by 1234", "CANCELLED"), ("CANCELLE+", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"), ("OUT_OF_ME+", "OUT_OF_MEMORY"), ("completed", "COMPLETED"),
        ("NODE_FAIL", "NODE_FAIL"),
    ],
)  # fmt: skip
def test_states(text: str, state: str) -> None:
    assert parse_state(text) == state


def test_every_short_state_and_which_have_not_ended() -> None:
    shorts = ["BF", "CA", "CD", "DL", "F", "NF", "OOM", "PD", "PR", "R", "RQ", "RS", "RV", "S"]
    shorts += ["TO"]
    names = [parse_state(short) for short in shorts]
    assert [STATES[name] for name in names] == shorts
    open_ = [short for short, name in zip(shorts, names, strict=True) if name in NOT_ENDED]
    assert open_ == ["PD", "R", "RQ", "RS", "S"]


@pytest.mark.parametrize("text", ["", "  ", "DONE", "RE+", "+"])
def test_bad_states(text: str) -> None:
    with pytest.raises(ValueError, match="not a job state"):
        parse_state(text)


@pytest.mark.parametrize(
    ("text", "cpus", "nodes", "kb"),
    [
        ("4000Mc", 8, 2, 8 * 4000 * 1024),
        ("4Gn", 8, 2, 2 * 4 << 20),
        ("0n", 8, 2, -1),
        ("0", 8, 2, -1),
        ("4G", 8, 2, 4 << 20),
        ("4000", 8, 2, 4000 * 1024),
        ("1.50T", 8, 2, 3 << 29),
        ("16?", 8, 2, 16 * 1024),
        ("2Gn", 8, -1, 2 << 20),
        ("", 8, 2, -1),
    ],
)
def test_requested_memory_of_old_and_new_versions(
    text: str, cpus: int, nodes: int, kb: int
) -> None:
    assert parse_reqmem(text, cpus, nodes) == kb


def test_bad_requested_memory() -> None:
    with pytest.raises(ValueError, match="ReqMem"):
        parse_reqmem("plenty", 1, 1)


def test_trackable_resources() -> None:
    text = "billing=2,cpu=1,gres/gpu=4,gres/gpu:a100=4,mem=5G,node=1,energy=,fs/disk=x"
    tres = parse_tres(text)
    assert dict(tres) == {
        "billing": 2, "cpu": 1, "gres/gpu": 4, "gres/gpu:a100": 4, "mem": 5 << 20, "node": 1,
    }  # fmt: skip
    assert parse_tres("mem=4000M") == {"mem": 4000 << 10}
    assert parse_tres("") == {}
    for bad in ("cpu", "cpu=1,mem=lots"):
        with pytest.raises(ValueError, match="like"):
            parse_tres(bad)


def test_typed_and_untyped_gpus_are_the_same_ones() -> None:
    assert gpus_of({"gres/gpu": 4, "gres/gpu:a100": 4}) == 4
    assert gpus_of({"gres/gpu": 1, "gres/gpu:1g.5gb": 7}) == 1
    assert gpus_of({"gres/gpu:a100": 1, "gres/gpu:v100": 2}) == 3
    assert gpus_of({"cpu": 1}) == 0


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("123", JobId(123)),
        ("123.batch", JobId(123, step="batch")),
        ("123.extern", JobId(123, step="extern")),
        ("123.0", JobId(123, step="0")),
        ("123_7", JobId(123, task=7)),
        ("123_7.batch", JobId(123, task=7, step="batch")),
        ("123_[1-9,20-30:2%5]", JobId(123, tasks=15)),
        ("123_[5]", JobId(123, tasks=1)),
        ("123_[1-5,8-...", JobId(123, tasks=5)),
        ("123_[...", JobId(123, tasks=1)),
        ("123+0", JobId(123, component=0)),
        ("123+1.batch", JobId(123, component=1, step="batch")),
    ],
)
def test_job_ids(text: str, job: JobId) -> None:
    assert parse_job_id(text) == job


@pytest.mark.parametrize("text", ["", "abc", "123_", "1234567+", "-5", "12 34", "123_x"])
def test_bad_job_ids(text: str) -> None:
    with pytest.raises(ValueError, match="not a job id"):
        parse_job_id(text)
