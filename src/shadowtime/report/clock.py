"""Moments as people read them: the log's calendar where it has one, else days of the log."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shadowtime.report.numbers import number

if TYPE_CHECKING:
    from shadowtime.workload import Workload


def first_submit(workload: Workload) -> int:
    """The second of the first submission: pictures count time from there.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> first_submit(Workload.build(submit=[7, 9], run=[1, 1], procs=[1, 1]))
    7
    """
    return int(workload.submit[0]) if len(workload) else 0


def unix_start(workload: Workload) -> int | None:
    """The moment that the log counts its seconds from, where it gives one.

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
