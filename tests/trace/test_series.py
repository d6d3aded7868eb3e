"""Series from CSV files: dates, seconds and times of day; what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shadowtime.errors import InputError, UsageError
from shadowtime.trace.series import read_series, with_series
from shadowtime.workload import Workload
from shadowtime.workload.scale import from_zero

MAY = 1_714_521_600
"""2024-05-01, midnight UTC."""


def made(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "series.csv"
    path.write_text(text)
    return path


def test_dates_are_placed_on_the_clock_of_the_log(tmp_path):
    """With a zone or in UTC; the name of the value is its unit."""
    path = made(tmp_path, "time,g/kWh\n2024-05-01T00:00:00,300\n2024-05-01T03:00:00+02:00,120.5\n")
    read = read_series(path, name="carbon", epoch=MAY - 100)
    assert read.time.tolist() == [100, 3700] and read.value.tolist() == [300.0, 120.5]
    assert read.unit == "g/kWh" and read.period == 0


def test_seconds_need_no_epoch(tmp_path):
    read = read_series(made(tmp_path, "0,1\n60,2\n"), name="x")
    assert read.time.tolist() == [0, 60] and read.at([59, 60]).tolist() == [1.0, 2.0]


def test_times_of_day_repeat(tmp_path):
    """On a clock that began at any time of day."""
    path = made(tmp_path, "08:00,5\n20:00,9\n")
    for epoch in (MAY, MAY + 3600 * 9, MAY + 3600 * 22):
        read = read_series(path, name="cap", epoch=epoch)
        for hour in range(60):
            clock = (epoch // 3600 + hour) % 24
            assert read.at(3600 * hour) == (5.0 if 8 <= clock < 20 else 9.0)


def test_a_moved_log_takes_its_series_along():
    jobs = Workload.build(submit=[500, 600], run=[1, 1], procs=[1, 1])
    path_free = read_of([(500, 1.0), (550, 2.0)])
    moved = from_zero(jobs.replace(series={"x": path_free}))
    assert moved.series["x"].time.tolist() == [0, 50]


def read_of(steps):
    from shadowtime.workload.series import Series

    return Series(
        name="x", time=np.array([t for t, _ in steps]), value=np.array([v for _, v in steps])
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no value in it"),
        ("time,price\n", "there is no value in it"),
        ("0,1\n0,2\n", "the times do not ascend"),
        ("0,1\nyesterday,2\n", "'yesterday' is no time"),
        ("0,1\n5,dear\n", "'dear' is no number"),
        ("0,1,2\n", "3 cells, not 2"),
        ("0,1\n08:00,2\n", "mixes seconds and times of day"),
        ("2024-05-01,1\n", "the log does not say when its clock began"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_series(made(tmp_path, text), name="x")


def test_an_option_without_a_name_is_refused():
    jobs = Workload.build(submit=[0], run=[1], procs=[1])
    with pytest.raises(UsageError, match=r"write NAME=FILE\.csv"):
        with_series(jobs, ["prices.csv"])
