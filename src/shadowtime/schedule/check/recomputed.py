"""The same schedule comes out when the policy is run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated
from shadowtime.schedule.match import match
from shadowtime.schedule.runs import row_of
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.schedule.schedule import Schedule
    from shadowtime.types import Ints

NAME = "recomputed"
COLUMNS = (
    "start",
    "end",
    "reason",
    "kills",
    "killed",
    "promised",
    "blocked_at",
    "limit",
    "penalised",
)


def same_again(case: Case, again: Schedule) -> Proof:
    """Every column and every attempt equal those of ``again``; the first difference by name.

    Columns that the schedule does not have are not compared, and named.
    """
    s = case.schedule
    other = match(again, case.workload).schedule
    if len(other) != len(s):
        return not_made(NAME, "the jobs of the schedule are not those of the trace")
    when = np.minimum(s.start, other.start)
    skipped = []
    found: list[tuple[int, int, str]] = []
    for number, name in enumerate(COLUMNS):
        mine, true = getattr(s, name), getattr(other, name)
        if mine is None or true is None or name in s.missing:
            skipped.append(name)
            continue
        rows = np.flatnonzero(mine != true)
        if len(rows):
            row = int(rows[np.argmin(when[rows])])
            shown = [_shown(name, int(column[row])) for column in (mine, true)]
            what = f"{case.name(row)} has {name} {shown[0]}, and the policy gives {shown[1]}"
            found.append((int(when[row]), number, what + such(len(rows), "jobs")))
    if s.place is None or other.place is None:
        skipped.append("place")
    else:
        places = [k for k, (a, b) in enumerate(zip(s.place, other.place, strict=True)) if a != b]
        if places:
            row = min(places, key=lambda k: int(when[k]))
            what = f"{case.name(row)} has place {s.place[row]}, and the policy gives "
            found.append(
                (
                    int(when[row]),
                    len(COLUMNS),
                    what + other.place[row] + such(len(places), "jobs"),
                )
            )
    if found:
        return violated(NAME, min(found)[2])
    mine, true = _attempts(s), _attempts(other)
    if mine != true:
        first = min(set(mine) ^ set(true), default=None)
        if first is None:
            return violated(NAME, "an attempt is listed more than once")
        start, job, end, _ = first
        whose = "the policy makes no such attempt" if first in mine else "the file lacks it"
        return violated(NAME, f"job {job}, attempt from {start} to {end} s: {whose}")
    lacking = f"; not compared: {', '.join(skipped)}" if skipped else ""
    return proved(NAME, f"the policy, run again, gives the same {len(s)} rows{lacking}")


def _shown(column: str, value: int) -> str:
    if column != "reason":
        return str(value)
    return Reason(value).label if value in list(Reason) else str(value)


def _attempts(schedule: Schedule) -> list[tuple[Any, ...]]:
    """The attempts of the jobs at hand, in order."""
    a = schedule.attempts
    mine: Ints = row_of(schedule, a.job_id) != UNKNOWN
    rows = zip(a.start[mine], a.job_id[mine], a.end[mine], a.killed[mine], strict=True)
    return sorted(tuple(int(value) for value in row) for row in rows)
