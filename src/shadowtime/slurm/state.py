"""What slurmctld knows before a pass."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import kind_of
from shadowtime.slurm.board import PassBoard
from shadowtime.slurm.choose import Chooser
from shadowtime.slurm.gang import usage_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.limits import Accounts
from shadowtime.slurm.machine import Machine
from shadowtime.slurm.preempt import Preemption
from shadowtime.slurm.running import Running
from shadowtime.slurm.usage import Usage
from shadowtime.slurm.weights import base_weights
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.kept_queue import KeptQueue
    from shadowtime.slurm.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class Window:
    """A reservation: nodes kept for some during [begin, end)."""

    name: str
    nodes: int
    begin: int
    end: int
    binds: bool = True
    """Its own jobs run on these nodes alone, and not before it begins."""


@dataclass(slots=True)
class SlurmState:
    """Nodes, running jobs in record order, and the waiting jobs that may be considered.

    ``waiting`` holds what the passes may consider: not held, begun, dependencies met.
    """

    machine: Machine
    parameters: Parameters
    usage: Usage
    chooser: Chooser
    weights: Ints
    up: int
    accounts: Accounts
    preemption: Preemption
    board: PassBoard
    """The arrays of backfill passes."""
    running: Running = field(default_factory=Running)
    waiting: list[Job] = field(default_factory=list)
    completing: int = 0
    windows: tuple[Window, ...] = ()
    licences: Mapping[str, int] = field(default_factory=dict)
    """Licences in all, by name."""
    records: int = 0
    """The next place in the job list."""
    queue: KeptQueue | None = None
    """The records of ``waiting`` in order, if the owner of this state maintains them."""

    @staticmethod
    def of(
        machine: Machine,
        parameters: Parameters,
        *,
        accounts: Accounts | None = None,
        preemption: Preemption | None = None,
        licences: Mapping[str, int] | None = None,
        shortcuts: bool = True,
        compiled: bool = True,
    ) -> SlurmState:
        """An empty machine; ``shortcuts`` False runs every pass without shortcuts."""
        chooser = Chooser(machine, parameters, shortcuts=shortcuts, compiled=compiled)
        policy = preemption or Preemption()
        return SlurmState(
            machine,
            parameters,
            Usage(machine),
            chooser,
            base_weights(machine),
            machine.everything,
            accounts or Accounts(),
            policy,
            PassBoard(machine, parameters, policy, chooser, compiled=compiled),
            licences=licences or {},
        )

    def copy(self) -> SlurmState:
        """A copy for one pass: starts in it do not touch this state."""
        return SlurmState(
            self.machine,
            self.parameters,
            self.usage.copy(),
            self.chooser,
            self.weights.copy(),
            self.up,
            self.accounts,
            self.preemption,
            self.board,
            Running(self.running),
            self.waiting[:],
            self.completing,
            self.windows,
            self.licences,
            self.records,
        )

    def release(self, job: Job) -> None:
        """Release what a job holds; cores that it shared stay with the other job."""
        self.stop(job)
        if self.preemption.gang:
            self.usage = usage_of(self.machine, self.running)
        else:
            self.usage.give(job.holding)

    def stop(self, job: Job) -> None:
        """A job runs no longer."""
        self.running.drop(job)

    def rest_of(self, job: Job) -> Job | None:
        """What still waits of a job: of an array the record left by the last start of a task."""
        if not job.is_array:
            return job
        return next((one for one in self.waiting if one.id == job.id), None)

    def reset_weights(self, nodes: int) -> None:
        """What select_nodes() does to the nodes a job may use (spec: slurm 11.4)."""
        if not (self.machine.has_gpus or self.machine.weights_stay):
            return
        size = len(self.weights)
        told = np.frombuffer(nodes.to_bytes(-(-size // 8), "little"), np.uint8)
        touched = np.unpackbits(told, count=size, bitorder="little").view(np.bool_)
        np.copyto(self.weights, self.chooser.base_weights, where=touched)

    @property
    def repeats_itself(self) -> bool:
        """True where a main pass after one that started nothing starts nothing either.

        Reservations open with time, and tests of some jobs leave weights behind, up to 23.02
        (spec: slurm 6.2, 11.4).
        """
        if self.parameters.assoc_limit_stop and self.accounts.enforced:
            return False  # a job over a limit blocks its partition once
        steady = self.machine.steady_weights(self.parameters.rules)
        return self.chooser.shortcuts and not self.windows and steady

    def licences_short(self, job: Job) -> str:
        """Why the job waits where a licence that it needs is not free in that number."""
        for name, count in job.licences:
            used = sum(n for one in self.running for lic, n in one.licences if lic == name)
            if used + count > self.licences.get(name, 0):
                return kind_of(name).reason
        return ""

    def barred(self, job: Job, start: int, end: int) -> tuple[int, int]:
        """Nodes of reservations in the way of [start, end], and when the first of them ends.

        To a job with a reservation all other nodes are barred, and until it begins all nodes are.
        """
        nodes = first = 0
        own = [one for one in self.windows if one.name == job.reservation and one.binds]
        if own:
            opened = [one.nodes for one in own if one.begin <= start <= one.end]
            nodes = self.machine.everything & ~functools.reduce(operator.or_, opened, 0)
            first = 0 if opened else min((one.begin for one in own if one.begin > start), default=0)
        for window in self.windows:
            if window.name == job.reservation:
                continue
            if window.begin < end and window.end > start:
                nodes |= window.nodes
                if not first or window.end < first:
                    first = window.end
        return nodes, first
