"""Validation of JSON values in our own files, or files that claim to be.

A state file or a recording may be damaged, edited or forged. Everything that is read goes through
these functions, so that a wrong value is reported here and does not cause an obscure exception
later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shadowtime.errors import InputError
from shadowtime.printable import shown

LARGEST = 1 << 48
"""Beyond every time, limit and amount that a cluster has; sums of them still fit into 64 bits."""


def load(raw: str | bytes) -> dict[str, Any]:
    """The JSON object in a text.

    Examples
    --------
    >>> load('{"a": 1}')
    {'a': 1}
    >>> load("[1")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: this is not JSON (Expecting ',' delimiter): truncated, or foreign
    """
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", "") or type(error).__name__
        raise InputError(f"this is not JSON ({why}): truncated, or foreign") from None
    return mapping(values, "the whole")


def mapping(value: Any, name: str) -> dict[str, Any]:
    """An object with names."""
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    return value


def entry(values: Mapping[str, Any], name: str) -> Any:
    """A required value.

    Examples
    --------
    >>> entry({"a": 1}, "b")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: b is missing
    """
    if name not in values:
        raise InputError(f"{name} is missing")
    return values[name]


def items(value: Any, name: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return value


def text(value: Any, name: str) -> str:
    """A string that can be written to a file again."""
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, as "\ud800"
        raise _wrong(name, "a text", value) from None
    return value


def whole(value: Any, name: str, *, low: int = -LARGEST, high: int = LARGEST) -> int:
    """A whole number within bounds.

    Examples
    --------
    >>> whole(7, "now")
    7
    >>> whole(True, "now")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: now must be a whole number, not True
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "a whole number", value)
    if not low <= value <= high:
        raise InputError(f"{name} must lie between {low} and {high}, not {shown(value)}")
    return value


def number(value: Any, name: str) -> float:
    """A finite number within the same bounds; whole ones stay whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, "a number", value)
    if not -LARGEST <= value <= LARGEST:  # NaN too
        raise InputError(f"{name} must be a finite number, not {shown(value)}")
    return value


def flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def wholes(value: Any, name: str, **bounds: int) -> tuple[int, ...]:
    """A list of whole numbers."""
    return tuple(whole(one, name, **bounds) for one in items(value, name))


def texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of strings."""
    return tuple(text(one, name) for one in items(value, name))


def pairs(
    value: Any, name: str, second: Callable[[Any, str], Any] = whole
) -> tuple[tuple[str, Any], ...]:
    """A list of pairs: a string and another value.

    Examples
    --------
    >>> pairs([["n1", 4]], "place")
    (('n1', 4),)
    """
    found = []
    for pair in items(value, name):
        if len(items(pair, name)) != 2:
            raise _wrong(name, "a list of pairs", value)
        found.append((text(pair[0], name), second(pair[1], name)))
    return tuple(found)


def known(values: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Reject unknown names: the file is of another version, or foreign."""
    strange = [name for name in values if name not in names]
    if strange:
        raise InputError(f"{what} has no field {shown(strange[0])}")


def _wrong(name: str, wanted: str, value: Any) -> InputError:
    found = shown(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return InputError(f"{name} must be {wanted}, not {found}")
