"""perf stat: misses of the last cache level, 64 bytes each, over the time.

``perf stat -x, -e LLC-load-misses,LLC-store-misses -o JOB.perf PROGRAM`` writes a line per event.
The figure is too low where the prefetcher moves data without a miss (thesis, section 2.2).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError
from shadowtime.hperf.record import LLC_MISSES, Process, Record, Thread
from shadowtime.printable import printable, shown

EVENTS = ("LLC-load-misses", "LLC-store-misses")
"""Counted together; ``cache-misses`` is taken where a processor has no other."""
COMMAND = ("perf", "stat", "-x,", "-e", ",".join((*EVENTS, "cache-misses", "duration_time")))
UNSUPPORTED = ("<not supported>", "<not counted>")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Misses of all processes together, over a number of seconds."""

    misses: int
    seconds: float

    def record(self, tag: str, *, processes: int = 1, **others: Any) -> Record:
        """The record of a job with several processes, which share the misses evenly.

        Examples
        --------
        >>> Counted(misses=93_750_000, seconds=1.0).record("cg", processes=2).bandwidth
        3000.0
        """
        each, rest = divmod(self.misses, processes)
        made = tuple(
            Process(
                rank=rank,
                elapsed=self.seconds,
                threads=(Thread(counters={LLC_MISSES: each + (rank < rest)}),),
            )
            for rank in range(processes)
        )
        return Record.measured(tag, made, source="perf", **others)


def parse_perf(text: str, *, path: str | None = None, seconds: float | None = None) -> Counted:
    """What ``perf stat -x,`` wrote; ``seconds`` where it did not count the time.

    Examples
    --------
    >>> parse_perf("1000,,LLC-load-misses,1,100.00,,\\n2000000000,ns,duration_time,1,100.00,,")
    Counted(misses=1000, seconds=2.0)
    """
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split(",")
        if len(cells) < 3:
            raise InputError(
                f"not a line of perf stat -x,: {shown(line)}", path=path, line=number,
                hint="Half written? Nothing was recorded.",
            )  # fmt: skip
        value, event = cells[0].strip(), cells[2].strip().removesuffix(":u")
        if value in UNSUPPORTED:
            continue
        try:
            found[event] = found.get(event, 0) + int(float(value))
        except (ValueError, OverflowError):
            raise InputError(
                f"{printable(event[:40])}: {shown(value)} is not a count", path=path, line=number,
                hint="Nothing was recorded.",
            ) from None  # fmt: skip
    misses = [found[event] for event in EVENTS if event in found]
    if not misses and "cache-misses" in found:
        misses = [found["cache-misses"]]
    if not misses:
        raise InputError(
            "perf counted no misses of the last cache level",
            path=path,
            hint="This processor, or virtual machine, has no such counter: declare the demand.",
        )
    if "duration_time" in found:
        seconds = found["duration_time"] / 1e9
    if not seconds:
        raise InputError("the time is missing", path=path, hint="Count duration_time too.")
    return Counted(misses=sum(misses), seconds=seconds)


def missing(root: Path = Path("/sys/bus/event_source/devices")) -> str:
    """Why perf cannot count here; empty if it can."""
    if shutil.which("perf") is None:
        return "the program perf is not installed"
    if not any(root.glob("cpu*")):
        return "the kernel shows no hardware counters of the processor (a virtual machine?)"
    return ""
