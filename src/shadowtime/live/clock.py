"""The clock as an argument: the machine's own, or one that a test controls."""

from __future__ import annotations

import time
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
