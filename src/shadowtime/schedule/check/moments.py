"""Jobs start when something happens: at a submission or at an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "starts-at-events"


def starts_at_events(case: Case) -> Proof | None:
    """Every start is at a moment at which a job is submitted or a run ends.

    Policies decide only then, unless they keep promises for good or correct predictions as time
    goes by: of those there is nothing to say.
    """
    if case.rules is None or not case.rules.starts_at_events:
        return None
    if case.lost_are_missing:
        return not_made(NAME, "jobs were preempted, and the file of their attempts is missing")
    runs = case.runs
    known = np.isin(runs.since, np.concatenate([case.workload.submit, runs.until]))
    wrong = np.flatnonzero(~known)
    if len(wrong):
        first = wrong[np.argmin(runs.since[wrong])]
        return violated(
            NAME,
            f"{case.name(int(runs.row[first]))} starts at {runs.since[first]} s, when no job was "
            f"submitted and none ended{such(len(wrong), 'starts')}",
        )
    return proved(NAME, f"{len(runs)} starts, each at a submission or an end")
