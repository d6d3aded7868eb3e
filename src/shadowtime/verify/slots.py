"""The slow reference for functions in slots and for the policies written with them.

Written from the guide (docs/guides/your-own-policy.md) and the papers' formulas, not from the
engine. A function gets a ``Seen``: the guide's job record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shadowtime.verify.world import Estimates, Job


@dataclass(frozen=True)
class Seen:
    """A job as a function sees it."""

    submit: int
    wait: int
    request: int
    estimate: int
    procs: int
    user: int
    ran: int
    promised: int


Function = Callable[..., Any]


@dataclass(frozen=True)
class Functions:
    """What a policy brings; None where it brings nothing."""

    order: Function | None = None
    key: Function | None = None
    test: Function | None = None
    reserve: Function | None = None
    plan: Function | None = None
    predict: Function | None = None
    victim: Function | None = None
    learn: dict[str, Any] = field(default_factory=dict)
    """By submit, start, end: a function; by timer: (seconds, function)."""
    shared: bool = False
    """One row of memory for all jobs together."""


class Predictions(Estimates):
    """One prediction at submission: whole seconds within [1, request]."""

    def __init__(self, predict: Function | None, jobs: list[Job]) -> None:
        super().__init__("requested", jobs)
        self.predict = predict
        self.guess: dict[int, int] = {}

    def _of(self, job: Job) -> int:
        return self.guess.get(job.id, job.request)


# ----------------------------------------------------------------------- the papers' formulas
def area(job: Seen) -> float:
    return float(job.estimate * job.procs)


def wfp3(now: int, job: Seen, user: Any) -> float:
    """-(w / r)^3 n, smallest first."""
    share = job.wait / job.estimate
    return share * share * share * job.procs


def unicef(now: int, job: Seen, user: Any) -> float:
    """-w / (log2(n) r), smallest first; log2(1) = 0 is taken as 1."""
    return job.wait / (math.log2(max(2, job.procs)) * job.estimate)


def learned(f: Callable[[float, float], float], weight: float) -> Function:
    """f(r, n) + weight * log10(s), smallest first; s = 0 is taken as 1."""
    return lambda now, job, user: (
        -(f(job.estimate, job.procs) + weight * math.log10(max(1, job.submit)))
    )


def saf(now: int, job: Seen, user: Any) -> float:
    return -area(job)


def saf_wait(hours: float) -> Function:
    """Jobs that waited longer than the threshold first, by arrival; then by area."""
    return lambda now, job, user: 1e18 - job.submit if job.wait > hours * 3600 else -area(job)


def expansion(now: int, job: Seen, user: Any) -> float:
    return (job.wait + job.estimate) / job.estimate


def relax(factor: float) -> Function:
    """The head's reservation lies later by a factor of the wait that it was first promised."""

    def plan(now: int, job: Seen, user: Any, start: float) -> float:
        first = job.promised if job.promised >= 0 else start
        return first + factor * (first - job.submit)

    return plan


def adaptive(first: float) -> Function:
    """A reservation from the mean slowdown of the jobs that ended on; ``first`` while none has."""

    def reserve(now: int, job: Seen, user: Any) -> bool:
        mean = user[1] / user[0] if user[0] > 0 else first
        return expansion(now, job, user) > mean

    return reserve


def add_slowdown(now: int, job: Seen, user: Any) -> None:
    """A job that ended, for ``adaptive``."""
    user[0] += 1
    user[1] += (now - job.submit) / max(1, job.ran)


def selective(threshold: float) -> Function:
    """A reservation from an expansion factor on."""
    return lambda now, job, user: expansion(now, job, user) > threshold


FORMULAS: dict[str, Callable[..., Function]] = {
    "wfp3": lambda: wfp3,
    "unicef": lambda: unicef,
    "f1": lambda weight: learned(lambda r, n: math.log10(r) * n, weight),
    "f2": lambda weight: learned(lambda r, n: math.sqrt(r) * n, weight),
    "f3": lambda weight: learned(lambda r, n: r * n, weight),
    "f4": lambda weight: learned(lambda r, n: r * math.sqrt(n), weight),
    "saf": lambda: saf,
    "sqf": lambda: lambda now, job, user: -float(job.procs),
    "saf-wait": lambda hours: saf_wait(hours),
    "relaxed": lambda factor: relax(factor),
    "selective": lambda threshold: selective(threshold),
    "adaptive": lambda first: adaptive(first),
}
"""The catalogue's functions by name, made from their parameters."""
