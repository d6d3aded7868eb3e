"""The order in which both passes consider waiting jobs (spec: slurm 2.1, 7.7)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.preempt import Preemption
    from shadowtime.slurm.state import SlurmState


class Record(NamedTuple):
    """A job in one of its partitions."""

    job: Job
    section: Section


def rank(record: Record) -> tuple[bool, int, int, int, int]:
    """What the queue is sorted by, preemption aside."""
    job = record.job
    return not job.reservation, -record.section.tier, -job.priority, job.submit, job.id


def records_of(state: SlurmState, job: Job) -> list[Record]:
    """A job in each of its partitions that could take it."""
    found = []
    for name in job.partitions:
        section = state.machine.sections.get(name)
        if section is None or not section.up:
            continue
        limit = job.least_time or job.limit
        longer = section.max_time is not None and limit > section.max_time
        if longer and not state.accounts.flagged(job, "partitiontimelimit"):
            continue
        ask, flagged = job.ask, state.accounts.flagged
        if ask.min_nodes < section.min_nodes and not flagged(job, "partitionminnodes"):
            continue
        most = max(ask.min_nodes, ask.fixed_nodes)
        if most > section.max_nodes and not flagged(job, "partitionmaxnodes"):
            continue
        if job.ask.min_nodes > section.nodes.bit_count():
            continue
        found.append(Record(job, section))
    return found


def build_queue(state: SlurmState) -> list[Record]:
    """One record per job and partition, sorted as Slurm sorts them.

    Rules
    -----
    Preemptor before preemptee; reservation first; tier; priority; submission; id. Records of one
    job keep the user's order of partitions. A partition that is down, or whose limits the job
    breaks, gives no record.
    """
    policy, kept = state.preemption, state.queue
    if kept is None:
        found = [record for job in state.waiting for record in records_of(state, job)]
        found.sort(key=rank)
        order = None
        if sorts(policy):
            table = policy.precedence
            at = [table.places.get(one.job.qos, -1) for one in found]
            order = preemptors_first(table.keys[np.array(at, np.int64)])
        return found if order is None else [found[at] for at in order]
    return kept.in_order(state, sorts=sorts(policy))


def sorts(policy: Preemption) -> bool:
    """True where some jobs come before others because they may preempt them."""
    return policy.kind == "qos" and any(policy.over.values())


def preemptors_first(keys: AnyArray) -> list[int] | None:
    """The places of records, sorted by rank, in an order with those that preempt others first.

    None where that is the order they have. ``keys``: what Preemption.precedence holds for each.
    list.sort is stable and asks of two records only whether the later one precedes the earlier: by
    rank it never does, so that its QOS alone decides. That has circles; which order comes of them
    is what list.sort makes of it.
    """
    if keys.dtype == np.float64 and not np.count_nonzero(keys < np.fmax.accumulate(keys)):
        return None
    each = keys.tolist()
    return sorted(range(len(each)), key=each.__getitem__)


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
