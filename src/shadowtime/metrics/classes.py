"""Classes of jobs: properties of the workload, so a class holds the same jobs under any policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload

OTHERS = "others"
"""All but the largest users or groups."""
_START = re.compile(r"UnixStartTime:\s*(\d+)")
_ZONE = re.compile(r"TimeZoneString:\s*([A-Za-z0-9_+/-]+)")


def midnight_offset(header: Sequence[str]) -> int:
    """Seconds past midnight, local time, at second 0 of a trace with these header lines.

    The time zone's offset is that of the trace's start: a change to or from summer time within
    the trace moves its hours by one. Without a start time second 0 is taken for midnight,
    without a known time zone local time for UTC.

    Examples
    --------
    >>> midnight_offset(["; UnixStartTime: 90000", "; TimeZoneString: Etc/GMT-2"]) / 3600
    3.0
    >>> midnight_offset([])
    0
    """
    text = "\n".join(header)
    start, zone = _START.search(text), _ZONE.search(text)
    if start is None:
        return 0
    try:
        from zoneinfo import ZoneInfo

        moment = datetime.fromtimestamp(int(start[1]), ZoneInfo(zone[1]) if zone else UTC)
    except (KeyError, ValueError, OSError, OverflowError):  # an unknown zone or year
        return int(start[1]) % 86400
    return moment.hour * 3600 + moment.minute * 60 + moment.second


SIZE_EDGES = (1, 4, 16, 64, 256, 1024)
"""Largest number of processors of each class but the last."""

TIME_EDGES = (60, 600, 3600, 6 * 3600, 24 * 3600)
"""Seconds from which on each class but the first begins (inclusive)."""

WIDTH_EDGES, WIDTHS = (31, 64), ("small", "medium", "large")
"""Small jobs take fewer than 32 processors, large ones more than 64 (Chiang, Vernon, Table 7)."""

SHORT, NARROW = 3600, 8
"""A short job runs at most an hour, a narrow one takes at most 8 processors."""

_SLURM = {"group": "account", "queue": "QOS"}

TOP = 20
"""Users, groups and queues shown one by one; the rest is one class."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of every job, -1 for jobs in none, and the classes' labels in order."""

    of: Ints
    labels: tuple[str, ...]


def classify(
    workload: Workload, kind: str, *, edges: Sequence[int] | None = None, top: int = TOP
) -> Classes:
    """Sort jobs into classes by ``size, width, runtime, estimate, shape, hour, user, queue, ...``.

    Rules
    -----
    size: processors up to each edge (1, 4, 16, 64, 256, 1024). width: small (fewer than 32
    processors), medium, large (more than 64). runtime, estimate: seconds below
    each edge (1 min, 10 min, 1 h, 6 h, 24 h). shape: short (run <= 1 h) or long, narrow (<= 8
    processors) or wide. hour: of the day of submission, by the trace's start time and time zone.
    user, group, queue, partition: those with the most processor-seconds one by one (``top``),
    the others as one class. ``edges`` replaces the edges of the first three.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 0], run=[5, 60, 9999], procs=[1, 3, 40])
    >>> classify(w, "size").labels, classify(w, "runtime").of.tolist()
    (('1', '2-4', '5-16', '17-64'), [0, 1, 3])
    """
    if kind not in KINDS:
        raise UsageError(f"no classes by {kind!r}: there are {', '.join(KINDS)}")
    if edges is not None and (kind not in ("size", "runtime", "estimate") or not len(edges)):
        raise UsageError(f"classes by {kind} have no edges: give them for size, runtime, estimate")
    if edges is not None and (min(edges) < 0 or sorted(set(edges)) != list(edges)):
        raise UsageError(f"class edges must rise from class to class, not {list(edges)}")
    if kind == "size":
        return _by_size(workload.procs, edges or SIZE_EDGES)
    if kind in ("runtime", "estimate"):
        times = workload.run if kind == "runtime" else workload.request
        return _by_time(times, edges or TIME_EDGES)
    if kind in ("user", "group", "queue", "partition"):
        work = workload.procs * workload.effective_run
        return _by_number(workload, kind, work, top)
    return _OTHERS[kind](workload)


def _by_size(procs: Ints, edges: Sequence[int]) -> Classes:
    of = np.searchsorted(np.asarray(edges), procs, side="left")
    lows = [1, *(edge + 1 for edge in edges)]
    labels = [
        str(low) if low == high else f"{low}-{high}" for low, high in zip(lows, edges, strict=False)
    ]
    return _used(of, [*labels, f"> {edges[-1]}"])


def _by_time(seconds: Ints, edges: Sequence[int]) -> Classes:
    of = np.searchsorted(np.asarray(edges), seconds, side="right")
    between = [f"{_span(a)} - {_span(b)}" for a, b in pairwise(edges)]
    return _used(of, [f"< {_span(edges[0])}", *between, f">= {_span(edges[-1])}"])


def times_up_to(seconds: Ints, edges: Sequence[int]) -> Classes:
    """Classes of times that end with their edge, where users ask for round times.

    Examples
    --------
    >>> found = times_up_to(np.array([60, 3600, 3601]), (600, 3600))
    >>> found.labels, found.of.tolist()
    (('<= 10 min', '10 min - 1 h', '> 1 h'), [0, 1, 2])
    """
    of = np.searchsorted(np.asarray(edges), seconds, side="left")
    between = [f"{_span(a)} - {_span(b)}" for a, b in pairwise(edges)]
    return _used(of, [f"<= {_span(edges[0])}", *between, f"> {_span(edges[-1])}"])


def _span(seconds: int) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length and seconds % length == 0 and (unit != "d" or seconds > 86400):
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _used(of: AnyArray, labels: Sequence[str]) -> Classes:
    """Without the classes above the last one that has jobs."""
    last = int(of.max(initial=0))
    return Classes(of.astype(np.int64), tuple(labels[: last + 1]))


def called(workload: Workload, kind: str) -> str:
    """What a column is called: Slurm's accounts and QOS are the groups and queues of other logs.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> named = {"group": ("", "phys")}
    >>> w = Workload.build(submit=[0], run=[1], procs=[1], group=[1], names=named)
    >>> called(w, "group"), called(w, "queue"), classify(w, "group").labels
    ('account', 'queue', ('account phys',))
    """
    return _SLURM.get(kind, kind) if kind in workload.names else kind


def _by_number(workload: Workload, kind: str, work: Ints, top: int) -> Classes:
    number: Ints = getattr(workload, kind)
    word = called(workload, kind)
    names, of = np.unique(number, return_inverse=True)
    total = np.bincount(of, weights=work, minlength=len(names))
    total[names == UNKNOWN] = -1  # the unknown ones come last
    order = np.lexsort((names, -total))
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    shown = [workload.name_of(kind, name) or "unknown" for name in names[order].tolist()]
    labels = [f"{word} {name}" for name in shown]
    if len(labels) > top:
        labels = [*labels[:top], OTHERS]
    return Classes(np.minimum(place, top)[of] if len(names) else number, tuple(labels))


def _by_shape(workload: Workload) -> Classes:
    of = 2 * (workload.run > SHORT) + (workload.procs > NARROW)
    return Classes(of.astype(np.int64), ("short narrow", "short wide", "long narrow", "long wide"))


def _by_hour(workload: Workload) -> Classes:
    of = (workload.submit + midnight_offset(workload.header)) % 86400 // 3600
    return Classes(of, tuple(f"{hour:02d}:00" for hour in range(24)))


_OTHERS: Mapping[str, Callable[[Workload], Classes]] = {
    "shape": _by_shape,
    "hour": _by_hour,
    "width": lambda jobs: _used(np.searchsorted(WIDTH_EDGES, jobs.procs, side="left"), WIDTHS),
}

KINDS = (
    "size",
    "width",
    "runtime",
    "estimate",
    "shape",
    "hour",
    "user",
    "group",
    "queue",
    "partition",
)
"""Ways to sort jobs into classes."""
