"""No reservation violation: no job admitted later delays a job beyond its promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.active import running_at
from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def no_reservation_violation(case: Case) -> Proof:
    """A job that starts after its promise could not have started at it without the later jobs.

    At the promised moment the free processors, together with those of the later jobs that
    started since the job was blocked, must be too few for it: then earlier jobs kept it, which is
    benign. The paper counts only the later jobs that were predicted to be gone by then; a
    schedule does not tell predictions, so all of them count and the proof asks for more.

    References
    ----------
    Yuan et al. 2010, section 3.2, figure 1 (b) and (c), table 2.
    """
    name, s, runs = "no-reservation-violation", case.schedule, case.runs
    if s.promised is None or s.blocked_at is None:
        return not_made(name, "the schedule lacks the column promised or blocked_at")
    if case.cluster.shape != "pool":
        return not_made(name, "it is defined on a pool only")
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    given = started(s) & (s.promised != UNKNOWN) & (s.blocked_at != UNKNOWN)
    late = np.flatnonzero(given & (s.start > s.promised))
    for k, found in running_at(runs, s.promised[late]):
        job = int(late[k])
        blocked, promised = int(s.blocked_at[job]), int(s.promised[job])
        # The state before the pass at the promised moment: who starts just then is not yet there.
        there = found[runs.since[found] < promised]
        culprit = (runs.row[there] > job) & (runs.since[there] >= blocked)
        kept = case.demand[runs.row[there[~culprit]]].sum(axis=0)
        if (case.demand[job] <= case.capacity - kept).all():
            later = runs.row[there[culprit]]
            who = f" such as {case.name(int(later.max()))}" if len(later) else ""
            return violated(
                name,
                f"{case.name(job)}, blocked at {blocked} s and promised {promised} s, started at "
                f"{s.start[job]} s: without the later jobs let in meanwhile{who} its "
                f"{case.demand[job, 0]} processors were free at the promised moment",
            )
    return proved(
        name,
        f"{int(given.sum())} promises, {len(late)} missed, none because of jobs let in later",
    )
