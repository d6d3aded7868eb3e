"""When the passes of a run take place, which no log records."""

from __future__ import annotations

from dataclasses import dataclass

WOKEN = 0.002
"""Seconds after a whole one at which a loop runs that wakes there."""
RUN_STEP = 0.618
"""Parts of seconds of run times, from row to row."""
EARLY_STEP = 0.7548776662
"""Spreads what is recorded early over the jobs."""


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
    early: float | None = None
    """Main passes run at whole seconds, and this share of their starts is recorded as one second
    earlier; None where they run at any part of a second, up to 23.02."""

    @property
    def main(self) -> float:
        """The part of a second at which main passes run."""
        return self.tick if self.early is None else WOKEN

    def is_early(self, row: int) -> bool:
        """True if a start of this job by the main pass is recorded as one second earlier."""
        return self.early is not None and self.part_of_second(row, EARLY_STEP) < self.early

    @property
    def ran_longer(self) -> float:
        """Seconds that a job whose start a main pass made ran longer than its record says.

        A start at a whole second is exact, or a second early; the end is cut to a whole second.
        """
        return 0.0 if self.early is None else 0.5 - self.early

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
