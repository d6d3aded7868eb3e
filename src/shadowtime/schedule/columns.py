"""The columns of a schedule file: their names, their order and what their values may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.types import NO_LIMIT, UNKNOWN, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.schedule.schedule import Schedule

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
