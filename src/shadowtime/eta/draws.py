"""Drawn run times: given what has elapsed, and alike for the jobs of a user (spec: estimates 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.eta.dependence import Alike
from shadowtime.eta.shares import Shares
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
