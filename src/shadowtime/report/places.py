"""The place column: which hosts a job lay on and how many processors it had on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Share = tuple[str, int]


def _entries(place: str) -> tuple[tuple[str, int | None], ...]:
    """Hosts of a place and their processors, None where it does not say."""
    found = []
    for word in place.replace(";", " ").replace("+", " ").replace(",", " ").split():
        name, mark, count = word.rpartition(":")
        if mark and count.isdigit():
            found.append((name, int(count)))
        else:
            found.append((word, None))
    return tuple(found)


def shares(place: str, procs: int) -> tuple[Share, ...]:
    """Processors of a job by host.

    A place lists hosts, each with its processors behind a colon where they are known; what is
    not said is spread evenly, the first hosts taking what does not divide.

    Examples
    --------
    >>> shares("n1:4 n2:2", 6), shares("n1 n2", 5), shares("", 3)
    ((('n1', 4), ('n2', 2)), (('n1', 3), ('n2', 2)), ())
    """
    entries = _entries(place)
    open_hosts = sum(count is None for _, count in entries)
    left = procs - sum(count or 0 for _, count in entries)
    each, spare = divmod(max(left, 0), open_hosts) if open_hosts else (0, 0)
    result = []
    for name, count in entries:
        if count is None:
            count, spare = each + (spare > 0), spare - (spare > 0)
        if count:
            result.append((name, count))
    return tuple(result)


def unknown_hosts(places: Sequence[str], names: set[str]) -> set[str]:
    """Hosts that the schedule names and the cluster does not have."""
    return {name for place in set(places) for name, _ in _entries(place)} - names
