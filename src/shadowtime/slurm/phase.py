"""When the passes of a run take place, which no log records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Phase:
    """When passes run: seconds after the first submission's second.

    ``latency`` is how long nodes take to answer after an end, in seconds.

    Examples
    --------
    >>> [(one.tick, one.backfill) for one in Phase.some(2, 30)]
    [(0.25, 0.0), (0.75, 18.54)]
    """

    tick: float = 0.5
    backfill: float = 0.0
    latency: float = 0.1

    @staticmethod
    def some(count: int, interval: int) -> list[Phase]:
        """Phases spread evenly over a second and over the interval of backfill passes."""
        return [
            Phase(tick=(k + 0.5) / count, backfill=interval * ((k * 0.618) % 1.0))
            for k in range(count)
        ]

    def part_of_second(self, row: int, step: float) -> float:
        """The part of a second that a log cut off, spread evenly over jobs and phases."""
        return (row * step + self.tick) % 1.0
