"""The clock as an argument, the machine's or a test's, and how often a loop polls by it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Gives the time in seconds since 1970, and waits."""

    def now(self) -> float:
        """The time."""

    def steady(self) -> float:
        """Seconds since some time, for durations: setting the clock does not affect it."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often the scheduler is polled.

    Every ``every`` seconds while things happen, slower step by step up to ``slowest`` while they
    do not; no more than half of the time is spent in polling; after an error the pause
    doubles up to ``after_error``. If the scheduler's log is watched the pause is four times as
    long and ends with news, but never before ``soonest``: a busy log cannot cause faster polling.
    """

    every: float = 0.25
    slowest: float = 2.0
    after_error: float = 5.0

    def pause(self, *, quiet: int, errors: int, took: float, watched: bool = False) -> float:
        """Seconds until the next poll.

        Examples
        --------
        >>> [Pace().pause(quiet=n, errors=0, took=0.03) for n in (0, 40, 999)]
        [0.25, 0.5, 2.0]
        >>> [Pace().pause(quiet=n, errors=0, took=0.03, watched=True) for n in (0, 40, 999)]
        [1.0, 2.0, 2.0]
        >>> Pace().pause(quiet=0, errors=3, took=0.0), Pace().pause(quiet=0, errors=0, took=1.0)
        (2.0, 1.0)
        """
        if errors:
            return float(min(self.after_error, self.every * 2.0**errors))
        calm = min(self.slowest, self.every * (4 if watched else 1) * (1 + quiet / 40))
        return max(calm, took)

    def soonest(self, *, quiet: int, errors: int, took: float) -> float:
        """The shortest time until the next poll, even if there is news.

        Examples
        --------
        >>> [Pace().soonest(quiet=n, errors=0, took=0.03) for n in (0, 999)]
        [0.1, 0.8]
        >>> Pace().soonest(quiet=0, errors=3, took=0.0)
        2.0
        """
        pause = self.pause(quiet=quiet, errors=errors, took=0.0)
        return pause if errors else max(0.4 * pause, took)
