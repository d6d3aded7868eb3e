"""F1 to F4 (Carastan-Santos and de Camargo 2017): priorities found by regression on simulations."""

from __future__ import annotations

from math import log10, sqrt
from typing import Any

from shadowtime.policy.order import Custom
from shadowtime.policy.policy import Policy

PAPER = "Carastan-Santos and de Camargo 2017 (SC'17)"


def f1(now: int, job: Any, weight: float = 870.0) -> float:
    """the least log10(estimate) * processors + 870 log10(submission) first."""
    return -float(log10(job.estimate) * job.procs + weight * log10(max(1, job.submit)))


def f2(now: int, job: Any, weight: float = 25600.0) -> float:
    """the least sqrt(estimate) * processors + 25600 log10(submission) first."""
    return -float(sqrt(job.estimate) * job.procs + weight * log10(max(1, job.submit)))


def f3(now: int, job: Any, weight: float = 6.86e6) -> float:
    """the least estimate * processors + 6.86e6 log10(submission) first."""
    return -float(job.estimate * job.procs + weight * log10(max(1, job.submit)))


def f4(now: int, job: Any, weight: float = 5.3e5) -> float:
    """the least estimate * sqrt(processors) + 5.3e5 log10(submission) first."""
    return -float(job.estimate * sqrt(job.procs) + weight * log10(max(1, job.submit)))


PARTS = tuple(Custom(function) for function in (f1, f2, f3, f4))
POLICIES = tuple(
    Policy(name=part.label, order=part, summary=f"EASY, {part.summary}", paper=PAPER)
    for part in PARTS
)
