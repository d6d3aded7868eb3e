"""A closed loop: users submit again when their jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.study.site.trials import Trial
from shadowtime.workload.moved import resubmitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload
    from shadowtime.workload.sessions import Sessions

ROUNDS = 12
"""Simulations of one run at most."""
NEAR = 0.01
"""Share of the mean run time by which submissions may still move, on the mean, at the end."""


def closed_loop(jobs: Workload, sessions: Sessions, run: Callable[[Workload], Schedule]) -> Trial:
    """Simulate, move submissions to when users would have made them, and repeat until they
    converge.

    Rules
    -----
    ``sessions`` are those of the log, row by row. Every round fixes at least one more batch of
    each session, as a batch depends only on earlier ones; the rounds end when submissions
    move by less than a hundredth of the mean run time on the mean, or after ROUNDS.
    """
    current = jobs
    near = NEAR * max(float(jobs.effective_run.mean()), 1.0)
    place = np.argsort(jobs.job_id, kind="stable")
    schedule = run(current)
    for _ in range(ROUNDS):
        end = np.empty(len(jobs), np.int64)
        found = place[np.searchsorted(jobs.job_id[place], schedule.job_id)]
        end[found] = schedule.end
        submit = sessions.submits(end)
        was = np.empty(len(jobs), np.int64)
        was[found] = current.submit
        if float(np.abs(submit - was).mean()) < near:
            break
        current = resubmitted(jobs, submit)
        schedule = run(current)
    return Trial(current, schedule)


def throughput(trial: Trial, until: int) -> float:
    """Jobs completed per day until a time of the log.

    The same time for every change: a faster site has completed more by then.
    """
    done = trial.counted & (trial.schedule.end <= until)
    first = int(trial.workload.submit.min()) if len(trial.workload) else 0
    return float(done.sum()) / max((until - first) / 86_400, 1e-9)
