"""Selective reservations, and promises for all in an order of priority (Srinivasan et al. 2002)."""

from __future__ import annotations

from typing import Any

from shadowtime.policy.backfill import Selected
from shadowtime.policy.catalogue.talby import compress
from shadowtime.policy.order import NAMED
from shadowtime.policy.policy import Policy
from shadowtime.policy.reserve import Chosen


def selective(now: int, job: Any, threshold: float = 2.0) -> bool:
    """blocked jobs whose expansion factor (wait + estimate) / estimate exceeds a threshold."""
    return bool((job.wait + job.estimate) / job.estimate > threshold)


def adaptive(now: int, job: Any, user: Any, first: float = 2.0) -> bool:
    """blocked jobs whose expansion factor exceeds the mean slowdown of the jobs that ended."""
    mean = user[1] / user[0] if user[0] > 0 else first
    return bool((job.wait + job.estimate) / job.estimate > mean)


def add_slowdown(now: int, job: Any, user: Any) -> None:
    """Count a job that ended."""
    user[0] += 1
    user[1] += (now - job.submit) / max(1, job.ran)


def promise_all(now: int, jobs: Any, free: Any) -> None:
    """every job, promised at submission, never later; promises move earlier in the order."""
    compress(jobs, free)
    for i in range(len(jobs.procs)):
        jobs.start[i] = jobs.due[i] == now
        if jobs.promised[i] < 0:
            jobs.promised[i] = jobs.due[i]


PARTS = (
    Chosen(selective),
    Chosen(adaptive, memory=2, by="all", learners=(("end", add_slowdown),)),
    Selected(promise_all, claims=("promises-kept",), promising=True),
)
POLICIES = (
    Policy(
        name="selective",
        order=NAMED["lxf"],
        reserve=PARTS[0],
        summary="largest expansion factor first; a reservation from a factor of 2 on",
        paper="Srinivasan et al. 2002 (JSSPP), static threshold",
    ),
    Policy(
        name="selective-adaptive",
        order=NAMED["lxf"],
        reserve=PARTS[1],
        summary="the same; a reservation from the mean slowdown of ended jobs on",
        paper="Srinivasan et al. 2002 (JSSPP), adaptive threshold",
    ),
    Policy(
        name="priority-conservative",
        order=NAMED["lxf"],
        backfill=PARTS[2],
        summary="every job is promised a start; promises move earlier by expansion factor",
        paper="Srinivasan et al. 2002 (ICPP workshops), conservative with a priority",
    ),
)
