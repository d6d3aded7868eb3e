"""Which jobs a backfill pass need not consider: those that cannot start now, and bf_max_job_*."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from shadowtime.slurm.ends import could_fit
from shadowtime.slurm.job import planned_limit

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.planmap import PlanMap
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.state import SlurmState


class Startable:
    """Which jobs could still start now: during a pass, what is free only shrinks."""

    def __init__(self, state: SlurmState, plans: PlanMap) -> None:
        self.state, self.map = state, plans
        self.nodes_now: dict[tuple[int, str, int], int] = {}
        """Nodes for a start now by request, partition and starts so far; 0: it cannot."""
        self.idle_at = (-1, -1)
        self.idle_begins: list[int] = []
        self.idle_counts: list[int] = []

    def could_start(self, record: Record, now: int, begun: int) -> bool:
        """False where nothing that the pass may still do lets the job start now.

        ``begun`` is the number of starts so far.
        """
        state, job, section = self.state, record.job, record.section
        end = now + planned_limit(job, section)
        if job.ask.exclusive and self.idle_until(end, now, begun) < job.ask.min_nodes:
            return False
        key = (id(job.ask), section.name, begun)
        nodes = self.nodes_now.get(key)
        if nodes is None:
            nodes = section.nodes & state.up & ~state.completing & job.ask.suits
            if not could_fit(state.usage, job.ask, nodes):
                nodes = 0
            self.nodes_now[key] = nodes
        if not nodes:
            return False
        nodes &= self.map.free(now, end)
        if not could_fit(state.usage, job.ask, nodes):
            return False
        return not state.accounts.enforced or not state.accounts.before(job, state.running, section)

    def idle_until(self, end: int, now: int, begun: int) -> int:
        """The most whole nodes that are free from now to an end; no job gets more."""
        known = (self.map.version, begun)
        if self.idle_at != known:
            self.idle_at = known
            state = self.state
            idle = state.usage.idle & state.up & ~state.completing
            self.idle_begins, self.idle_counts = self.map.shrinking(idle, now)
        at = bisect_right(self.idle_begins, end)
        return self.idle_counts[at - 1] if at else self.state.usage.idle.bit_count()


class JobCounts:
    """bf_max_job_user, _part, _assoc and _user_part: how many jobs of a kind a pass considers."""

    def __init__(self, wish: Parameters) -> None:
        self.bounds = (
            wish.bf_max_job_user_part,
            wish.bf_max_job_part,
            wish.bf_max_job_assoc,
            wish.bf_max_job_user,
        )
        self.bounded = any(self.bounds)
        self.considered: Counter[tuple[int, str, str]] = Counter()
        """Jobs considered so far, by place in ``bounds`` and kind."""

    def used_up(self, job: Job, section: Section) -> bool:
        """True if enough of one of the job's kinds were considered; else this one counts."""
        kinds = (
            (0, job.user, section.name),
            (1, section.name, ""),
            (2, job.account, job.user),
            (3, job.user, ""),
        )
        bounded = [(self.bounds[kind[0]], kind) for kind in kinds if self.bounds[kind[0]]]
        if any(self.considered[kind] >= bound for bound, kind in bounded):
            return True
        self.considered.update(kind for _, kind in bounded)
        return False
