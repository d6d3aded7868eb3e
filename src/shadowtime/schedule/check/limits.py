"""Every job runs as long as it needs, or until its limit stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, proved, such, violated
from shadowtime.schedule.runs import started
from shadowtime.types import NO_LIMIT

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case


def limits_kept(case: Case) -> Proof:
    """end - start = min(run, limit), and ``killed`` says which; never more than the limit.

    The limit is the one of trace and policy; where the policy is not known or stretches limits,
    the schedule's own, which is proved apart (limits-recomputed), else the trace's. A job that
    others slowed down (``penalised`` > 0) may take longer than its run, but not longer than its
    limit; its work is that of the trace cut at the trace's limit, and who has done that is not
    killed.
    """
    name, s, w = "limits-kept", case.schedule, case.workload
    ran = started(s)
    length = s.end - s.start
    limit = case.limit
    slowed = np.zeros(len(s), bool) if s.penalised is None else s.penalised > 0
    killed_known = "killed" not in s.missing
    work = w.run if s.penalised is None else w.effective_run
    needs = np.minimum(work, limit)
    for wrong, what in (
        (length > limit, "longer than its limit of {limit} s"),
        (~slowed & (length != needs), "but its run is {run} s and its limit {limit} s"),
        (length < needs, "shorter than its run of {run} s, though nothing stopped it"),
        (
            killed_known & (s.killed == 1) & (length != limit),
            "and is marked as killed at its limit of {limit} s",
        ),
        (
            killed_known & ~slowed & ((s.killed == 1) != (work > limit)),
            "with a run of {run} s, a limit of {limit} s and killed = {killed}",
        ),
    ):
        rows = np.flatnonzero(ran & wrong)
        if len(rows):
            row = int(rows[0])
            shown = "none" if limit[row] >= NO_LIMIT else str(limit[row])
            detail = what.format(run=w.run[row], limit=shown, killed=s.killed[row])
            return violated(
                name, f"{case.name(row)} ran {length[row]} s, {detail}{such(len(rows), 'jobs')}"
            )
    stopped = int((s.killed[ran] == 1).sum())
    return proved(name, f"{int(ran.sum())} runs within their limits, {stopped} stopped there")
