"""Slurm's short form for many host names: ``n[001-004,7],gpu2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shadowtime.errors import ClusterError

MOST = 1_000_000
"""No list may represent more names than this: a typing error must not exhaust the memory."""

_NONE = {"", "none assigned", "none", "(null)", "n/a", "unknown"}
_NUMBERED = re.compile(r"(.*?[^0-9]|)([0-9]{1,9})([^0-9]*)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str) -> list[str]:
    """Every host name of a hostlist, in its order.

    Ranges keep leading zeros; several brackets in one name give every combination; the words
    Slurm writes for no host give an empty list.

    Examples
    --------
    >>> expand("n[001-003,7],gpu2")
    ['n001', 'n002', 'n003', 'n7', 'gpu2']
    >>> expand("r[1-2]n[0-1]")
    ['r1n0', 'r1n1', 'r2n0', 'r2n1']
    >>> expand("None assigned")
    []
    """
    if text.strip().lower() in _NONE:
        return []
    hosts: list[str] = []
    for word in _words(text.strip()):
        names = [""]
        for plain, inside in _pieces(word, text):
            labels = _labels(inside, text) if inside is not None else [""]
            if len(names) * len(labels) + len(hosts) > MOST:
                raise ClusterError(f"the host list {text[:60]!r} stands for more than {MOST} hosts")
            names = [name + plain + label for name in names for label in labels]
        hosts += names
    return hosts


def compress(names: Sequence[str]) -> str:
    """The short form of these names, in their order: what :func:`expand` gives back.

    Examples
    --------
    >>> compress(["n001", "n002", "n003", "n7", "gpu"])
    'n[001-003],n7,gpu'
    """
    runs: list[tuple[str, str, str, str]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            runs.append((name, "", "", ""))
            continue
        head, digits, tail = match.groups()
        if runs:
            before, low, high, after = runs[-1]
            follows = high and str(int(high) + 1).zfill(len(low) if low[0] == "0" else 0) == digits
            if follows and (before, after) == (head, tail):
                runs[-1] = (head, low, digits, tail)
                continue
        runs.append((head, digits, digits, tail))
    return ",".join(
        f"{head}{low}{tail}" if low == high else f"{head}[{low}-{high}]{tail}"
        for head, low, high, tail in runs
    )


def _words(text: str) -> list[str]:
    """Split at commas outside brackets."""
    words, depth, start = [], 0, 0
    for i, character in enumerate(text):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == "," and depth == 0:
            words.append(text[start:i])
            start = i + 1
        if depth not in (0, 1):
            raise _bad(text)
    if depth:
        raise _bad(text)
    return [word.strip() for word in (*words, text[start:])]


def _pieces(word: str, text: str) -> list[tuple[str, str | None]]:
    """A word as (plain text, what stands in the brackets after it or None)."""
    if not word:
        raise _bad(text)
    pieces: list[tuple[str, str | None]] = []
    for part in word.split("]"):
        plain, bracket, inside = part.partition("[")
        pieces.append((plain, inside if bracket else None))
    return pieces


def _labels(inside: str, text: str) -> list[str]:
    """The numbers of one pair of brackets, as they are written in names."""
    labels: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise _bad(text)
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low) or int(high) - int(low) >= MOST:
            raise _bad(text)
        width = len(low) if low.startswith("0") else 0
        labels += [str(number).zfill(width) for number in range(int(low), int(high) + 1)]
    return labels


def _bad(text: str) -> ClusterError:
    return ClusterError(f"{text[:60]!r} is not a host list: write it like n[001-004,7],gpu2")


def numbers(text: str) -> list[int]:
    """The numbers of a list like ``0-3,8``: cores, devices, sockets.

    Examples
    --------
    >>> numbers("0-3,8")
    [0, 1, 2, 3, 8]
    """
    return [int(word) for word in expand(f"[{text}]")]


def ranges(numbers: Sequence[int], width: int = 0) -> str:
    """Ascending numbers as a list of ranges, what :func:`numbers` reads; ``width`` with zeros.

    Examples
    --------
    >>> ranges([0, 1, 2, 3, 8]), ranges([7, 9, 10], 3)
    ('0-3,8', '007,009-010')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(
        f"{low:0{width}}-{high:0{width}}" if high > low else f"{low:0{width}}" for low, high in runs
    )
