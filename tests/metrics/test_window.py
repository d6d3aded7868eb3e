"""The measurement window: what it keeps, how it is written and read."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.metrics import Window
from shadowtime.metrics.statistics import percentile, rank

SUBMIT = np.array([0, 10, 20, 30, 100])


@pytest.mark.parametrize(
    ("window", "kept", "bounds"),
    [
        (Window.all(), [0, 10, 20, 30, 100], (0, 100)),
        (Window(warmup_s=10), [10, 20, 30, 100], (10, 100)),
        (Window(cooldown_s=70), [0, 10, 20, 30], (0, 30)),
        (Window(warmup_s=5, cooldown_s=75), [10, 20], (5, 25)),
        (Window(warmup_jobs=1, cooldown_jobs=2), [10, 20], (10, 20)),
        (Window(since=10, until=30), [10, 20], (10, 30)),
        (Window(since=10, warmup_jobs=2), [20, 30, 100], (20, 100)),
        (Window(warmup_jobs=9), [], (100, 100)),
    ],
)
def test_what_a_window_keeps(window: Window, kept: list[int], bounds: tuple[int, int]) -> None:
    """Inclusive at the warm-up's end and at the cool-down's beginning, until is exclusive."""
    assert SUBMIT[window.mask(SUBMIT)].tolist() == kept
    assert window.bounds(SUBMIT) == bounds


@pytest.mark.parametrize(
    ("text", "window", "words"),
    [
        ("all", Window.all(), "all jobs"),
        ("", Window.all(), "all jobs"),
        ("7d:1d", Window(warmup_s=604800, cooldown_s=86400), "the first 7 d and the last 1 d"),
        ("90m", Window(warmup_s=5400), "without the first 90 m"),
        (":2h", Window(cooldown_s=7200), "without the last 2 h"),
        ("10000:0", Window(warmup_jobs=10000), "without the first 10000 jobs"),
        ("5 jobs:1w", Window(warmup_jobs=5, cooldown_s=604800), "the last 7 d"),
        ("30s:", Window(warmup_s=30), "without the first 30 s"),
    ],
)
def test_windows_are_read_and_printed(text: str, window: Window, words: str) -> None:
    """In the form of the command line, and in that of tables."""
    assert Window.parse(text) == window
    assert words in str(window)
    assert window.as_dict()["scored"] == str(window)


def test_a_window_in_time_is_printed() -> None:
    """From and until, for results and tables."""
    assert str(Window(since=0, until=9)) == "submitted from 0 s to 9 s"
    assert Window(since=0, until=9).as_dict() == {
        "scored": "submitted from 0 s to 9 s",
        "since": 0,
        "until": 9,
    }
    assert str(Window(warmup_jobs=3, until=9)) == (
        "without the first 3 jobs, submitted from the first job to 9 s"
    )


@pytest.mark.parametrize("text", ["7x", "1d:2d:3d", "-5", "a week", "7d;1d"])
def test_bad_windows_are_refused(text: str) -> None:
    """The error has an example of what to write."""
    with pytest.raises(UsageError, match="7d:1d"):
        Window.parse(text)


def test_impossible_windows_are_refused() -> None:
    """Negative cuts and an end before the beginning."""
    with pytest.raises(UsageError, match="negative"):
        Window(warmup_s=-1)
    with pytest.raises(UsageError, match="holds nothing"):
        Window(since=5, until=5)


def test_no_jobs_no_window() -> None:
    """An empty log has an empty mask."""
    empty = np.empty(0, np.int64)
    assert Window(warmup_s=5).mask(empty).tolist() == []
    assert Window.all().bounds(empty) == (0, 0)


def test_nearest_rank_is_exact_where_floats_are_not() -> None:
    """ceil(q n) in whole numbers, for every n: the float product is sometimes off by one."""
    for n in range(1, 2000):
        assert rank(95, n) == (95 * n + 99) // 100 - 1
        assert rank(50, n) == (n + 1) // 2 - 1
    assert percentile(np.arange(1, 101), 95) == 95
    assert percentile(np.arange(1, 101), 99) == 99
