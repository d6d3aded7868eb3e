"""Several objectives at once: the points that no other point beats in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def front(points: Sequence[Sequence[float]]) -> list[int]:
    """The places of the points that no other point beats; smaller is better.

    A point is beaten by one that is nowhere larger and somewhere smaller. Of equal points the
    first stays; one that is not finite never does.

    Examples
    --------
    >>> front([(1, 5), (2, 2), (3, 3), (5, 1), (2, 2)])
    [0, 1, 3]
    """
    found: list[int] = []
    for i, mine in enumerate(points):
        if not all(np.isfinite(mine)):
            continue
        beaten = any(
            all(a <= b for a, b in zip(other, mine, strict=True))
            and (any(a < b for a, b in zip(other, mine, strict=True)) or j < i)
            for j, other in enumerate(points)
            if j != i and all(np.isfinite(other))
        )
        if not beaten:
            found.append(i)
    return found


def order(points: Sequence[Sequence[float]]) -> list[int]:
    """All places, best first: front by front, inside a front by the sum of ranks.

    Examples
    --------
    >>> order([(3, 3), (1, 5), (2, 2)])
    [2, 1, 0]
    """
    if not points:
        return []
    table = np.array(points, np.float64)
    ranks = np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable").sum(axis=1)
    left, found = list(range(len(points))), list[int]()
    while left:
        best = [left[at] for at in front([points[i] for i in left])] or left
        found += sorted(best, key=lambda i: (int(ranks[i]), i))
        left = [i for i in left if i not in set(best)]
    return found
