"""A schedule as CSV text, and the attempts of its preempted jobs beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.schedule.columns import ATTEMPTS, LABELS, present
from shadowtime.types import NO_LIMIT, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.schedule.schedule import Attempts, Schedule

ROWS = 1 << 16
"""Rows turned into text at a time: enough to be quick, few enough to stay small in memory."""

SPECIAL = frozenset(',"\r\n')


def quoted(text: str) -> str:
    """A text field, in quotation marks where CSV asks for them.

    Examples
    --------
    >>> quoted("n1:4 n2:2"), quoted("n1,n2")
    ('n1:4 n2:2', '"n1,n2"')
    """
    if SPECIAL.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _values(schedule: Schedule, name: str, rows: slice) -> Sequence[Any]:
    """One column of some rows as the objects that the row template prints."""
    column = getattr(schedule, name)
    if name == "place":
        return [quoted(place) for place in column[rows]]
    if name == "reason":
        return [LABELS[code] for code in column[rows].tolist()]
    if name == "limit":
        column = np.where(column >= NO_LIMIT, UNKNOWN, column)
    values: list[int] = column[rows].tolist()
    return values


def schedule_lines(schedule: Schedule) -> Iterator[str]:
    """The text of a schedule file, in pieces: the header, then many rows at a time.

    A row per job in the schedule's order, whole seconds, reasons by name, -1 for unknown and
    for a limit that nothing enforces.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[10], procs=[2], recorded_start=[3])
    >>> print("".join(schedule_lines(Schedule.recorded(w))), end="")
    job_id,submit,start,end,procs,reason,kills,killed
    1,0,3,13,2,recorded,0,0
    """
    names = present(schedule)
    yield ",".join(names) + "\n"
    row = ",".join("%s" if name in ("reason", "place") else "%d" for name in names) + "\n"
    for first in range(0, len(schedule), ROWS):
        rows = slice(first, first + ROWS)
        columns = [_values(schedule, name, rows) for name in names]
        # One C-level loop for the whole piece: three times as fast as a loop of f-strings.
        yield "".join(map(row.__mod__, zip(*columns, strict=True)))


def attempts_lines(attempts: Attempts) -> Iterator[str]:
    """The text of the attempts file: a row per attempt of every preempted job."""
    yield ",".join(ATTEMPTS) + "\n"
    columns = (attempts.job_id, attempts.start, attempts.end, attempts.killed)
    for first in range(0, len(attempts), ROWS):
        piece = [column[first : first + ROWS].tolist() for column in columns]
        yield "".join(map("%d,%d,%d,%d\n".__mod__, zip(*piece, strict=True)))
