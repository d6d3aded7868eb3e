"""The learned shares once more, slow and obvious, from the specification (estimates 2 and 3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from shadowtime.eta.shares import Observed

Points = list[tuple[float, float]]
"""Shares with weights."""


def prior() -> Points:
    table = [(0, 0), (5, 0.001), (10, 0.003), (20, 0.046), (30, 0.17), (40, 0.33), (50, 0.51),
             (60, 0.67), (70, 0.82), (80, 0.92), (90, 0.99), (95, 1), (100, 1)]  # fmt: skip
    made = []
    for k in range(40):
        p = (k + 0.5) / 40 * 100
        for (p0, s0), (p1, s1) in itertools.pairwise(table):
            if p0 <= p <= p1:
                made.append((s0 + (s1 - s0) * (p - p0) / (p1 - p0), 1 / 40))
                break
    return made


def kaplan_meier(observed: Sequence[tuple[float, float, bool]], above: Points) -> Points:
    """(share, weight, ended): what survives, point by point."""
    made, alive = [], 1.0
    for point in sorted({share for share, _, _ in observed}):
        at_risk = sum(weight for share, weight, _ in observed if share >= point)
        ends = sum(weight for share, weight, ended in observed if share == point and ended)
        made.append((point, alive * ends / at_risk))
        alive *= 1 - ends / at_risk
    last = max(share for share, _, _ in observed)
    beyond = [(share, weight) for share, weight in above if share > last] or [(1.0, 1.0)]
    total = sum(weight for _, weight in beyond)
    return made + [(share, alive * weight / total) for share, weight in beyond]


def passed(points: Points, share: float) -> float:
    """The weight up to a share."""
    return sum(weight for point, weight in points if point <= share)


def distribution(observed: Sequence[Observed], job: tuple[str, int, int]) -> Points:
    """The chain of levels for (user, limit, cpus)."""
    user, limit, cpus = job
    levels = (
        (500, 1.0, 4, lambda one: True),
        (300, 1.0, 20, lambda one: int(math.log2(one.limit)) == int(math.log2(limit))),
        (50, 0.9, 2, lambda one: one.user == user),
        (20, 0.7, 1, lambda one: (one.user, one.limit, one.cpus) == (user, limit, cpus)),
    )
    found = prior()
    for last, decay, k, belongs in levels:
        here = [one for one in observed if belongs(one)]
        rows, n = [], 0.0
        for one in here:
            age = sum(other.ended and other.start > one.start for other in here)
            if age < last:
                told = 1.0 if one.ended else passed(found, one.share)
                n += told * decay**age
                rows.append((one.share, decay**age * one.limit * one.cpus, one.ended))
        if rows:
            own = kaplan_meier(rows, found)
            found = [(s, w * k / (k + n)) for s, w in found]
            found += [(s, w * n / (k + n)) for s, w in own]
    return found


def quantile(points: Points, u: float, above: float) -> float:
    """The smallest share above ``above`` at which a part u of the weight there is reached."""
    left = sorted((s, w) for s, w in points if s > above)
    total = sum(w for _, w in left)
    if total <= 0:
        return above + u * (1 - above)
    sums = 0.0
    for share, weight in left:
        sums += weight
        if sums >= u * total:
            return share
    return left[-1][0]
