"""Feature expressions of Slurm: ``a&b``, ``a|b``, ``!a``, brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_TOKEN = re.compile(r"\s*([&|!()\[\],]|[^\s&|!()\[\],]+)")


def matches(text: str, have: AbstractSet[str]) -> bool:
    """True if a node with these features satisfies the expression.

    ``&`` binds closer than ``|``, as Slurm reads it inside brackets; a count (``a*2``) and a comma
    say nothing about one node and are read as the feature and as ``&``.

    Examples
    --------
    >>> matches("gpu&(a100|h100)", {"gpu", "h100"}), matches("!old", {"old"}), matches("", set())
    (True, False, True)
    >>> matches("[a*2&b*1]", {"a", "b"})
    True
    """
    words = _TOKEN.findall(text)
    if not words:
        return True
    value, at = _either(words, 0, have, text)
    if at != len(words):
        raise _bad(text)
    return value


def counts_nodes(text: str) -> bool:
    """True if the expression asks for so many nodes of a feature."""
    return "*" in text


def _either(words: list[str], at: int, have: AbstractSet[str], text: str) -> tuple[bool, int]:
    value, at = _both(words, at, have, text)
    while at < len(words) and words[at] == "|":
        other, at = _both(words, at + 1, have, text)
        value = value or other
    return value, at


def _both(words: list[str], at: int, have: AbstractSet[str], text: str) -> tuple[bool, int]:
    value, at = _single(words, at, have, text)
    while at < len(words) and words[at] in "&,":
        other, at = _single(words, at + 1, have, text)
        value = value and other
    return value, at


def _single(words: list[str], at: int, have: AbstractSet[str], text: str) -> tuple[bool, int]:
    if at >= len(words):
        raise _bad(text)
    word = words[at]
    if word == "!":
        value, at = _single(words, at + 1, have, text)
        return not value, at
    if word in "([":
        value, at = _either(words, at + 1, have, text)
        if at >= len(words) or words[at] not in ")]":
            raise _bad(text)
        return value, at + 1
    if word in "&|,)]":
        raise _bad(text)
    return word.partition("*")[0] in have, at + 1


def _bad(text: str) -> InputError:
    return InputError(
        f"{text[:60]!r} is not a feature expression: write it like a&b, a|b, !a or a&(b|c)"
    )
