"""Broken input on purpose: mutators, and the one rule that every reader must keep.

The rule: whatever the input, a reader returns a value or raises one of our errors, with a
sentence. A ``Format`` is a way to make broken input and the reader that it is for; the suite runs
each for a few thousand records (``test_fuzz.py``), ``scripts/check fuzz`` for a million in all.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shadowtime.errors import ShadowtimeError

NASTY = [
    "nan", "inf", "-inf", "-", "+", ".", "1e400", "1e5", "-1", "0", "00", "9" * 19, "9" * 40,
    "9" * 5000, "1.5", "-0.0", "0x10", "1_000", "\x00", "\ufffe", "\ud800".encode(
        "utf-8", "replace").decode(), "|", "||", ";", ",", '"', "'", "\n", "\r", "\t", " ", "", "=",
    "[", "]", "[[", "{", "}", "(", ")", "\\", "#", "%", "*", "/", "\x1b[31m", "\u202e", "\u0663",
    "\u00b2", "\U0001f642", "null", "true", "None", "(null)", "N/A", "UNLIMITED", "Unknown",
    "None assigned", "INVALID", "CANCELLED by 5", "1-02:03:04", "4Gn", "123_[1-9%5]", "7.batch",
    "7+1", "2026-02-30T00:00:00", "9999-12-31T23:59:59", "0001-01-01T00:00:00", "cpu=1,mem=9999P",
    "n[1-", "n[1-999999999]", "n[3-1]", "n[001-9]", "=" * 50, "[" * 200, "(" * 200,
]  # fmt: skip
"""Tokens that have broken readers before, ours or others'."""

SEPARATORS = ("|", ",", " ", "=", ":", "\t")
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 1.5, -1e300, 1e308, float("inf"), float("nan"), 2**63, 10**400,
    "", "x", "9" * 5000, "\x1b[2J", [], [None], {}, {"": None}, [[[]]], {"a": {"a": []}},
]  # fmt: skip
"""What a JSON document may hold where something else belongs."""


def broken_text(text: str, rng: random.Random, *, faults: int = 3) -> str:
    """The text with one to ``faults`` things wrong with it: letters, fields, tokens, lines."""
    for _ in range(rng.randint(1, faults)):
        at = rng.randrange(len(text) + 1)
        what = rng.randrange(9)
        if what == 0:
            text = (
                text[:at]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0xD800))))
                + text[at + 1 :]
            )
        elif what == 1:
            text = text[:at] + text[at + rng.randint(1, 8) :]
        elif what == 2:
            text = text[:at] + rng.choice(NASTY) + text[at:]
        elif what == 3:
            text = text[:at] + text[max(0, at - rng.randint(1, 20)) :]
        elif what in (4, 5):
            text = _other_field(text, rng, swap=what == 5)
        elif what in (6, 7):
            text = _other_line(text, rng, again=what == 7)
        else:
            text = text[:at]
    return text


def _other_field(text: str, rng: random.Random, *, swap: bool) -> str:
    mark = rng.choice([mark for mark in SEPARATORS if mark in text] or [" "])
    fields = text.split(mark)
    i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
    if swap:
        fields[i], fields[j] = fields[j], fields[i]
    else:
        fields[i] = rng.choice(NASTY)
    return mark.join(fields)


def _other_line(text: str, rng: random.Random, *, again: bool) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if again:
        lines.insert(j, lines[i])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def broken_bytes(data: bytes, rng: random.Random, *, faults: int = 3) -> bytes:
    """The bytes with one to ``faults`` things wrong with them."""
    for _ in range(rng.randint(1, faults)):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(4)
        if what == 0:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif what == 1:
            data = data[:at] + data[at + rng.randint(1, 8) :]
        elif what == 2:
            data = data[:at] + rng.choice(NASTY).encode() + data[at:]
        else:
            data = data[: rng.randrange(len(data) + 1)] + data[at:]
    return data


def broken_json(value: Any, rng: random.Random, *, faults: int = 3) -> Any:
    """A copy of a JSON value with some parts exchanged, dropped, doubled or renamed."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, faults)):
        places = list(_places(value))
        if not places:
            return copy.deepcopy(rng.choice(VALUES))
        holder, key = rng.choice(places)
        what = rng.randrange(5)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif what == 2:
            other, there = rng.choice(places)
            holder[key] = copy.deepcopy(other[there])
        elif what == 3 and isinstance(holder, dict):
            holder[rng.choice(NASTY)] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return value


def _places(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            yield from _places(value[key])


def broken_json_text(value: Any, rng: random.Random) -> str:
    """JSON text of a broken value; one time in four the text itself is broken, too."""
    text = json.dumps(broken_json(value, rng))
    return broken_text(text, rng) if rng.randrange(4) == 0 else text


def answer(read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What the reader returns, or None with one of our errors; anything else is raised."""
    try:
        return read(*arguments, **options)
    except ShadowtimeError as error:
        assert str(error).strip(), "an error without a sentence"
        return None


@dataclass(frozen=True)
class Format:
    """A reader, and a way to make broken input for it.

    ``make(rng)`` returns the input and how many records of it are broken; ``read`` gets the input
    and must keep the rule of :func:`answer`.
    """

    name: str
    make: Callable[[random.Random], tuple[Any, int]]
    read: Callable[[Any], Any]
    records: int = 2_000
    """How many the suite breaks: fewer where each is a file."""


def lines_of(
    line: Callable[[random.Random], str], *, header: Sequence[str] = (), lines: int = 20
) -> Callable[[random.Random], tuple[str, int]]:
    """Input of many records, one a line, every second one broken; the header one time in three."""

    def make(rng: random.Random) -> tuple[str, int]:
        rows = [line(rng) for _ in range(lines)]
        hit = [broken_text(row, rng) if rng.random() < 0.5 else row for row in rows]
        top = "\n".join(header)
        if top and rng.randrange(3) == 0:
            top = broken_text(top, rng)
        return "\n".join([top, *hit] if top else hit), lines

    return make


def texts(*samples: str) -> Callable[[random.Random], tuple[str, int]]:
    """Input made by breaking one of these good texts; it counts as one record."""
    return lambda rng: (broken_text(rng.choice(samples), rng), 1)


def documents(*samples: Any) -> Callable[[random.Random], tuple[str, int]]:
    """JSON text made by breaking one of these values; it counts as one record."""
    return lambda rng: (broken_json_text(rng.choice(samples), rng), 1)


@dataclass
class Tally:
    """What a run over one format came to."""

    name: str
    records: int = 0
    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    strange: Counter[str] = field(default_factory=Counter)
    """Errors that are not ours, by kind, message and place."""
    example: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """For each of them the seed and the input that showed it first."""


def fuzz(one: Format, *, records: int, seconds: float | None = None, first_seed: int = 0) -> Tally:
    """Break and read until so many records were broken, or the time is over."""
    tally = Tally(one.name)
    begin = time.monotonic()
    seed = first_seed
    while tally.records < records:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        given, broken = one.make(random.Random(f"{one.name}:{seed}"))
        since = time.monotonic()
        if not tally.inputs:
            begin = since  # the first input may have had a pass compiled
        try:
            tally.accepted += answer(one.read, given) is not None
        except Exception as error:
            kind = f"{type(error).__name__}: {str(error)[:100]} ({_place(error)})"
            tally.strange[kind] += 1
            tally.example.setdefault(kind, (seed, given))
        tally.slowest = max(tally.slowest, time.monotonic() - since)
        tally.records, tally.inputs, seed = tally.records + broken, tally.inputs + 1, seed + 1
    tally.seconds = time.monotonic() - begin
    return tally


def _place(error: BaseException) -> str:
    """The deepest line of ours in the traceback."""
    at, found = error.__traceback__, "?"
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if "shadowtime" in file and "fuzz" not in file:
            found = f"{file.rpartition('/')[2]}:{at.tb_lineno}"
        at = at.tb_next
    return found


def must_be_clean(tally: Tally) -> None:
    """Fail with every kind of strange error and the seed that shows it."""
    lines = [
        f"{count} x {kind}\n    seed {seed}: {str(given)[:300]!r}"
        for kind, count in tally.strange.most_common()
        for seed, given in [tally.example[kind]]
    ]
    assert not lines, f"{tally.name}: errors that are not ours\n" + "\n".join(lines)
