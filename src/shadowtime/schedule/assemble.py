"""From the columns of a file, whatever its format, to a Schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.columns import (
    ALWAYS,
    ATTEMPTS,
    NEUTRAL,
    OF_PIECES,
    OF_WORK,
    largest,
    smallest,
)
from shadowtime.schedule.schedule import Attempts, Schedule
from shadowtime.types import NO_LIMIT, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.types import Ints


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
