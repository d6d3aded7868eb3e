"""The live state for people: what is in use, which jobs wait, when each will start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from shadowtime.engine.live_pass import natural
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.live.deciding import set_aside, without
from shadowtime.live.eta import predict
from shadowtime.live.feasible import FITS_NOWHERE, NOWHERE_ON_SITE, TOO_BIG
from shadowtime.live.port import Snapshot, Trust
from shadowtime.live.predicted import Row
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import name_of

if TYPE_CHECKING:
    from shadowtime.live.heartbeat import Beat
    from shadowtime.live.ineligible import Ineligible
    from shadowtime.live.store import LoopState


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
