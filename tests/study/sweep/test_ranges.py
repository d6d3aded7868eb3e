"""Ranges of parameters and the policies they stand for."""

from __future__ import annotations

import pytest

from shadowtime.errors import UsageError
from shadowtime.study.sweep.ranges import expand, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..3", ["1", "2", "3"]),
        ("5..5", ["5"]),
        ("0..1 step 0.5", ["0", "0.5", "1"]),
        ("0..0.3 step 0.1", ["0", "0.1", "0.2", "0.3"]),
        ("0..1 in 3", ["0", "0.5", "1"]),
        ("1..100 log 3", ["1", "10", "100"]),
        ("-1..1", ["-1", "0", "1"]),
        ("sjf, lxfw", ["sjf", "lxfw"]),
        ("1, 4..5", ["1", "4", "5"]),
    ],
)
def test_values(text: str, expected: list[str]) -> None:
    """Ranges include both ends; computed values equal their text."""
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("3..1", "backwards"),
        ("0..0.5", "needs a step"),
        ("0..1 log 3", "above 0"),
        ("0..1 in 1", "from 2"),
        ("0..1 step 0", "above 0"),
        ("1..9999999", "at most"),
        ("1,,2", "missing"),
        ("1, 2, 1", "twice"),
        ("1...3", "cannot read"),
    ],
)
def test_values_refused(text: str, word: str) -> None:
    """Invalid ranges are rejected in one sentence."""
    with pytest.raises(UsageError, match=word):
        values(text)


def test_expand_is_the_product_of_its_ranges() -> None:
    """Two ranges give every pair, the last running fastest, each with its values."""
    found = expand("easy(reserve={1,2}, order=weighted(wait={0.1, 0.2}))")
    assert [one.text for one in found] == [
        "easy(reserve=1, order=weighted(wait=0.1))",
        "easy(reserve=1, order=weighted(wait=0.2))",
        "easy(reserve=2, order=weighted(wait=0.1))",
        "easy(reserve=2, order=weighted(wait=0.2))",
    ]
    assert found[1].settings == (("reserve", "1"), ("wait", "0.2"))
    assert {one.template for one in found} == {
        "easy(reserve={1,2}, order=weighted(wait={0.1, 0.2}))"
    }


@pytest.mark.parametrize("text", ["easy(reserve={1,2}, reserve={3,4})", "{easy, fcfs}"])
def test_expand_refused(text: str) -> None:
    """A range needs a parameter of its own."""
    with pytest.raises(UsageError):
        expand(text)
