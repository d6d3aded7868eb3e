"""Processors of a job by host, also where its place does not count them."""

from __future__ import annotations

from shadowtime.schedule.places import shares


def spread(place: str, procs: int) -> tuple[tuple[str, int], ...]:
    """Processors on each host of a place; what it does not say is spread evenly.

    Examples
    --------
    >>> spread("n1:4 n2:2", 6), spread("n1 n2", 5), spread("", 3)
    ((('n1', 4), ('n2', 2)), (('n1', 3), ('n2', 2)), ())
    """
    entries = shares(place)
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
