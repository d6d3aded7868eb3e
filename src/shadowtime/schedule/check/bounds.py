"""No more of a counted amount is ever in use than a series allows at the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import kind_of
from shadowtime.schedule.check.report import Proof, proved, violated
from shadowtime.workload.site_requests import column_of

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "series-bounds"


def within_bounds(case: Case) -> Proof | None:
    """What running jobs hold stays within the series of the amount's name; None without one.

    Rules
    -----
    A job that outlives its estimate keeps what it holds: under a policy that predicts run times a
    bound that falls meanwhile can be passed, which is a violation like any other.
    """
    bounds = case.bounds
    if not bounds:
        return None
    ran = case.runs
    for name, bound in bounds.items():
        column = column_of(case.workload, name)
        if column is None:
            continue
        held = np.maximum(column[ran.row], 0)
        instants = np.unique(np.concatenate([ran.since, ran.until, bound.time]))
        change = np.zeros(len(instants), np.int64)
        np.add.at(change, np.searchsorted(instants, ran.since), held)
        np.add.at(change, np.searchsorted(instants, ran.until), -held)
        level = np.cumsum(change)
        over = np.flatnonzero(level > bound.at(instants))
        if len(over):
            at, kind = int(over[0]), kind_of(name)
            used, most = (kind.count(f"{n:,.0f}") for n in (level[at], bound.at(instants[at])))
            return violated(
                NAME, f"at {instants[at]} s {used} of {kind.title(name)} are in use, and the "
                f"series allows {most}"
            )  # fmt: skip
    return proved(NAME, f"{', '.join(bounds)}: never more in use than the series allows")
