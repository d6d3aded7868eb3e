"""The columns of a schedule file: their names, order and possible values, and how they are joined.

From the columns of a file, whatever its format, to a Schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shadowtime.schedule.schedule import Attempts, Schedule
from shadowtime.types import NO_LIMIT, UNKNOWN, Ints, Reason

ALWAYS = ("job_id", "submit", "start", "end", "procs", "reason", "kills", "killed")
"""Written for every schedule, in this order."""

WHERE_KNOWN = ("promised", "blocked_at", "limit", "place", "penalised")
"""Written after those, where the schedule has them."""

REQUIRED = ("job_id", "submit", "start", "end", "procs")
"""Without these a file is not a schedule."""

NEUTRAL: Mapping[str, int] = {"reason": int(Reason.RECORDED), "kills": 0, "killed": 0}
"""What stands in for a column of ALWAYS that a file from elsewhere does not have."""

ATTEMPTS = ("job_id", "start", "end", "preempted")
"""Columns of the file of attempts; preempted is 1 for those that were stopped."""

OF_WORK = ("kept", "overhead")
"""Further columns of it where stopped jobs keep work or starting again costs time: seconds of the
attempt whose work counts, and seconds at its beginning that went into starting again."""

OF_PIECES = ("procs", "speed", "draw", "work")
"""Further columns of it where jobs change while they run (spec: changing 4.1): a row for each
stretch at one size and speed. Processors, thousandths of full speed, millionths of the job's power,
and its work that counts, in millionths of a second at the job's own size and full speed."""

UNKNOWN_ALLOWED = ("start", "end", "promised", "blocked_at", "limit")
"""Columns in which -1 or nothing means unknown, never, or no limit."""

LARGEST: Mapping[str, int] = {
    "procs": (1 << 31) - 1,
    "reason": len(Reason) - 1,
    "killed": 1,
    "preempted": 1,
    "work": 1 << 62,
}
"""The largest value of a column; times stay below NO_LIMIT, ids within 62 bits."""

LABELS = tuple(reason.label for reason in sorted(Reason))
"""Reasons as a file spells them: the place in this tuple is the code."""


def largest(name: str) -> int:
    """The largest value a column may hold."""
    return LARGEST.get(name, (1 << 62) if name == "job_id" else NO_LIMIT)


def smallest(name: str) -> int:
    """The smallest value a column may hold.

    Examples
    --------
    >>> smallest("start"), smallest("procs"), smallest("kills")
    (-1, 1, 0)
    """
    if name in UNKNOWN_ALLOWED:
        return UNKNOWN
    return 1 if name == "procs" else 0


def present(schedule: Schedule) -> tuple[str, ...]:
    """The columns that a file of this schedule holds, in the contract's order."""
    known = tuple(name for name in WHERE_KNOWN if getattr(schedule, name) is not None)
    return ALWAYS + known


def first_out_of_range(name: str, values: Ints) -> int | None:
    """The first row whose value a column may not hold.

    Examples
    --------
    >>> first_out_of_range("procs", np.array([4, 0])), first_out_of_range("start", np.array([-1]))
    (1, None)
    """
    wrong = (values < smallest(name)) | (values > largest(name))
    return int(np.argmax(wrong)) if wrong.any() else None


def schedule_from(
    columns: Mapping[str, Ints],
    *,
    place: Sequence[str] | None,
    attempts: Attempts,
    ignored: int,
) -> Schedule:
    """A schedule from whole-number columns: rows sorted by (submit, id), none dropped.

    A column of the contract that is not given gets its neutral value and is listed in
    ``missing``, or stays None where that is allowed.
    """
    rows = len(columns["job_id"])
    missing = tuple(name for name in ALWAYS if name not in columns)
    order = np.lexsort((columns["job_id"], columns["submit"]))
    of = {name: column[order] for name, column in columns.items()}
    of |= {name: np.full(rows, NEUTRAL[name], np.int64) for name in missing}
    if "limit" in of:
        of["limit"] = np.where(of["limit"] == UNKNOWN, NO_LIMIT, of["limit"])
    return Schedule(
        job_id=of["job_id"],
        submit=of["submit"],
        start=of["start"],
        end=of["end"],
        procs=of["procs"],
        reason=of["reason"].astype(np.int8),
        kills=of["kills"],
        killed=of["killed"].astype(np.int8),
        promised=of.get("promised"),
        blocked_at=of.get("blocked_at"),
        limit=of.get("limit"),
        penalised=of.get("penalised"),
        place=None if place is None else tuple(place[row] for row in order.tolist()),
        attempts=attempts,
        missing=missing,
        counters={"ignored_columns": ignored},
    )


def attempts_from(columns: Mapping[str, Ints]) -> Attempts:
    """Attempts from whole-number columns, sorted by start, then job."""
    order = np.lexsort((columns["job_id"], columns["start"]))
    job_id, start, end, preempted = (columns[name][order] for name in ATTEMPTS)
    made = Attempts(job_id=job_id, start=start, end=end, killed=preempted.astype(np.int8))
    if not all(name in columns for name in OF_WORK):
        return made
    kept, overhead = (columns[name][order] for name in OF_WORK)
    made = replace(made, kept=kept, overhead=overhead)
    if not all(name in columns for name in OF_PIECES):
        return made
    procs, speed, draw, work = (columns[name][order] for name in OF_PIECES)
    return replace(made, procs=procs, speed=speed, draw=draw, work=work)


def attempt_columns(attempts: Attempts) -> dict[str, Ints]:
    """The columns of a file of attempts by name, in the contract's order."""
    stopped: Ints = attempts.killed.astype(np.int64)
    columns = (attempts.job_id, attempts.start, attempts.end, stopped)
    found = dict(zip(ATTEMPTS, columns, strict=True))
    if attempts.kept is not None and attempts.overhead is not None:
        found |= {"kept": attempts.kept, "overhead": attempts.overhead}
    if attempts.procs is not None:
        found |= {name: getattr(attempts, name) for name in OF_PIECES}
    return found
