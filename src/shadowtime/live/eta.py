"""When a waiting job will start: the simulator continued from now (spec: estimates 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine.live_pass.forward import forward

if TYPE_CHECKING:
    from shadowtime.engine.live_pass import Memory
    from shadowtime.engine.live_pass.outcome import Shape
    from shadowtime.live.port import Snapshot
    from shadowtime.policy import Policy

FEW = 5
"""With fewer finished jobs than this, the used share of requests is unknown."""
SHORT, LONG = 0.1, 0.9
"""The shares of all jobs that bound the range."""


@dataclass(frozen=True)
class Eta:
    """A predicted start and its range, in seconds since 1970."""

    expected: int
    earliest: int
    latest: int
    soon: float | None = None
    """The probability that it starts within an hour, where it is known."""


def predict(
    policy: Policy, state: Snapshot, memory: Memory | None = None, *, shape: Shape = "pool"
) -> dict[str, Eta]:
    """The predicted start of every waiting job.

    Rules
    -----
    Expected: every job runs as long as the policy expects. The range: every job uses as little or
    as much of its request as the tenth and the nine tenths of the jobs that ended lately; all of
    it or a tenth where fewer than five have. No further job is submitted: a later job that may
    overtake is not foreseen.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.live.port import RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> state = Snapshot(now=2, cluster=Cluster(shape="nodes", hosts=(Host("n1", (4,)),)),
    ...     running=(RunningJob(id="1", submit=0, need=(3,), request=100, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=50),))
    >>> predict(parse_policy("easy"), state)
    {'2': Eta(expected=100, earliest=10, latest=100, soon=None)}
    """
    short, long = used_shares(state)
    expected = forward(policy, state, memory, shape=shape)
    others = [
        forward(policy, state, memory, runs=scaled(state, share), shape=shape)
        for share in (short, long)
    ]
    return {
        job: Eta(
            start,
            min(start, *(other[job] for other in others)),
            max(start, *(other[job] for other in others)),
        )
        for job, start in expected.items()
    }


def used_shares(state: Snapshot) -> tuple[float, float]:
    """How much of their requests jobs use: little and much, from those that ended lately."""
    shares = [(job.end - job.start) / job.request for job in state.ended if job.request > 0]
    if len(shares) < FEW:
        return SHORT, 1.0
    low, high = np.quantile(np.clip(shares, 0, 1), [SHORT, LONG])
    return float(low), float(high)


def scaled(state: Snapshot, share: float) -> dict[str, int]:
    """Run times if every job uses this share of its request."""
    jobs = [(job.id, job.request) for job in state.waiting]
    jobs += [(job.id, job.request) for job in state.running]
    return {job: max(1, round(request * share)) for job, request in jobs}
