"""The limits a schedule states are those of the trace and the policy, not its own invention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated
from shadowtime.schedule.check.stretched import least_and_most
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.types import Ints

NAME = "limits-recomputed"


def limits_recomputed(case: Case) -> Proof:
    """The column ``limit`` equals what trace and policy give.

    Off nodes no policy changes a limit: it is the trace's. On nodes Slurm's policies add their
    grace, and limits may be stretched by the planned penalty, which is worked out anew from who
    ran on the job's nodes when it started. What the reservation then added is not in a schedule:
    for jobs that overtook, the limit must lie between the penalty without and with it.
    """
    s, w, rules = case.schedule, case.workload, case.rules
    if s.limit is None:
        return proved(NAME, "the schedule states no limits: the trace's are taken")
    ran = started(s)
    if rules is None:
        rows = np.flatnonzero(ran & (s.limit != w.limit))
        if len(rows) == 0:
            return proved(NAME, f"{int(ran.sum())} limits, all the trace's")
        if case.cluster.shape != "nodes":
            return violated(NAME, _says(case, int(rows[0]), w.limit) + such(len(rows), "jobs"))
        short = np.flatnonzero(ran & (s.limit < w.limit))
        if len(short):
            return violated(NAME, _says(case, int(short[0]), w.limit) + such(len(short), "jobs"))
        return not_made(
            NAME,
            f"{len(rows)} limits are longer than the trace's, the first is that of "
            f"{case.name(int(rows[0]))}; name the policy to have them worked out",
        )
    if not rules.stretched:
        rows = np.flatnonzero(ran & (s.limit != rules.limit))
        if len(rows):
            return violated(NAME, _says(case, int(rows[0]), rules.limit) + such(len(rows), "jobs"))
        return proved(NAME, f"{int(ran.sum())} limits, all as {rules.policy} gives them")
    short = np.flatnonzero(ran & (s.limit < rules.limit))
    if len(short):
        return violated(NAME, _says(case, int(short[0]), rules.limit) + such(len(short), "jobs"))
    bounds = least_and_most(case)
    if bounds is None:
        return not_made(NAME, "limits grow with plans that the schedule does not show")
    least, most = bounds
    rows = np.flatnonzero(ran & ((s.limit < least) | (s.limit > most)))
    if len(rows):
        row = int(rows[np.argmin(s.start[rows])])
        span = f"{least[row]}" if least[row] == most[row] else f"{least[row]} to {most[row]}"
        return violated(
            NAME,
            f"{case.name(row)} has limit {s.limit[row]} s, and its planned penalty gives {span} s"
            f"{such(len(rows), 'jobs')}",
        )
    exact = int((ran & (least == most)).sum())
    return proved(NAME, f"{exact} stretched limits exactly, {int(ran.sum()) - exact} within bounds")


def _says(case: Case, row: int, true: Ints) -> str:
    said = case.schedule.limit
    assert said is not None
    source = "the trace" if case.rules is None else f"the trace with {case.rules.policy}"
    return f"{case.name(row)} has limit {said[row]} s, and {source} gives {true[row]} s"
