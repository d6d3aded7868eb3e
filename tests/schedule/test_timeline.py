"""Intervals on the time axis against a loop over seconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.schedule.runs import Spans, running_at
from shadowtime.schedule.timeline import instants, least, totals

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9)), max_size=40)


def arrays(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([row[k] for row in rows], np.int64) for k in range(3)]


@given(spans)
@settings(max_examples=examples(200), deadline=None)
def test_totals_and_least_equal_a_loop(rows: list[tuple[int, int, int]]) -> None:
    """Weight and least value of the covering intervals, instant by instant."""
    rows = [(min(a, b), max(a, b), v) for a, b, v in rows]
    since, until, value = arrays(rows)
    at = instants(since, until)
    assert at.tolist() == sorted({t for a, b, _ in rows for t in (a, b)})
    covering = [[v for a, b, v in rows if a <= t < b] for t in at.tolist()]
    assert totals(at, since, until, value).tolist() == [sum(found) for found in covering]
    best = least(at, since, until, value, nothing=99)
    assert best.tolist() == [min(found, default=99) for found in covering]


@given(spans, st.lists(st.integers(0, 45), max_size=10))
@settings(max_examples=examples(100), deadline=None)
def test_running_at_equals_a_search(rows: list[tuple[int, int, int]], times: list[int]) -> None:
    """Each moment is answered once, in time order, with exactly the runs that cover it."""
    rows = [(min(a, b), max(a, b), v) for a, b, v in rows]
    since, until, _ = arrays(rows)
    runs = Spans(row=np.arange(len(rows)), since=since, until=until)
    asked = np.array(times, np.int64)
    answers = dict(running_at(runs, asked))
    assert sorted(answers) == list(range(len(times)))
    for k, t in enumerate(times):
        expected = [r for r, (a, b, _) in enumerate(rows) if a <= t < b]
        assert sorted(answers[k].tolist()) == expected


def test_totals_takes_several_resources_at_once() -> None:
    """A weight may be a row of amounts."""
    at = np.array([0, 2, 4])
    weight = np.array([[1, 10], [2, 20]])
    used = totals(at, np.array([0, 2]), np.array([4, 4]), weight)
    assert used.tolist() == [[1, 10], [3, 30], [0, 0]]
