"""Which jobs may preempt which, in which order and mode (spec: slurm 7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.choose import Choice
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine, Section
    from shadowtime.slurm.state import SlurmState

LARGE = 99_999


class Precedence:
    """Which QOS come before which in the queue, as keys that sort like that.

    ``keys`` are numbers where some serve, NaN for a QOS that has to do with no other; else objects.
    The last one is that of a QOS without a place.

    Examples
    --------
    >>> table = Precedence({"high": {"low"}, "low": set()})
    >>> table.keys.tolist(), table.places
    ([-1.0, -0.0, nan], {'high': 0, 'low': 1})
    >>> Precedence({"a": {"b"}, "b": {"c"}}).keys.dtype
    dtype('O')
    """

    def __init__(self, over: Mapping[str, AbstractSet[str]]) -> None:
        below: set[str] = set().union(*over.values())
        names = sorted(below.union(over))
        self.places = {name: at for at, name in enumerate(names)}
        some = [over.get(name, frozenset()) for name in names]
        levels = [
            -float(len(others)) if others or name in below else np.nan
            for name, others in zip(names, some, strict=True)
        ]
        self.keys: AnyArray = np.array([*levels, np.nan])
        if any(
            (other in others) != (one < level)
            for one, others in zip(levels, some, strict=True)
            for other, level in zip(names, levels, strict=True)
        ):
            self.keys = np.array([*map(_Key, names, some), _Key("", ())])


class _Key:
    """A QOS that comes before those that it may preempt."""

    def __init__(self, name: str, over: Collection[str]) -> None:
        self.name, self.over = name, over

    def __lt__(self, other: _Key) -> bool:
        return other.name in self.over


@dataclass(frozen=True, kw_only=True)
class Preemption:
    """PreemptType (``partition_prio``, ``qos`` or empty), the cluster's mode, the QOS' lists."""

    kind: str = ""
    mode: str = "off"
    over: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """QOS that each QOS may preempt."""
    qos_mode: Mapping[str, str] = field(default_factory=dict)
    qos_priority: Mapping[str, int] = field(default_factory=dict)
    patience: int = 40
    """Seconds (KillWait and MessageTimeout) in which a job that has evicted others evicts no more.

    Read in the source of select_nodes (preempt_start_time), not verified on the daemon.
    """

    gang: bool = False
    """True where jobs may lie above others that are suspended meanwhile (PreemptMode=GANG)."""
    kill_wait: int = 30
    """Seconds that a job past its limit is assumed to need to end."""

    @cached_property
    def precedence(self) -> Precedence:
        """Which QOS come before which in the queue."""
        return Precedence(self.over)

    def is_off(self, section: Section) -> bool:
        """True where jobs of a partition are not preempted."""
        return (section.preempt or self.mode) == "off"

    def may_evict(self, job: Job, now: int) -> bool:
        """False while the victims of a job may still be leaving."""
        return job.evicted_at is None or now - job.evicted_at >= self.patience

    @property
    def on(self) -> bool:
        """True where jobs can be preempted at all."""
        return bool(self.kind)

    def mode_of(self, job: Job, machine: Machine) -> str:
        """How a running job would be preempted: requeue, cancel, suspend or off."""
        return self.mode_in(job, machine.sections.get(job.partition))

    def mode_in(self, job: Job, section: Section | None) -> str:
        """How a job would be preempted in a partition."""
        if not self.kind:
            return "off"
        if self.kind == "qos":
            mode = self.qos_mode.get(job.qos, "") or self.mode
        else:
            mode = (section.preempt if section else "") or self.mode
        if mode == "requeue" and not job.requeues:
            return "cancel"
        return mode

    def outranks(self, one: Job, one_in: Section, other: Job, other_in: Section) -> bool:
        """True where ``one`` may preempt ``other`` (spec: slurm 2.1, 7.1, 7.7)."""
        if self.kind == "qos":
            return other.qos in self.over.get(one.qos, ())
        if self.kind == "partition_prio":
            mode = other_in.preempt or self.mode
            return one_in.tier > other_in.tier and mode != "off"
        return False


def candidates_for(state: SlurmState, job: Job, section: Section) -> list[Job]:
    """Running jobs that the job may evict, in the order they are tried."""
    policy = state.preemption
    over = policy.over.get(job.qos, ())
    if not policy.on or (policy.kind == "qos" and not over):
        return []
    found = []
    for other in state.running:
        if (policy.kind == "qos" and other.qos not in over) or not other.nodes & section.nodes:
            continue
        home = state.machine.sections[other.partition]
        if policy.outranks(job, section, other, home) and policy.mode_of(other, state.machine) in (
            "requeue",
            "cancel",
            "suspend",
        ):
            found.append((other, home))

    def rank(pair: tuple[Job, Section]) -> tuple[int, int, int]:
        other, home = pair
        first = policy.qos_priority.get(other.qos, 0) if policy.kind == "qos" else home.tier
        second = (
            -other.start if state.parameters.preempt_youngest_first else other.nodes.bit_count()
        )
        return first, second, other.record

    return [other for other, _ in sorted(found, key=rank)]


def run_now(
    state: SlurmState, ask: Ask, nodes: int, candidates: list[Job]
) -> tuple[Choice | None, list[Job]]:
    """Fits as things are, or which jobs must go so that it does (spec: slurm 7.3)."""
    chooser = state.chooser
    order = list(candidates)
    passes = 0
    while True:
        found = chooser.test(state.usage, ask, nodes, state.weights, plain=True)
        if found is not None or not order:
            return found, []
        later = state.usage.copy()
        usable = {other.id: 0 for other in order}
        again = False
        for at, other in enumerate(order):
            if not other.nodes & nodes:
                continue
            later.give(other.holding)
            found = chooser.test(later, ask, nodes, state.weights)
            if found is None:
                continue
            passes += 1
            if passes - 1 > state.parameters.preempt_reorder_count or len(order) <= passes:
                for behind in order[at + 1 :]:
                    usable[behind.id] = 1
                break
            if state.parameters.preempt_strict_order:
                order.insert(0, order.pop(at))
            else:
                for front in order[:at]:
                    usable[front.id] = (front.nodes & found.nodes).bit_count()
                usable[other.id] = LARGE
                order.sort(key=lambda one: -usable[one.id])
            again = True
            break
        if again:
            continue
        if found is None:
            return None, []
        victims = []
        for other in order:
            if not other.nodes & found.nodes:
                continue
            if usable[other.id]:
                break
            victims.append(other)
        return found, victims
