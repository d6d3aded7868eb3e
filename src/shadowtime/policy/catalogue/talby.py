"""Slack-based backfilling (Talby and Feitelson 1999), simplified (spec: algorithms 1.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.choice import earliest, occupy, release
from shadowtime.policy.backfill import Selected
from shadowtime.policy.policy import Policy


def compress(jobs: Any, free: Any) -> None:
    """Every job's plan to its earliest start around all others', one after the other in order.

    A job without a plan gets one. No plan moves later, unless a running job outlives its estimate.
    """
    for i in range(len(jobs.procs)):
        if jobs.due[i] >= 0:
            occupy(free, jobs.need[i], jobs.due[i], jobs.due[i] + jobs.estimate[i])
    for i in range(len(jobs.procs)):
        if jobs.due[i] >= 0:
            release(free, jobs.need[i], jobs.due[i], jobs.due[i] + jobs.estimate[i])
        jobs.due[i] = earliest(free, jobs.need[i], jobs.estimate[i])
        occupy(free, jobs.need[i], jobs.due[i], jobs.due[i] + jobs.estimate[i])


def slack(now: int, jobs: Any, free: Any, factor: float = 1.0, tries: int = 50) -> None:
    """any job, as long as all others can still start before their slack is used up."""
    compress(jobs, free)
    count = len(jobs.procs)
    for i in range(count):
        if jobs.promised[i] < 0:
            jobs.promised[i] = jobs.due[i] + int(factor * jobs.estimate[i])
        jobs.start[i] = jobs.due[i] == now
    by_promise = np.argsort(jobs.promised, kind="mergesort")
    planned = np.zeros(count, np.int64)
    for i in range(count):
        fits = jobs.start[i] == 0 and tries > 0
        for k in range(jobs.need.shape[1]):
            fits = fits and jobs.need[i, k] <= free.level[0, k]
        if not fits:
            continue
        tries -= 1
        for j in range(count):
            planned[j] = -1
            if jobs.start[j] == 0:
                release(free, jobs.need[j], jobs.due[j], jobs.due[j] + jobs.estimate[j])
        planned[i] = now
        occupy(free, jobs.need[i], now, now + jobs.estimate[i])
        kept = True
        for j in by_promise:
            if kept and jobs.start[j] == 0 and j != i:
                planned[j] = earliest(free, jobs.need[j], jobs.estimate[j])
                occupy(free, jobs.need[j], planned[j], planned[j] + jobs.estimate[j])
                kept = planned[j] <= jobs.promised[j]
        for j in range(count):
            if jobs.start[j] != 0:
                continue
            if kept:
                jobs.due[j] = planned[j]
                jobs.start[j] = planned[j] == now
            elif planned[j] >= 0:
                release(free, jobs.need[j], planned[j], planned[j] + jobs.estimate[j])
        if not kept:
            for j in range(count):
                if jobs.start[j] == 0:
                    occupy(free, jobs.need[j], jobs.due[j], jobs.due[j] + jobs.estimate[j])


PARTS = (Selected(slack, claims=("promises-kept",)),)
POLICIES = (
    Policy(
        name="slack",
        backfill=PARTS[0],
        summary="promises with slack: jobs overtake while all others stay within theirs",
        paper="Talby and Feitelson 1999 (IPPS), abstract, simplified",
    ),
)
