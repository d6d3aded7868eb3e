"""A waiting job with its predicted start: what is answered, and kept for who asks later."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.eta.ranges import Estimate


@dataclass(frozen=True)
class Eta:
    """A predicted start and its range, in seconds since 1970."""

    expected: int
    earliest: int
    latest: int
    soon: float | None = None
    """The probability that it starts within an hour, where it is known."""
    drawn: tuple[int, int] | None = field(default=None, repr=False)
    """The ends as they were drawn, before experience moves them; None where it never does."""

    @staticmethod
    def of(one: Estimate, now: int) -> Eta:
        """An estimate as times of day; an end that is not known lies a year ahead."""
        from shadowtime.eta.present import LONGEST  # who reads an answer loads no simulator

        latest = one.latest if math.isfinite(one.latest) else LONGEST
        expected, first, last = (round(now + at) for at in (one.expected, one.earliest, latest))
        return Eta(expected, first, last, one.within_hour)


@dataclass(frozen=True)
class Row:
    """A waiting job."""

    job: str
    user: str
    procs: int
    since: int
    eta: Eta
    why: str = ""
    """What stands in its way, where it is known."""
