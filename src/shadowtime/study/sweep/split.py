"""From runs to units of work: grouped by log, small enough to share out and to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.study.sweep.plan import Case

MOST = 1000
"""Runs in a unit: a file for each thousand is little for a file system and a table to collect."""
SECONDS = 60.0
"""What a unit should take at most."""
PER_RUN, PER_JOB = 0.002, 2e-5
"""Seconds that a run takes, about: a guess on the safe side, for sharing out only."""
EACH = 4
"""Units per worker at least, so that no worker waits long for the last."""


def cost(jobs: int) -> float:
    """Seconds that a run of so many jobs takes, about."""
    return PER_RUN + PER_JOB * jobs


def split(
    cases: Iterable[Case], *, workers: int, jobs: Mapping[str, int] | None = None
) -> list[tuple[Case, ...]]:
    """Runs in units of one log each; ``jobs`` is the number of jobs by the digest of a log.

    Examples
    --------
    >>> split([], workers=2)
    []
    """
    known = jobs or {}
    by_log: dict[str, list[Case]] = {}
    for case in cases:
        by_log.setdefault(case.log.digest, []).append(case)
    total = sum(map(len, by_log.values()))
    share = max(1, total // (EACH * workers))
    units = []
    for log, mine in by_log.items():
        fast_enough = max(1, int(SECONDS / cost(known.get(log, 10_000))))
        size = min(MOST, share, fast_enough)
        units += [tuple(mine[at : at + size]) for at in range(0, len(mine), size)]
    return units


def shard_of(cases: Sequence[Case], text: str | None) -> list[Case]:
    """The runs of one of N tasks: ``3/64`` is the third of 64 stretches of nearly equal length.

    Every run is in exactly one stretch, whatever is done already, so tasks never share one.
    """
    if text is None:
        return list(cases)
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"the shard {text!r} is not i/N with i from 1 to N, as in 3/64")
    i, n = int(number), int(count)
    return list(cases[len(cases) * (i - 1) // n : len(cases) * i // n])
