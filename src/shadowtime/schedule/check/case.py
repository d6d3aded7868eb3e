"""What the proofs look at: the matched rows, every run and wait, and the state at each instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.schedule.runs import Spans, lost_runs, runs, waits
from shadowtime.schedule.schedule import Schedule
from shadowtime.schedule.timeline import instants, least, totals
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.series import bounds_of

if TYPE_CHECKING:
    from shadowtime.schedule.check.rules import Rules
    from shadowtime.schedule.match import Match
    from shadowtime.workload.series import Series


@dataclass(eq=False)
class Case:
    """A schedule on trial. What several proofs need is worked out once, when first asked for.

    Row i is job i of ``workload`` in (submit, id) order; times and sizes are the trace's where
    it has them. The state at an instant is the one after its scheduling pass.
    """

    match: Match
    cluster: Cluster
    claims: frozenset[str]
    rules: Rules | None = None
    """What the policy means for each row, None where the policy is not known."""

    @property
    def schedule(self) -> Schedule:
        return self.match.schedule

    @property
    def workload(self) -> Workload:
        return self.match.workload

    def name(self, row: int) -> str:
        """A job by its id, as sentences call it."""
        return f"job {self.workload.job_id[row]}"

    @cached_property
    def bounds(self) -> dict[str, Series]:
        """Amounts that a series bounds over time."""
        return bounds_of(self.workload, {})

    @cached_property
    def limit(self) -> Ints:
        """How long each job may run, as far as trace and policy tell; else the schedule's own."""
        own = self.schedule.limit
        if self.rules is not None and not self.rules.stretched:
            return self.rules.limit
        return self.workload.limit if own is None else own

    @cached_property
    def slack(self) -> Ints:
        """Seconds by which each job's work may differ from its run for being cut to whole ones."""
        grain = 0 if self.rules is None else self.rules.grain
        slack: Ints = grain * (1 + self.schedule.kills)
        return slack

    @cached_property
    def by_trace(self) -> Schedule:
        """The schedule with the trace's submit times: an own column may be wrong."""
        return self.schedule.replace(submit=self.workload.submit)

    @cached_property
    def runs(self) -> Spans:
        return runs(self.schedule)

    @cached_property
    def lost(self) -> Spans:
        return lost_runs(self.schedule)

    @cached_property
    def waits(self) -> Spans:
        return waits(self.by_trace, self.runs)

    @property
    def lost_are_missing(self) -> bool:
        """Jobs were preempted, but no attempts came with the schedule."""
        return len(self.schedule.attempts) == 0 and bool((self.schedule.kills > 0).any())

    @cached_property
    def capacity(self) -> Ints:
        """What the whole machine has of each resource."""
        return np.array(list(self.cluster.total.values()), np.int64)

    @cached_property
    def demand(self) -> Ints:
        """What each job takes of each of the cluster's resources, 0 where the trace is silent."""
        columns = dict(zip(self.workload.resources, self.workload.demand.T, strict=True))
        silent = np.zeros(len(self.workload), np.int64)
        return np.stack([columns.get(name, silent) for name in self.cluster.resources], axis=1)

    @property
    def silent(self) -> list[str]:
        """Resources of the cluster that the trace says nothing about."""
        return [name for name in self.cluster.resources if name not in self.workload.resources]

    @cached_property
    def at(self) -> Ints:
        """Every instant at which something happens."""
        return instants(self.waits.since, self.runs.since, self.runs.until)

    @cached_property
    def used(self) -> Ints:
        """What is in use of each resource at each instant."""
        return totals(self.at, self.runs.since, self.runs.until, self.runs.demand(self.demand))

    @property
    def no_job(self) -> int:
        """Stands for the head of an empty queue: after every job."""
        return len(self.workload)

    @cached_property
    def head(self) -> Ints:
        """The first waiting job by (submit, id) at each instant, ``no_job`` where none waits."""
        w = self.waits
        return least(self.at, w.since, w.until, w.row, nothing=self.no_job)

    @cached_property
    def blocked(self) -> AnyArray:
        """Mask of the instants at which some job waits."""
        waiting: AnyArray = self.head != self.no_job
        return waiting

    def place_in_time(self, times: Ints) -> Ints:
        """The instant that is in force at each of these times: the last one not after it."""
        found: Ints = np.searchsorted(self.at, times, side="right") - 1
        return found
