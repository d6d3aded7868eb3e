"""Drawn run times: given what has elapsed, and alike for the jobs of a user (spec: estimates 3).

How alike jobs turn out, beyond what is learned of each (spec: estimates 3.2): what is learned from
few jobs is off for all that follow. Two jobs of a user that are predicted from the same knowledge
are both short or both long more often than chance has it, at some sites much, at others not at all:
it is learned too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.eta.shares import ALL, Observed, Shares
from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.eta.present import Present


LIMIT_CHECKS, KILL_WAIT = 30, 30
"""Seconds between two checks of limits by slurmctld, and its default until it kills."""


def uniforms(users: Sequence[str], rng: np.random.Generator, alike: Alike | None = None) -> Floats:
    """A number between 0 and 1 for each job, correlated as the errors of estimates are.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one = uniforms(["eva"] * 2000 + [f"u{k}" for k in range(2000)], rng)
    >>> bool(one[:2000].std() < one[2000:].std()), bool(((one > 0) & (one < 1)).all())
    (True, True)
    """
    number = {name: k for k, name in enumerate(dict.fromkeys(users))}
    of_user = rng.standard_normal(len(number))[[number[name] for name in users]]
    own = rng.standard_normal(len(users))
    every, of_one = alike or Alike()
    sums = math.sqrt(every) * rng.standard_normal() + math.sqrt(of_one) * of_user
    values = sums + math.sqrt(1 - every - of_one) * own
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in values.tolist()])


def remaining(
    present: Present,
    shares: Shares,
    rng: np.random.Generator,
    *,
    alike: Alike | None = None,
    kill_wait: int = KILL_WAIT,
) -> tuple[list[int], list[int]]:
    """One draw: seconds that each running job has left, and that each waiting one will run.

    A running job uses more of its limit than it has by now; one that is over its limit ends within
    a check of limits and KillWait.
    """
    users = [one.user for one in present.running] + [one.user for one in present.waiting]
    drawn = uniforms(users, rng, alike).tolist() if users else []
    left = []
    for one, u in zip(present.running, drawn[: len(present.running)], strict=True):
        ran = max(0, present.now - one.start)
        if ran >= one.limit:
            left.append(1 + round(u * (LIMIT_CHECKS + kill_wait - 1)))
            continue
        share = shares.of(one.user, one.limit, one.cpus).at(u, above=ran / one.limit)
        left.append(max(1, math.ceil(share * one.limit) - ran))
    runs = [
        run_of(shares, one.user, one.limit, one.cpus, u)
        for one, u in zip(present.waiting, drawn[len(present.running) :], strict=True)
    ]
    return left, runs


def run_of(shares: Shares, user: str, limit: int, cpus: int, u: float) -> int:
    """The run time of a job that has not begun, at ``u`` of its distribution."""
    return max(1, math.ceil(shares.of(user, limit, cpus).at(u) * limit))


COMMON = 0.05
"""The part of the variance that all jobs share, however much was observed: habits change."""
OF_USER, K = 0.45, 20.0
"""The part that the jobs of a user share, before anything was observed, and how many comparisons
that counts."""
TOGETHER, LAST = 20, 300
"""So many jobs are predicted from what was known before them, and so many in all."""
HIGHEST = 0.9


class Alike(NamedTuple):
    """The parts of the variance that all jobs share, and that the jobs of a user share."""

    every: float = COMMON
    of_user: float = OF_USER


def learn_alike(observed: Sequence[Observed]) -> Alike:
    """Both parts from what was observed.

    After n jobs the mean of all is known to 1 / (k + n) of the variance, k those that the prior
    counts. With the weights w that they have in levels, jobs tell as much as (sum w)^2 / sum w^2
    of equal ones (Kish's effective number): a few large ones among many small count as few.

    Examples
    --------
    >>> from shadowtime.eta.shares import Observed
    >>> [round(learn_alike([Observed("eva", 600, 4, 0.5)] * n).every, 2) for n in (0, 6, 96)]
    [0.3, 0.15, 0.06]
    >>> one_large = [Observed("eva", 600, 1, 0.5)] * 95 + [Observed("eva", 6000, 40, 0.5)]
    >>> round(learn_alike(one_large).every, 2)
    0.23
    """
    of_user = part_of_user(observed)
    size = np.array([float(one.limit) * one.cpus for one in observed if one.ended][-ALL.last :])
    known = float(size.sum() ** 2 / (size**2).sum()) if len(size) else 0.0
    every = COMMON + 1 / (ALL.k + known)
    return Alike(every, min(of_user, HIGHEST + COMMON - every))


def part_of_user(observed: Sequence[Observed]) -> float:
    """The part of the variance that is common to the jobs of a user.

    Rules
    -----
    Jobs that ended, 20 by 20, are compared with what was learned from those before: the quantile of
    each in its distribution, as a normal score. The mean product of the scores of two jobs of a
    user, less what all share, is drawn towards 0.45 by as many comparisons as 20.

    Examples
    --------
    >>> from shadowtime.eta.shares import Observed
    >>> rng = np.random.default_rng(1)
    >>> some = [Observed(f"u{k % 5}", 600, 4, share) for k, share in enumerate(rng.random(300))]
    >>> part_of_user([]), part_of_user(some) < 0.3
    (0.45, True)
    """
    ended = [one for one in observed if one.ended][-LAST - ALL.last :]
    first = max(TOGETHER, len(ended) - LAST)
    products, count, squares, scores = 0.0, 0, 0.0, 0
    for at in range(first, len(ended) - 1, TOGETHER):
        shares = Shares(ended[:at])
        by_user: dict[str, list[float]] = defaultdict(list)
        for one in ended[at : at + TOGETHER]:
            by_user[one.user].append(_score(shares, one))
        for found in by_user.values():
            several = len(found)
            squared = sum(score * score for score in found)
            squares, scores = squares + squared, scores + several
            if several > 1:
                # All pairs of a user's jobs, which count as often as jobs can be compared anew.
                products += (sum(found) ** 2 - squared) / several
                count += several - 1
    if not count or not squares:
        return OF_USER
    alike = products / count / (squares / scores) - COMMON
    return min(HIGHEST, max(0.0, (K * OF_USER + count * alike) / (K + count)))


def _score(shares: Shares, one: Observed) -> float:
    """Where a share lies in the distribution that was learned before it, as a normal score."""
    known = shares.of(one.user, one.limit, one.cpus)
    low, high = (
        float(np.concatenate(([0.0], known.sums))[np.searchsorted(known.points, one.share, side)])
        for side in ("left", "right")
    )
    return NormalDist().inv_cdf(min(0.995, max(0.005, (low + high) / 2)))
