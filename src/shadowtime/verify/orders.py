"""Orders of the queue by a key: the highest first, ties by (submit, id).

spec: algorithms 1.4, 3.2.

A key reads R as the current estimate: it is handed the job with ``request`` = its estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from shadowtime.verify.world import Job, World

Key = Callable[[Job, int], float]


def weighted(wx: float, ww: float, wp: float) -> Key:
    """(W_x * sqrt((w + R) / R) + W_w * w) + W_p * P, hours, in this order of evaluation.

    spec: algorithms 3.2.
    """

    def key(job: Job, now: int) -> float:
        w = (now - job.submit) / 3600.0
        r = job.request / 3600.0
        return (wx * math.sqrt((w + r) / r) + ww * w) + wp * job.need[0]

    return key


def by_submit(job: Job, now: int) -> float:
    return -float(job.submit)


def by_estimate(job: Job, now: int) -> float:
    return -float(job.request)


def by_expansion(job: Job, now: int) -> float:
    return (now - job.submit + job.request) / job.request


KEYS: dict[str, Key] = {
    "fcfs": by_submit,
    "sjf": by_estimate,
    "lxf": by_expansion,
    "lxfw": weighted(1, 0.02, 0),
    "lxfwp": weighted(1, 0.02, 0.01),
    "lpf": weighted(0, 0, 1),
}


def in_order(world: World, key: Key) -> list[Job]:
    """Waiting jobs, highest key first, ties (submit, id); R in a key is the current estimate."""
    keys = {
        job.id: key(replace(job, request=world.estimate(job)), world.now) for job in world.waiting
    }
    return sorted(world.waiting, key=lambda job: (-keys[job.id], job.priority))
