"""The twenty estimates that nine in ten jobs use, and how popular each is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

HEAD = 20
HEAD_SHARE = 89.0
"""Percent of the jobs that use one of the twenty most popular estimates."""
MINUTE, HOUR = 60, 3600
SHORTEST_MAX = 100 * MINUTE
"""Below this the multiples of five minutes do not give twenty different times."""

EVERYWHERE = tuple(MINUTE * m for m in (5, 15, 10, 20, 30)) + tuple(
    HOUR * h for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)
)
"""The estimates that are popular in every log the model was made from."""

ROUND = tuple(HOUR * h for h in (200, 100, 50, 10, 5, 2, 1)) + tuple(
    MINUTE * m for m in (20, 10, 5)
)
"""Multiples of these fill the head up, the roundest first."""

RANKS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip
"""Popularity by place in time (maximum first, then rising) in SDSC-106, CTC, KTH and BLUE."""


def head_times(max_estimate: int) -> tuple[int, ...]:
    """The twenty popular estimates in seconds: the maximum first, the rest rising.

    Examples
    --------
    >>> [t // 60 for t in head_times(6000)]
    [100, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95]
    """
    if max_estimate < SHORTEST_MAX:
        raise UsageError(
            f"the largest estimate is {max_estimate} s; the model needs at least {SHORTEST_MAX} s "
            "to find twenty popular estimates up to it"
        )
    times = [max_estimate, *(t for t in EVERYWHERE if t < max_estimate)]
    for unit in ROUND:
        for time in range(max_estimate // unit * unit, 0, -unit):
            if len(times) < HEAD and time not in times:
                times.append(time)
    return (times[0], *sorted(times[1:]))


def head_sizes() -> tuple[float, ...]:
    """Percent of the jobs by popularity, rank 1 first; 89 in all.

    Examples
    --------
    >>> [round(size, 2) for size in head_sizes()[:3]], round(sum(head_sizes()), 9)
    ([21.73, 10.31, 8.71], 89.0)
    """
    rest = [14.0491 * math.exp(-0.177531 * rank) + 0.462513 for rank in range(2, HEAD + 1)]
    return (HEAD_SHARE - sum(rest), *rest)


def draw_ranks(rng: np.random.Generator, given: Mapping[int, int] | None = None) -> tuple[int, ...]:
    """The popularity of each head time, by place in time.

    The pool holds the ranks seen at this place and the earlier ones, as often as seen, without
    those already taken. A rank that was never seen later than here is overdue and goes first,
    the most popular one; else two are drawn and the more popular one taken. The maximum has
    rank 1. ``given`` fixes the rank of some places.
    """
    fixed = {0: 1, **(given or {})}
    last_seen = {rank: place for place, row in enumerate(RANKS) for rank in row}
    free = set(range(1, HEAD + 1)) - set(fixed.values())
    pool: list[int] = []
    ranks: list[int] = []
    for place, row in enumerate(RANKS):
        pool = [rank for rank in (*pool, *row) if rank in free]
        overdue = [rank for rank in free if last_seen[rank] <= place]
        if place in fixed:
            rank = fixed[place]
        elif overdue:
            rank = min(overdue)
        else:
            rank = min(pool[i] for i in rng.integers(len(pool), size=2))
        free.discard(rank)
        ranks.append(rank)
    return tuple(ranks)
