"""Selective reservations (Srinivasan, Kettimuthu, Subramani and Sadayappan 2002)."""

from __future__ import annotations

from typing import Any

from shadowtime.policy.order import NAMED
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import Chosen


def selective(now: int, job: Any, threshold: float = 2.0) -> bool:
    """blocked jobs whose expansion factor (wait + estimate) / estimate exceeds a threshold."""
    return bool((job.wait + job.estimate) / job.estimate > threshold)


PARTS = (Chosen(selective),)
POLICIES = (
    Policy(
        name="selective",
        order=NAMED["lxf"],
        reserve=PARTS[0],
        summary="largest expansion factor first; a reservation from a factor of 2 on",
        paper="Srinivasan et al. 2002 (JSSPP), static threshold",
    ),
)
