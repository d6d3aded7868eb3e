"""The compiled part of the SWF reader: bytes in, columns out.

One pass over the bytes, nothing allocated. The rules it applies are data: the range of every
field and whether its fractions are rounded come from :mod:`shadowtime.trace.swf`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.kernel.jit import entry, kernel
from shadowtime.types import AnyArray, Ints, Rows

FIELDS = 18
SUBMIT_FIELD, RUN_FIELD = 1, 3

FINDINGS = whole(
    "rows",
    "comments",
    "extra_columns",
    "bad_lines",
    # Of the first bad line:
    "bad_line",
    "bad_field",
    "bad_code",
    "bad_start",
    "bad_end",
    # Fractions that were rounded, by kind of field:
    "times",
    "cpu_times",
    "memory",
    "excused",
)

# What a field's fractions are: none allowed, or rounded and counted under one of three names.
WHOLE = 0
TIME = 1
CPU = 2
MEMORY = 3

# What can be wrong with a line.
FINE = 0
NOT_A_NUMBER = 1
OUT_OF_RANGE = 2
NOT_WHOLE = 3
TOO_FEW = 4

_SAFE = 10**17  # a number below it takes one more digit without leaving 64 bits

_TAB, _NEWLINE, _RETURN, _BLANK = 9, 10, 13, 32
_PLUS, _MINUS, _POINT, _ZERO, _NINE, _SEMICOLON = 43, 45, 46, 48, 57, 59
_UPPER_E, _LOWER_E = 69, 101

_NOTHING, _ONE, _TEN = np.uint64(0), np.uint64(1), np.uint64(10)
_FIRST_DIGIT, _LAST_DIGIT, _DIGITS = np.uint64(_ZERO), np.uint64(9), np.uint64(18)
"""The code of 0; the largest digit; so many of them fit into 64 bits."""


@kernel
def decimal(data: AnyArray, start: int, end: int) -> tuple[int, int, int]:
    """Read ``data[start:end]`` as a decimal number, rounded half up to a whole one.

    Returns (code, value, 1 if a fraction was rounded away). Digits are taken one by one, so
    no binary fraction decides what a half is.
    """
    i = start
    negative = False
    if i < end and (data[i] == _MINUS or data[i] == _PLUS):
        negative = data[i] == _MINUS
        i += 1
    first = i
    digits = 0
    before_point = -1
    while i < end:
        c = data[i]
        if _ZERO <= c <= _NINE:
            digits += 1
        elif c == _POINT and before_point < 0:
            before_point = digits
        else:
            break
        i += 1
    if digits == 0:
        return NOT_A_NUMBER, 0, 0
    if before_point < 0:
        before_point = digits
    exponent: Any = 0
    if i < end and (data[i] == _LOWER_E or data[i] == _UPPER_E):
        i += 1
        downwards = False
        if i < end and (data[i] == _MINUS or data[i] == _PLUS):
            downwards = data[i] == _MINUS
            i += 1
        if i == end:
            return NOT_A_NUMBER, 0, 0
        while i < end and _ZERO <= data[i] <= _NINE:
            if exponent < 100000:
                exponent = exponent * 10 + (np.int64(data[i]) - _ZERO)
            i += 1
        if downwards:
            exponent = -exponent
    if i != end:
        return NOT_A_NUMBER, 0, 0

    whole = before_point + exponent  # so many digits stand before the point
    value: Any = np.int64(0)
    tenths: Any = np.int64(0)
    rest = False
    seen = 0
    i = first
    while seen < digits:
        c = data[i]
        i += 1
        if c == _POINT:
            continue
        digit = np.int64(c) - _ZERO
        if seen < whole:
            if value >= _SAFE:
                return OUT_OF_RANGE, 0, 0
            value = value * 10 + digit
        elif seen == whole:
            tenths = digit
        elif digit != 0:
            rest = True
        seen += 1
    while seen < whole and value != 0:
        if value >= _SAFE:
            return OUT_OF_RANGE, 0, 0
        value *= 10
        seen += 1
    fraction = 1 if tenths != 0 or rest else 0
    if negative:
        if tenths > 5 or (tenths == 5 and rest):
            value += 1
        value = -value
    elif tenths >= 5:
        value += 1
    return FINE, value, fraction


@kernel
def plain_fields(
    data: AnyArray, start: int, low: Ints, high: Ints, table: Ints, row: int
) -> tuple[Any, Any]:
    """Read the fields of a line from its beginning while they are whole numbers between blanks.

    Returns where it stopped and how many it read; what is left, of most lines nothing, is for
    ``scan``. Unsigned places: a signed one may be negative in Numba's eyes, a branch a byte.
    """
    at, end, place = np.uint64(start), np.uint64(len(data)), np.uint64(row)
    field, fields = _NOTHING, np.uint64(FIELDS)
    while field < fields:
        while at < end and data[at] == _BLANK:
            at += _ONE
        there = at
        negative = at < end and data[at] == _MINUS
        if negative:
            there += _ONE
        first = there
        number = _NOTHING
        while there < end:
            digit = np.uint64(data[there]) - _FIRST_DIGIT
            if digit > _LAST_DIGIT:
                break
            number = number * _TEN + digit
            there += _ONE
        if there == first or there - first > _DIGITS:
            break
        if there < end and data[there] != _BLANK and data[there] != _NEWLINE:
            break
        value = -np.int64(number) if negative else np.int64(number)
        if value < low[field] or value > high[field]:
            break
        table[field, place] = value
        field += _ONE
        at = there
    return np.int64(at), np.int64(field)


@entry
def scan(
    data: AnyArray,
    low: Ints,
    high: Ints,
    kind: Ints,
    drop_bad: bool,
    table: Ints,
    lines: Ints,
    comments: Ints,
    found: Rows,
) -> None:
    """Fill ``table[field, row]``, ``lines[row]``, ``comments`` (offsets) and ``found`` in place.

    Stops at the first bad line, or counts and leaves out all of them if ``drop_bad``; the first
    one is described in ``found`` either way.
    """
    n = len(data)
    i = 0
    line = 0
    row = 0
    while i < n:
        line += 1
        code = FINE
        start = i
        i, field = plain_fields(data, i, low, high, table, row)
        rounded_time = 0
        rounded_cpu = 0
        rounded_memory = 0
        fields_left_over = False
        excused = 0
        while True:
            while i < n and (data[i] == _BLANK or data[i] == _TAB or data[i] == _RETURN):
                i += 1
            if i >= n or data[i] == _NEWLINE:
                break
            if data[i] == _SEMICOLON:
                if field == 0:
                    comments[found["comments"][0]] = i
                    found["comments"][0] += 1
                while i < n and data[i] != _NEWLINE:
                    i += 1
                break
            if field == FIELDS:
                fields_left_over = True
                while i < n and data[i] != _NEWLINE:
                    i += 1
                break

            # The usual token is a short whole number: read it on the way to its end.
            start = i
            negative = data[i] == _MINUS
            if negative:
                i += 1
            first = i
            value: Any = np.int64(0)
            while i < n and _ZERO <= data[i] <= _NINE and i - first < 18:
                value = value * 10 + (np.int64(data[i]) - _ZERO)
                i += 1
            plain = i > first and (
                i >= n
                or data[i] == _BLANK
                or data[i] == _NEWLINE
                or data[i] == _TAB
                or data[i] == _RETURN
                or data[i] == _SEMICOLON
            )
            if plain:
                if negative:
                    value = -value
            else:
                while i < n and not (
                    data[i] == _BLANK
                    or data[i] == _NEWLINE
                    or data[i] == _TAB
                    or data[i] == _RETURN
                    or data[i] == _SEMICOLON
                ):
                    i += 1
                code, value, fraction = decimal(data, start, i)
                if fraction != 0:
                    if kind[field] == WHOLE:
                        code = NOT_WHOLE
                    elif kind[field] == TIME:
                        rounded_time = 1
                    elif kind[field] == CPU:
                        rounded_cpu = 1
                    else:
                        rounded_memory = 1
            if code == FINE and (value < low[field] or value > high[field]):
                code = OUT_OF_RANGE
            if (
                code == OUT_OF_RANGE
                and field > RUN_FIELD
                and (table[RUN_FIELD, row] <= 0 or table[SUBMIT_FIELD, row] < 0)
            ):
                # Cleaning drops a job that did not run: its line must not make the log unreadable.
                value = low[field] if data[start] == _MINUS else high[field]
                code = FINE
                excused = 1
            if code != FINE:
                break
            table[field, row] = value
            field += 1

        end = i
        if code == FINE and 0 < field < FIELDS:
            code = TOO_FEW
            start = i
        if code != FINE:
            found["bad_lines"][0] += 1
            if found["bad_lines"][0] == 1:
                found["bad_line"][0] = line
                found["bad_field"][0] = field
                found["bad_code"][0] = code
                found["bad_start"][0] = start
                found["bad_end"][0] = end
            if not drop_bad:
                break
        elif field == FIELDS:
            lines[row] = line
            row += 1
            found["excused"][0] += excused
            found["times"][0] += rounded_time
            found["cpu_times"][0] += rounded_cpu
            found["memory"][0] += rounded_memory
            if fields_left_over:
                found["extra_columns"][0] += 1
        while i < n and data[i] != _NEWLINE:
            i += 1
        i += 1
    found["rows"][0] = row
