"""The live state for people: what is in use, which jobs wait, when each will start.

Of a policy of a loop the starts are predicted from drawn futures, as for Slurm's scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.live_pass import Memory, natural
from shadowtime.engine.live_pass.decide import forward
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.eta.draws import learn_alike, remaining
from shadowtime.eta.present import LONGEST, Present, Running, Waiting
from shadowtime.eta.ranges import estimates_of
from shadowtime.eta.shares import Observed, Shares
from shadowtime.eta.starts import NEVER_STARTS, Drawn
from shadowtime.live.deciding import set_aside, without
from shadowtime.live.placing import FITS_NOWHERE, NOWHERE_ON_SITE, TOO_BIG
from shadowtime.live.port import Snapshot, Trust
from shadowtime.live.predicted import Eta, Row
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import name_of
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.live.heartbeat import Beat
    from shadowtime.live.ineligible import Ineligible
    from shadowtime.live.store import LoopState


DRAWS = 9
"""The fewest of which order statistics give 80 %: a policy in Python takes long."""


def predict(
    policy: Policy, state: Snapshot, memory: Memory | None = None, *, shape: Shape = "pool"
) -> dict[str, Eta]:
    """The predicted start of every waiting job: the median of draws, and a range of 80 %.

    Rules
    -----
    Run times are drawn given what has elapsed, from what the jobs that ended lately used of their
    requests (spec: estimates 2 and 3). No further job is submitted: a later job that may overtake
    is not foreseen. A job that most draws do not start is left out.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.live.port import RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> state = Snapshot(now=2, cluster=Cluster(shape="nodes", hosts=(Host("n1", (4,)),)),
    ...     running=(RunningJob(id="1", submit=0, need=(3,), request=100, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=50),))
    >>> found = predict(parse_policy("easy"), state)["2"]
    >>> 2 < found.earliest < found.expected < found.latest <= 100
    True
    """
    present = _present(state)
    seen = present.observed()
    shares, alike = Shares(seen), learn_alike(seen)
    waits = []
    for draw in range(DRAWS):
        left, runs = remaining(present, shares, np.random.default_rng(draw), alike=alike)
        assumed = {job.id: run for job, run in zip(state.waiting, runs, strict=True)}
        for job, rest in zip(state.running, left, strict=True):
            assumed[job.id] = max(0, state.now - job.start) + rest
        starts = forward(policy, state, memory, runs=assumed, shape=shape)
        waits.append([starts.get(job.id, NEVER_STARTS) - state.now for job in state.waiting])
    drawn = Drawn(jobs=tuple(str(job.id) for job in state.waiting), waits=np.array(waits, float))
    return {
        one.job: Eta.of(one, state.now)
        for one in estimates_of(drawn)
        if math.isfinite(one.expected)
    }


def _present(state: Snapshot) -> Present:
    """A snapshot as estimates see it; sizes do not count, as ended jobs are known without."""
    return Present(
        now=state.now,
        machine=state.cluster,
        running=tuple(
            Running(
                id=job.id, user=job.user, limit=_limit(job.request), cpus=1, start=job.start,
                pieces=(),
            )
            for job in state.running
        ),
        waiting=tuple(
            Waiting(id=job.id, user=job.user, limit=_limit(job.request), request=Request())
            for job in state.waiting
        ),
        ended=tuple(
            Observed(
                job.user, _limit(job.request), 1, min(1.0, (job.end - job.start) / job.request),
                start=job.start,
            )
            for job in sorted(state.ended, key=lambda one: one.end)
            if job.request > 0
        ),
    )  # fmt: skip


def _limit(request: int) -> int:
    return min(max(1, request), LONGEST)


@dataclass(frozen=True, kw_only=True)
class Status:
    """One snapshot of a cluster."""

    policy: str
    now: int
    hosts: int
    used: tuple[int, int]
    """Processors in use, and all of them."""
    running: int
    waiting: tuple[Row, ...]
    ineligible: Mapping[str, str] = field(default_factory=dict)
    """Waiting jobs that the loop does not start, with the reason."""
    counters: Mapping[str, int] = field(default_factory=dict)
    beat: Beat | None = None
    """The loop's last heartbeat, None if there is none."""
    trust: Trust = field(default_factory=Trust)
    """How far the scheduler's answers can be relied on."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``left_alone`` is the former name of ``ineligible``."""
        return asdict(self) | {"left_alone": dict(self.ineligible)}


def status_of(
    policy: Policy,
    state: Snapshot,
    kept: LoopState,
    *,
    shape: Shape = "pool",
    ineligible: Mapping[str, Ineligible] | None = None,
    beat: Beat | None = None,
    trust: Trust | None = None,
) -> Status:
    """A state in figures; the waiting jobs in order of their predicted starts."""
    refused = {job: why for job, why in kept.aside.items() if why not in FITS_NOWHERE}
    on_site = shape == "site"
    if on_site:
        state, aside = without(state, refused), refused
    else:
        state, aside = set_aside(state, refused, shape=shape)
    etas = predict(policy, state, kept.memory, shape=shape) if state.waiting else {}
    notes = kept.memory.jobs
    rows = [
        Row(
            job.id,
            job.user,
            job.need[0],
            notes[job.id].since if job.id in notes else job.submit,
            etas[job.id],
        )
        for job in state.waiting
        if job.id in etas
    ]
    nowhere = NOWHERE_ON_SITE if on_site else TOO_BIG
    aside = aside | {job.id: nowhere for job in state.waiting if job.id not in etas}
    return Status(
        policy=name_of(policy),
        now=state.now,
        hosts=len(state.cluster.hosts),
        used=(sum(job.need[0] for job in state.running), state.cluster.procs),
        running=len(state.running),
        waiting=tuple(
            sorted(rows, key=lambda row: (row.eta.expected, row.since, natural(row.job)))
        ),
        ineligible={**{job: str(why) for job, why in (ineligible or {}).items()}, **aside},
        counters=dict(kept.counters),
        beat=beat,
        trust=trust or Trust(),
    )
