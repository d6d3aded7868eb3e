"""Times for people: the log's calendar if it has one, else days of the log."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from shadowtime.report.numbers import number
from shadowtime.workload import Workload


def first_submit(workload: Workload) -> int:
    """The second of the first submission: charts count time from there.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> first_submit(Workload.build(submit=[7, 9], run=[1, 1], procs=[1, 1]))
    7
    """
    return int(workload.submit[0]) if len(workload) else 0


def unix_start(workload: Workload) -> int | None:
    """The time from which the log counts its seconds, if known.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> header = ("; UnixStartTime: 838188000",)
    >>> unix_start(Workload.build(submit=[], run=[], procs=[], header=header))
    838188000
    """
    for line in workload.header:
        found = re.match(r"^;?\s*UnixStartTime\s*:\s*(\d+)", line)
        if found and int(found.group(1)) > 0:
            return int(found.group(1))
    return workload.epoch


def moment(seconds: int, start: int | None) -> str:
    """A second of the log.

    Examples
    --------
    >>> moment(90061, None), moment(0, 838188000)
    ('day 1, 01:01:01', '1996-07-24 06:00:00 UTC')
    """
    if start is not None:
        return datetime.fromtimestamp(start + seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    day, rest = divmod(int(seconds), 86_400)
    return f"day {number(day)}, {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


_STEPS = (60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
          259_200, 432_000, 604_800)  # fmt: skip
_MONTH = 30 * 86_400


def time_ticks(
    begin: float, end: float, start: int | None, *, most: int = 5
) -> list[tuple[float, str]]:
    """Round times within a span with their labels, at most about ``most`` of them.

    Examples
    --------
    >>> time_ticks(0, 3 * 86_400, None)
    [(0, 'day 0'), (86400, 'day 1'), (172800, 'day 2'), (259200, 'day 3')]
    >>> [label for _, label in time_ticks(0, 13 * 86_400, None)]
    ['day 0', 'day 3', 'day 6', 'day 9', 'day 12']
    >>> [label for _, label in time_ticks(0, 20_000, 838_188_000)]
    ['24 Jul 06:00', '08:00', '10:00']
    >>> [label for _, label in time_ticks(0, 90 * 86_400, 838_188_000)]
    ['Aug 1996', 'Sep 1996', 'Oct 1996']
    """
    least = max(end - begin, 1.0) / most
    if start is not None and least > 14 * 86_400:
        return _months(begin, end, start, max(1, round(least / _MONTH)))
    step = next((size for size in _STEPS if size >= least), 0)
    if not step:
        step = int(10 ** len(str(int(least / 86_400)))) * 86_400 // 2
    zero = start or 0
    first = -int(-(begin + zero) // step) * step
    found: list[tuple[float, str]] = []
    for moment_at in range(first, int(end) + zero + 1, step):
        label = _tick(moment_at, step, calendar=start is not None, first=not found)
        found.append((moment_at - zero, label))
    return found


def _tick(at: int, step: int, *, calendar: bool, first: bool) -> str:
    """The day on the first tick and at midnight, else the hour."""
    clock = f"{at // 3600 % 24:02}:{at // 60 % 60:02}"
    whole = at % 86_400 == 0
    if not (whole or first):
        return clock
    day = f"day {number(at // 86_400)}"
    if calendar:
        date = datetime.fromtimestamp(at, UTC)
        day = f"{date.day} {date:%b}" if not whole or step < 86_400 else f"{date.day} {date:%b %Y}"
    return day if whole else f"{day} {clock}"


def _months(begin: float, end: float, start: int, step: int) -> list[tuple[float, str]]:
    step = next((size for size in (1, 2, 3, 6, 12, 24, 60) if size >= step), 120)
    date = datetime.fromtimestamp(start + begin, UTC)
    month = -(-(date.year * 12 + date.month - 1) // step) * step
    found: list[tuple[float, str]] = []
    while True:
        at = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp() - start
        if at > end:
            return found
        if at >= begin:
            found.append((at, f"{datetime(2000, month % 12 + 1, 1):%b} {month // 12}"))
        month += step
