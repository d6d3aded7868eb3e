"""Names that every room shares: array types, the reasons of a start, the sentinels."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    SmallInts: TypeAlias = NDArray[np.int8]
    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]
    AnyArray: TypeAlias = NDArray[Any]
    Rows: TypeAlias = NDArray[np.void]  # a table with named columns: kernel/columns.py
else:  # for readers of types alone: no array library is loaded for their sake
    Ints = SmallInts = Floats = Bools = AnyArray = Rows = Any

File: TypeAlias = str
"""The path of a file, on the command line and in its functions."""
Folder: TypeAlias = str
FileOrFolder: TypeAlias = str
Seconds: TypeAlias = int
"""A length of time; typed as 90s, 5m, 36h, 7d or 2w."""
Bytes: TypeAlias = int
"""A size; typed as 500MB or 8GB."""
Between: TypeAlias = tuple[int, int | None]
"""From and to, or to the end; typed as 10:20 or 10:."""

UNKNOWN = -1
"""SWF's mark for a missing value, kept everywhere."""
SINCE_END, SINCE_SUBMISSION = 0, 1
"""From which instant of another job the seconds count after which a job follows it."""
MILLION = 1_000_000
"""Rates, work and power of jobs that change are counted in millionths (spec: changing 2)."""
FULL_SPEED = 1000
AMDAHL, DOWNEY, TABULATED = 0, 1, 2
"""Kinds of speed-up (spec: changing 1.2)."""

NO_LIMIT = (1 << 40) - 1
"""The kill limit of a job that is never killed; also 'never' on the time axis."""

MAX_SPAN = (1 << 31) - 2
"""The longest run or request in seconds, 68 years: spans fit 32 bits inside the kernels."""


class Reason(IntEnum):
    """Why a job started when it did.

    HEAD: first in the order, never held up. RESERVED: first in the order after it had been
    blocked there. BACKFILLED: ahead of a job that stays blocked. PREEMPTING: first in the order,
    by stopping others. RECORDED: read from a log that does not say. UNSTARTED: it never started,
    or not again after it was stopped.
    """

    RECORDED = 0
    HEAD = 1
    RESERVED = 2
    BACKFILLED = 3
    PREEMPTING = 4
    UNSTARTED = 5

    @property
    def label(self) -> str:
        return self.name.lower()
