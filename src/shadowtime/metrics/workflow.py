"""Workflows as wholes: how long they take, and how much longer than on a machine of their own."""

from __future__ import annotations

import numpy as np

from shadowtime.schedule import Schedule
from shadowtime.types import UNKNOWN, Floats, Ints
from shadowtime.workload import Workload, follows


def workflow_metrics(workload: Workload, schedule: Schedule, scored: Ints) -> dict[str, float]:
    """Makespans and slowdowns of the workflows all of whose jobs are scored (ids).

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.follows import ENDED, follow_table
    >>> w = Workload.build(submit=[0, 19], run=[9, 9], procs=[1, 1], recorded_start=[10, 29],
    ...                    follows=follow_table([(2, 1, 0, ENDED)]))
    >>> workflow_metrics(w, Schedule.recorded(w), w.job_id)
    {'workflows': 1, 'workflow_makespan_mean_s': 38.0, ..., 'workflow_slowdown_max': 2.11...}
    """
    flow = follows.workflows(workload)
    whole = np.isin(flow, np.unique(flow[~np.isin(workload.job_id, scored)]), invert=True)
    rows = np.flatnonzero(whole & (flow != UNKNOWN))
    _, number = np.unique(flow[rows], return_inverse=True)
    if not len(rows):
        return {"workflows": 0}
    least, ideal = follows.alone(workload)
    made = _spans(number, schedule.submit[rows], schedule.end[rows])
    slow = made / np.maximum(_spans(number, least[rows], ideal[rows]), 1)
    return {
        "workflows": len(made),
        "workflow_makespan_mean_s": float(made.mean()),
        "workflow_makespan_max_s": float(made.max()),
        "workflow_slowdown_mean": float(slow.mean()),
        "workflow_slowdown_max": float(slow.max()),
    }


def _spans(number: Ints, begin: Ints, end: Ints) -> Floats:
    """From the first begin to the last end of each group."""
    count = int(number.max()) + 1
    first, last = np.full(count, 1 << 60), np.full(count, -1)
    np.minimum.at(first, number, begin)
    np.maximum.at(last, number, end)
    found: Floats = (last - first).astype(np.float64)
    return found
