"""Jobs that will be submitted, drawn from those of the past (spec: estimates 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.eta.draws import Alike, run_of, uniforms
from shadowtime.eta.shares import Shares
from shadowtime.workload.request import NEVER

if TYPE_CHECKING:
    from shadowtime.eta.present import Arrived

DAY = 86400
DAYS = 14
"""So many past days are drawn from."""
RECENT = 60
"""With less than a day of history: gaps and jobs of the last that many submissions."""
FEWEST = 10
"""Fewer submissions than this say nothing about those to come."""
LONGER = 9
"""Submissions go on for so many times what was seen at most, and are so many times as many: what is
beyond does not move a range of 80 %."""


def future(
    past: Sequence[Arrived],
    now: int,
    reach: int,
    shares: Shares,
    rng: np.random.Generator,
    *,
    alike: Alike | None = None,
    until: int | None = None,
) -> list[Arrived]:
    """Submissions of the next ``reach`` seconds, with run times.

    Rules
    -----
    For each day of the reach one of the last 14 days is chosen, and what was submitted after this
    time of that day is submitted again, with the run time that it had if it has ended. With less
    than a day of history gaps and jobs are drawn from the last 60 submissions for as long as these
    took, then from all; with fewer than ten submissions none. Nothing is submitted after ``until``;
    where it is not known, what was seen for a time T goes on for another t with the probability
    T / (T + t), up to nine times as long and as many.

    Examples
    --------
    >>> from shadowtime.eta.present import Arrived
    >>> from shadowtime.eta.shares import Shares
    >>> from shadowtime.workload.request import Request
    >>> old = [Arrived(user="eva", limit=60, request=Request(), submit=9 * DAY + k, run=k)
    ...        for k in range(100)]
    >>> made = future(old, 10 * DAY, 50, Shares([]), np.random.default_rng(1))
    >>> [(one.submit - 10 * DAY, one.run) for one in made][:2], len(made)
    ([(1, 1), (2, 2)], 50)
    """
    if until is not None:
        reach = min(reach, until - now)
    known = [one for one in past if one.submit <= now]
    if len(known) < FEWEST or reach <= 0:
        return []
    seen = now - known[0].submit
    if seen >= DAY:
        made = _from_days(known, now, reach, rng)
    else:
        longer = float(LONGER)
        if until is None:
            longer = min(LONGER, 1 / (1 - float(rng.random())) - 1)
            reach = min(reach, math.ceil(longer * seen))
        recent = known[-RECENT:]
        lasted = min(reach, now - recent[0].submit)
        made = _from_gaps(recent, now, now, lasted, rng)
        made += _from_gaps(known, now, now + lasted, reach - lasted, rng)
        made = made[: math.ceil(longer * len(known))]
    users = [one.user for one in made]
    numbers = uniforms(users, rng, alike).tolist() if made else []
    return [
        replace(one, run=run_of(shares, one.user, one.limit, one.request.cpus, u))
        if one.run == NEVER
        else one
        for one, u in zip(made, numbers, strict=True)
    ]


def _from_days(
    known: Sequence[Arrived], now: int, reach: int, rng: np.random.Generator
) -> list[Arrived]:
    times = np.array([one.submit for one in known])
    days = min(DAYS, (now - int(times[0])) // DAY)
    made: list[Arrived] = []
    for begun in range(0, reach, DAY):
        back = DAY * int(rng.integers(1, days + 1))
        first, last = np.searchsorted(
            times, [now - back, now - back + min(DAY, reach - begun)], side="right"
        ).tolist()
        made += [replace(one, submit=one.submit + back + begun) for one in known[first:last]]
    return made


def _from_gaps(
    known: Sequence[Arrived], now: int, since: int, reach: int, rng: np.random.Generator
) -> list[Arrived]:
    """Gaps between submissions and jobs, each drawn by itself, for ``reach`` seconds.

    The time since the last submission is a gap too: submissions that have stopped must not go on at
    the former rate. What was seen is itself a sample of what could have been: gaps and jobs have
    weights that are drawn (the Bayesian bootstrap), so that rate and kinds differ between futures.
    """
    gaps = np.diff([one.submit for one in known] + [now])
    if gaps.sum() <= 0:
        return []
    likely_gap = np.cumsum(rng.dirichlet(np.ones(len(gaps))))
    likely_job = np.cumsum(rng.dirichlet(np.ones(len(known))))
    made: list[Arrived] = []
    at = float(since)
    while len(made) < LONGER * len(known):
        gap, job = (
            np.searchsorted(likely_gap, rng.random()),
            np.searchsorted(likely_job, rng.random()),
        )
        at += float(gaps[min(int(gap), len(gaps) - 1)])
        if at > since + reach:
            break
        made.append(replace(known[min(int(job), len(known) - 1)], submit=int(at), run=NEVER))
    return made
