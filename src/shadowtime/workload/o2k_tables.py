"""Published numbers of the NCSA Origin 2000, December 2002 to March 2003.

S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel systems.
The trace itself is not public; the workload is rebuilt from these tables (see ``o2k``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HOUR = 3600
DAY = 24 * HOUR

PROCS = 1440
"""Table 2: eleven hosts of 128 processors and one of 32."""
MEMORY_GB = 600
KB_PER_GB = 1000 * 1024
"""1 GB is 1000 MB here, so that 600 GB are what the hosts hold in all; 1 MB is 1024 KB."""

HOSTS: tuple[tuple[int, int], ...] = (
    *[(128, 64 * KB_PER_GB)] * 3,
    *[(128, 50 * KB_PER_GB)] * 8,
    (32, 8 * KB_PER_GB),
)
"""Processors and KB of each host. How the 600 GB are spread is ours: the paper gives the sum, and
a dedicated job of 64 GB and shared ones of 25 GB must find a place."""

SHARED_PROCS, SHARED_GB = 64, 25
DEDICATED_PROCS, DEDICATED_GB = 128, 64
MAX_REQUEST = 400 * HOUR
EARLY_LARGE_REQUEST = 50 * HOUR
"""Table 3: dedicated jobs asked for at most 50 hours before 19 December 2002, 400 hours later."""
EARLY_DAYS = 18

CLASSES: tuple[tuple[int, int], ...] = (
    (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 128),
)  # fmt: skip
"""Table 4's ranges of requested processors."""

BIN_EDGES = (5 * HOUR, 20 * HOUR, 50 * HOUR)
"""Table 8's bounds on the requested run time, inclusive."""


@dataclass(frozen=True, kw_only=True)
class Month:
    """One month of the paper: demands in percent of all processor-hours."""

    name: str
    hours: int
    first_weekday: int
    """Of day 1; Monday is 0."""
    jobs: tuple[int, ...]
    """Table 4 by class. They do not sum to the printed total, which is not used."""
    demand: tuple[int, ...]
    """Table 4 by class: processors times actual run time."""
    up_to: tuple[int, int, int]
    """Table 8: demand of the jobs of at most 64 processors that ask for up to 5, 20, 50 hours."""
    early_days: int = 0
    """Days at the start on which large jobs may ask for 50 hours at most."""

    @property
    def seconds(self) -> int:
        return self.hours * HOUR

    @property
    def capacity(self) -> int:
        """Processor-seconds of the whole system in the month."""
        return PROCS * self.seconds

    @property
    def bins(self) -> tuple[int, int, int, int]:
        """Demand of the jobs of at most 64 processors by request: to 5 h, 20 h, 50 h, above."""
        a, b, c = self.up_to
        return (a, b - a, c - b, sum(self.demand[:-1]) - c)


MONTHS: Mapping[str, Month] = {
    "2002-12": Month(
        name="2002-12", hours=744, first_weekday=6, early_days=EARLY_DAYS,
        jobs=(3380, 294, 1189, 1138, 1059, 539, 242, 56),
        demand=(2, 2, 8, 15, 24, 7, 12, 12), up_to=(6, 8, 19),
    ),
    "2003-01": Month(
        name="2003-01", hours=744, first_weekday=2,
        jobs=(3167, 270, 1326, 869, 977, 333, 210, 183),
        demand=(2, 1, 8, 12, 25, 7, 15, 22), up_to=(4, 5, 15),
    ),
    "2003-02": Month(
        name="2003-02", hours=672, first_weekday=5,
        jobs=(3424, 300, 1957, 1245, 995, 517, 142, 146),
        demand=(2, 2, 8, 15, 16, 14, 10, 21), up_to=(5, 7, 15),
    ),
    "2003-03": Month(
        name="2003-03", hours=744, first_weekday=5,
        jobs=(2801, 300, 1484, 1331, 1174, 722, 452, 94),
        # Out of order in the text at hand: only the values, their sum and the last are sure.
        demand=(2, 2, 8, 14, 17, 5, 7, 18), up_to=(4, 6, 13),
    ),
}  # fmt: skip
