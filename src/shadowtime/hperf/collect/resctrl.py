"""resctrl: bytes moved between the last cache level and memory, counted by the hardware.

``/sys/fs/resctrl/mon_groups/JOB/mon_data/mon_L3_*/mbm_total_bytes`` counts up for the tasks of a
group. A reading at the job's start and one at its end give its bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError
from shadowtime.hperf.record import Record

MOUNT = Path("/sys/fs/resctrl")
WRAP = 1 << 62
"""The kernel reports counters that do not wrap: a smaller second reading is an error."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Bytes moved so far, and when they were read (seconds)."""

    total: int
    when: float


def read_group(group: Path, clock: Callable[[], float]) -> Reading:
    """The counters of a monitoring group, all its cache domains together."""
    found = sorted((group / "mon_data").glob("mon_L3_*/mbm_total_bytes"))
    if not found:
        raise InputError(
            "no memory-bandwidth counter there", path=str(group),
            hint="The processor lacks MBM, or resctrl is not mounted.",
        )  # fmt: skip
    total = 0
    for path in found:
        text = path.read_text().strip()
        if not text.isdigit():
            raise InputError(f"the counter reads {text!r}", path=str(path), hint="Try again.")
        total += int(text)
    return Reading(total=total, when=clock())


def record_between(
    tag: str, begin: Reading, end: Reading, *, processes: int, **others: Any
) -> Record:
    """The record of a job between two readings.

    Examples
    --------
    >>> record_between("cg", Reading(total=0, when=0.0), Reading(total=6_000_000_000, when=1.0),
    ...                processes=2).bandwidth
    3000.0
    """
    seconds, moved = end.when - begin.when, end.total - begin.total
    if seconds <= 0 or not 0 <= moved < WRAP:
        raise InputError(f"invalid measurement of {tag}: {moved} bytes in {seconds:g} s")
    each = moved / seconds / 1e6 / processes
    return Record(
        tag=tag, bandwidth=each, elapsed=seconds, width=processes, source="resctrl", **others
    )


def missing(mount: Path = MOUNT) -> str:
    """Why resctrl cannot measure here; empty if it can."""
    if not (mount / "info").is_dir():
        return f"resctrl is not mounted at {mount}: mount -t resctrl resctrl {mount}"
    features = mount / "info" / "L3_MON" / "mon_features"
    if not features.is_file() or "mbm_total_bytes" not in features.read_text():
        return "the processor has no memory-bandwidth monitoring (MBM)"
    return ""
