"""What a finished job leaves behind: a tag, a demand per process, and the counters it came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shadowtime.errors import InputError
from shadowtime.printable import shown
from shadowtime.types import MAX_SPAN

LONGEST_TAG = 255
LONGEST_KEY = 191
LONGEST_SOURCE = 64
MAX_COUNT = (1 << 63) - 1
"""The largest number that the store can hold."""
CACHE_LINE = 64
"""Bytes that a miss of the last cache level moves."""
LLC_MISSES = "LLC_TCM"
"""PAPI's name of the total misses of the last cache level, the thesis' measure."""


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A thread and its hardware counters."""

    number: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process: where it ran, how long, and its threads."""

    rank: int = 0
    node: str = ""
    elapsed: float
    threads: tuple[Thread, ...] = ()

    @property
    def bandwidth(self) -> float | None:
        """MB/s by the misses of its threads; None if none was counted."""
        counted = [t.counters[LLC_MISSES] for t in self.threads if LLC_MISSES in t.counters]
        return bandwidth_of(sum(counted), self.elapsed) if counted else None


@dataclass(frozen=True, kw_only=True)
class Record:
    """One finished job.

    Rules
    -----
    ``bandwidth`` is MB/s (10^6 B/s) per process, the mean over the job's processes. ``key`` names
    the job where it ran, so that the same job is never counted twice; without one every record is
    new. ``finished`` is in seconds since 1970, 0 if unknown.

    Examples
    --------
    >>> Record(tag="cg.D.16", bandwidth=2400.0, elapsed=610.0, width=16).width
    16
    >>> Record(tag="", bandwidth=1.0, elapsed=1.0)
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: a tag must not be empty. ...
    """

    tag: str
    bandwidth: float
    elapsed: float = 0.0
    width: int = 1
    key: str | None = None
    finished: int = 0
    source: str = "declared"
    processes: tuple[Process, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tag", checked_tag(self.tag))
        _number("bandwidth", self.bandwidth)
        _number("elapsed", self.elapsed)
        if not 1 <= self.width <= MAX_SPAN:
            raise InputError(f"a job has 1 to {MAX_SPAN} processes, not {shown(self.width)}")
        if not 0 <= self.finished <= MAX_COUNT:
            raise InputError(f"finished is seconds since 1970, not {shown(self.finished)}")
        if not self.source.isprintable() or len(self.source) > LONGEST_SOURCE:
            raise InputError(f"a source has at most {LONGEST_SOURCE} printable characters")
        for process in self.processes:
            _check_process(process)
        if self.key is not None and not 0 < len(self.key) <= LONGEST_KEY:
            raise InputError(f"a job's key has 1 to {LONGEST_KEY} characters, not {len(self.key)}")

    @staticmethod
    def measured(tag: str, processes: tuple[Process, ...], **others: Any) -> Record:
        """A record from counted misses: the mean over the processes (spec: algorithms 6.1).

        Examples
        --------
        >>> half = Process(elapsed=2.0, threads=(Thread(counters={"LLC_TCM": 31_250_000}),))
        >>> Record.measured("x", (half, half)).bandwidth
        1000.0
        """
        found = [b for p in processes if (b := p.bandwidth) is not None]
        if not found:
            raise InputError(
                f"no process of {tag} has counted {LLC_MISSES}", hint="Collect that counter."
            )
        longest = max(p.elapsed for p in processes)
        values = {"elapsed": longest, "width": len(processes)} | others
        mean = math.fsum(found) / len(found)
        return Record(tag=tag, bandwidth=mean, processes=processes, **values)


def bandwidth_of(misses: int, seconds: float) -> float:
    """MB/s that a number of misses of the last cache level mean.

    Examples
    --------
    >>> bandwidth_of(46_875_000, 1.0)
    3000.0
    """
    if seconds <= 0 or misses < 0:
        raise InputError(f"invalid measurement: {misses} misses in {seconds:g} s")
    return misses * CACHE_LINE / (seconds * 1e6)


def checked_tag(tag: str) -> str:
    """A tag as the store keeps it: without surrounding blanks; any other characters are allowed.

    Examples
    --------
    >>> checked_tag(" it's ")
    "it's"
    """
    tag = tag.strip()
    if not tag:
        raise InputError(
            "a tag must not be empty", hint="Give the job a name, as --comment=tag=cg.D.16."
        )
    if len(tag) > LONGEST_TAG:
        raise InputError(
            f"a tag has at most {LONGEST_TAG} characters, this one has {len(tag)}: {tag[:20]!r}...",
            hint="Shorten it.",
        )
    if not tag.isprintable():
        raise InputError(f"a tag holds no control characters: {shown(tag)}", hint="Take them out.")
    return tag


def _check_process(process: Process) -> None:
    """Reject what the tables cannot hold."""
    _number("elapsed", process.elapsed)
    if len(process.node) > LONGEST_TAG or not process.node.isprintable():
        raise InputError(f"a node's name has at most {LONGEST_TAG} printable characters")
    for thread in process.threads:
        for name, value in thread.counters.items():
            if not 0 < len(name) <= LONGEST_SOURCE or not name.isprintable():
                raise InputError(f"a counter's name has 1 to {LONGEST_SOURCE} printable characters")
            if not 0 <= value <= MAX_COUNT:
                raise InputError(f"{name} must lie between 0 and {MAX_COUNT}, not {shown(value)}")


def _number(name: str, value: float) -> None:
    if not 0 <= value < math.inf:  # NaN too
        raise InputError(f"{name} must be a number from 0 on, not {shown(value)}")
