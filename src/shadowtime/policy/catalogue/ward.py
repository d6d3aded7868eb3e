"""Relaxed backfilling (Ward, Mahood and West 2002): the head may be delayed, within bounds."""

from __future__ import annotations

from typing import Any

from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import Planned


def relaxed(now: int, job: Any, user: Any, start: float, factor: float = 0.5) -> float:
    """the head, which others may delay by a factor of its wait."""
    first = job.promised if job.promised >= 0 else start
    return float(first + factor * (first - job.submit))


PARTS = (Planned(relaxed),)
POLICIES = (
    Policy(
        name="relaxed",
        reserve=PARTS[0],
        summary="EASY; overtaking may delay the head by half of the wait it was promised",
        paper="Ward, Mahood and West 2002 (JSSPP), abstract",
    ),
)
