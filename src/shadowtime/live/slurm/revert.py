"""Take one change of a text back and keep every later one."""

from __future__ import annotations

import difflib
from typing import NamedTuple


class Hunk(NamedTuple):
    """Lines ``first`` to ``last`` (not included) of a text, and what stands there instead."""

    first: int
    last: int
    lines: tuple[str, ...]


def without_change(before: str, after: str, now: str) -> str | None:
    """The text of ``now`` without the change from ``before`` to ``after``.

    None if a line of that change was changed again since: which of the two is meant only a person
    can tell.

    Examples
    --------
    >>> print(without_change("a\\nb\\n", "a\\nb\\nours\\n", "later\\na\\nb\\nours\\n"), end="")
    later
    a
    b
    >>> without_change("a\\nb\\n", "a\\nb,ours\\n", "a\\nb,ours,theirs\\n")
    """
    lines = after.splitlines(keepends=True)
    back = _hunks(lines, before.splitlines(keepends=True))
    later = _hunks(lines, now.splitlines(keepends=True))
    if any(_meet(ours, theirs) for ours in back for theirs in later):
        return None
    for hunk in sorted([*back, *later], reverse=True):
        lines[hunk.first : hunk.last] = hunk.lines
    return "".join(lines)


def _hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """What changed, line by line where lines correspond."""
    found = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if j - i == m - k or k == m:
            found += [Hunk(i + n, i + n + 1, tuple(new[k + n : m][:1])) for n in range(j - i)]
        else:
            found.append(Hunk(i, j, tuple(new[k:m])))
    return found


def _meet(ours: Hunk, theirs: Hunk) -> bool:
    """Whether two changes concern the same line; new lines beside a changed one do not."""
    if theirs.first == theirs.last:
        return ours.first < theirs.first < ours.last
    return max(ours.first, theirs.first) < min(ours.last, theirs.last)
