"""Processors of a job by host, even if its place does not count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.schedule.places import shares
from shadowtime.schedule.site_places import parse_site_place

if TYPE_CHECKING:
    from collections.abc import Sequence


def spread(place: str, procs: int) -> tuple[tuple[str, int], ...]:
    """Processors on each host of a place; the rest is spread evenly.

    Examples
    --------
    >>> spread("n1:4 n2:2", 6), spread("n1 n2", 5), spread("", 3)
    ((('n1', 4), ('n2', 2)), (('n1', 3), ('n2', 2)), ())
    >>> spread("n[1-2]:4 gpu7,n9:2", 12)
    (('n1', 4), ('n2', 4), ('gpu7', 2), ('n9', 2))
    """
    entries = [entry for word in place.split() for entry in _entries(word)]
    silent = sum(count is None for _, count in entries)
    left = procs - sum(count or 0 for _, count in entries)
    each, spare = divmod(max(left, 0), silent) if silent else (0, 0)
    result = []
    for name, count in entries:
        if count is None:
            count, spare = each + (spare > 0), spare - (spare > 0)
        if count:
            result.append((name, count))
    return tuple(result)


def _entries(word: str) -> Sequence[tuple[str, int | None]]:
    """A site writes nodes of equal processors as one host list; elsewhere hosts stand alone."""
    listed = "[" in word or ("," in word and word.count(":") == 1)
    return parse_site_place(word) if listed else shares(word)
