"""The place column: which hosts a job lay on and how many processors it had on each."""

from __future__ import annotations

from shadowtime.schedule.site_places import parse_site_place


def shares(place: str) -> tuple[tuple[str, int | None], ...]:
    """Hosts of a place and the processors on each, None where it does not say.

    A place lists hosts, separated by blanks (``;``, ``,`` and ``+`` will do), each with its
    processors behind a colon where the job lies on several. On a site the hosts of a word may be a
    host list in brackets, each with the processors behind the colon.

    Examples
    --------
    >>> shares("n1:4 n2:2"), shares("host3"), shares("")
    ((('n1', 4), ('n2', 2)), (('host3', None),), ())
    >>> shares("n[1-2]:4 n7:2")
    (('n1', 4), ('n2', 4), ('n7', 2))
    """
    if "[" in place:
        return tuple(parse_site_place(place))
    found: list[tuple[str, int | None]] = []
    for word in place.replace(";", " ").replace("+", " ").replace(",", " ").split():
        name, mark, count = word.rpartition(":")
        known = bool(mark) and count.isdecimal()
        found.append((name, int(count)) if known else (word, None))
    return tuple(found)
