"""EASY with other queues (Lelong, Reis and Trystram 2017): the order, and that of backfilling."""

from __future__ import annotations

from typing import Any

from shadowtime.policy.backfill import ByKey
from shadowtime.policy.order import NAMED, Custom
from shadowtime.policy.policy import Policy

PAPER = "Lelong, Reis and Trystram 2017 (Tuning EASY-Backfilling Queues)"


def saf(now: int, job: Any) -> float:
    """the smallest area estimate * processors first."""
    return -float(job.estimate * job.procs)


def sqf(now: int, job: Any) -> float:
    """the fewest processors first."""
    return -float(job.procs)


def saf_wait(now: int, job: Any, hours: float = 20.0) -> float:
    """jobs that waited longer than a number of hours in arrival order, then the smallest area."""
    if job.wait > hours * 3600:
        return float(1e18 - job.submit)
    return -float(job.estimate * job.procs)


SAF_BACKFILL = ByKey(saf)
PARTS = (Custom(saf), Custom(sqf), Custom(saf_wait), SAF_BACKFILL)
POLICIES = (
    Policy(
        name="saf", order=Custom(saf), summary="EASY, the smallest area r * n first", paper=PAPER
    ),
    Policy(name="spt", order=NAMED["sjf"], summary="EASY, the shortest first", paper=PAPER),
    Policy(name="sqf", order=Custom(sqf), summary="EASY, the narrowest first", paper=PAPER),
    Policy(
        name="saf-wait",
        order=Custom(saf_wait),
        summary="saf; jobs that waited longer than 20 hours come before all others",
        paper=PAPER,
    ),
    Policy(
        name="easy-saf",
        backfill=SAF_BACKFILL,
        summary="EASY, candidates for backfilling by area, the smallest first",
        paper=PAPER,
    ),
)
