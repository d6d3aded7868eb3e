"""Feature expressions of Slurm: ``a&b``, ``a|b``, ``!a``, brackets, and counts of nodes.

What an expression requires of each node, and of all nodes of a job together: ``[a|b]`` requires
nodes that all have a or all have b, ``[a*2&b*4]`` two nodes with a and four others with b.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from shadowtime.errors import InputError

_TOKEN = re.compile(r"\s*(\*\d+|[&|!()\[\],]|[^\s&|!()\[\],*]+)")
_COUNT = re.compile(r"\*\d+")

Condition = tuple[Any, ...]
"""What one node must have: ("name", x), ("not", c), ("and", c, ...), ("or", c, ...); in what was
read also ("choice", c) for square brackets and ("count", c, k)."""
ANY: Condition = ("and",)
MOST_COUNTS = 4
"""The largest number of counts in one choice."""
MOST_CHOICES = 16
NOT_MODELLED = (
    "counts or square brackets under `!` or under another count",
    f"more than {MOST_COUNTS} counts in one choice, more than {MOST_CHOICES} choices",
    "counts beside `--contiguous`",
)
"""Of feature expressions; jobs that use them are counted, and run without their counts."""
MOST_NESTED = 100
"""The largest number of brackets and negations in an expression."""


@dataclass(frozen=True)
class Choice:
    """One way to satisfy an expression.

    ``each`` holds for every node of the job; of ``counts`` (condition, k) at least k nodes satisfy
    the condition, and no node counts twice.
    """

    each: Condition = ANY
    counts: tuple[tuple[Condition, int], ...] = ()


def matches(text: str, have: AbstractSet[str]) -> bool:
    """True if a node with these features may be one of the job's nodes in some way.

    ``&`` binds closer than ``|``, as Slurm reads it inside brackets; a comma is ``&``.

    Examples
    --------
    >>> matches("gpu&(a100|h100)", {"gpu", "h100"}), matches("!old", {"old"}), matches("", set())
    (True, False, True)
    """
    return any(satisfies(one.each, have) for one in choices(text))


@lru_cache(maxsize=4096)
def choices(text: str) -> tuple[Choice, ...]:
    """The ways to satisfy an expression, in its order; one for most expressions.

    An expression that ``modelled`` rejects is read as a condition on each node, without its counts.

    Examples
    --------
    >>> [one.each for one in choices("[a|b]")]
    [('name', 'a'), ('name', 'b')]
    >>> choices("gpu&[a*2&(b|c)*4]")[0].each
    ('name', 'gpu')
    >>> [k for _, k in choices("gpu&[a*2&(b|c)*4]")[0].counts]
    [2, 4]
    """
    if not _TOKEN.findall(text):
        return (Choice(),)
    read = _read(text)
    return _ways(read) or (Choice(_plain(read)),)


@lru_cache(maxsize=4096)
def counted(text: str) -> tuple[tuple[Condition, int], ...]:
    """The conditions of an expression with counts as Slurm goes through them, 0 for one without.

    Nothing for expressions without counts, and for those that have several ways.

    Examples
    --------
    >>> counted("[a*2&b*1]")
    ((('name', 'a'), 2), (('name', 'b'), 1))
    >>> [count for _, count in counted("[a*2]&b")], counted("a&b")
    ([2, 0], ())
    """
    if not _TOKEN.findall(text):
        return ()
    read = _read(text)
    ways, terms = _ways(read), _terms(read)
    if len(ways) != 1 or not ways[0].counts:
        return ()
    return tuple((_plain(one[1]), one[2]) if one[0] == "count" else (one, 0) for one in terms[0])


def modelled(text: str) -> bool:
    """False if an expression has counts or brackets that ``choices`` cannot express.

    Examples
    --------
    >>> modelled("[rack1*2&rack2*4]"), modelled("a&b"), modelled("!(a*2)")
    (True, True, False)
    """
    return not _TOKEN.findall(text) or bool(_ways(_read(text)))


def satisfies(condition: Condition, have: AbstractSet[str]) -> bool:
    """True if a node with these features satisfies a condition."""
    kind, *parts = condition
    if kind == "name":
        return parts[0] in have
    if kind == "not":
        return not satisfies(parts[0], have)
    every = all if kind == "and" else any
    return every(satisfies(one, have) for one in parts)


def _ways(read: Condition) -> tuple[Choice, ...]:
    """The choices of an expression; none if it cannot be expressed."""
    found = []
    for terms in _terms(read):
        counts = tuple((_plain(one[1]), one[2]) for one in terms if one[0] == "count")
        rest = [one for one in terms if one[0] != "count"]
        conditions = [*rest, *(one[1] for one in terms if one[0] == "count")]
        too_many = len(counts) > MOST_COUNTS or any(k < 1 for _, k in counts)
        if too_many or any(_of_several(one) for one in conditions):
            return ()
        found.append(Choice(rest[0] if len(rest) == 1 else ("and", *rest), counts))
    return tuple(found) if len(found) <= MOST_CHOICES else ()


def _terms(read: Condition) -> list[list[Condition]]:
    """For each choice the conditions and counts that hold together."""
    kind, *parts = read
    if kind == "choice" and parts[0][0] == "or":
        return [terms for one in parts[0][1:] for terms in _terms(one)]
    if kind == "choice":
        return _terms(parts[0])
    if kind == "or" and any(_of_several(one) for one in parts):
        return [terms for one in parts for terms in _terms(one)]
    if kind == "and":
        each = [_terms(one) for one in parts]
        if prod(map(len, each)) > MOST_CHOICES:
            return [[("choice", ANY)]]  # which no choice can express
        return [[term for terms in one for term in terms] for one in product(*each)]
    return [[read]]


def _of_several(read: Condition) -> bool:
    """True if an expression refers to more than one node."""
    if read[0] == "name":
        return False
    return read[0] in ("choice", "count") or any(
        _of_several(one) for one in read[1:] if isinstance(one, tuple)
    )


def _plain(read: Condition) -> Condition:
    """The same as a condition on one node, without counts."""
    kind, *parts = read
    if kind == "name":
        return read
    if kind in ("choice", "count"):
        return _plain(parts[0])
    return (kind, *(_plain(one) for one in parts))


def _read(text: str) -> Condition:
    words = _TOKEN.findall(text)
    if "".join(words) != re.sub(r"\s", "", text) or sum(map(text.count, "([!")) > MOST_NESTED:
        raise _bad(text)
    value, at = _either(words, 0, text)
    if at != len(words):
        raise _bad(text)
    return value


def _either(words: list[str], at: int, text: str) -> tuple[Condition, int]:
    value, at = _both(words, at, text)
    several = [value]
    while at < len(words) and words[at] == "|":
        other, at = _both(words, at + 1, text)
        several.append(other)
    return (value if len(several) == 1 else ("or", *several)), at


def _both(words: list[str], at: int, text: str) -> tuple[Condition, int]:
    value, at = _single(words, at, text)
    several = [value]
    while at < len(words) and words[at] in "&,":
        other, at = _single(words, at + 1, text)
        several.append(other)
    return (value if len(several) == 1 else ("and", *several)), at


def _single(words: list[str], at: int, text: str) -> tuple[Condition, int]:
    if at >= len(words) or words[at] in "&|,)]" or _COUNT.fullmatch(words[at]):
        raise _bad(text)
    word = words[at]
    value: Condition
    if word == "!":
        value, at = _single(words, at + 1, text)
        return ("not", value), at
    if word in "([":
        value, at = _either(words, at + 1, text)
        if at >= len(words) or words[at] != {"(": ")", "[": "]"}[word]:
            raise _bad(text)
        value = ("choice", value) if word == "[" else value
        at += 1
    else:
        value, at = ("name", word), at + 1
    if at < len(words) and _COUNT.fullmatch(words[at]):
        return ("count", value, int(words[at][1:])), at + 1
    return value, at


def _bad(text: str) -> InputError:
    return InputError(
        f"{text[:60]!r} is not a feature expression: write it like a&b, a|b, !a, a&(b|c) or "
        "[a*2&b*4]"
    )
