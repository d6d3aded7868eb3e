"""PreemptMode=SUSPEND,GANG: jobs above suspended ones, and which are suspended.

spec: slurm 7.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shadowtime.slurm.machine import Machine, Section
from shadowtime.slurm.usage import Usage

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job


def shadowed(jobs: Iterable[Job], sections: Mapping[str, Section]) -> set[int]:
    """The jobs that do not run, by id: a running job of a higher tier is on one of their cores.

    A suspended job casts no shadow, so that what lies below it may run where nothing else is in
    its way. Partitions of the same tier do not shadow each other; a job that is in no row runs
    when no other of its partition is on its cores.

    Examples
    --------
    >>> from shadowtime.slurm.job import Job
    >>> from shadowtime.slurm.machine import Section
    >>> from shadowtime.slurm.usage import Share
    >>> tiers = {name: Section(name=name, nodes=7, tier=tier) for name, tier in
    ...          (("low", 1), ("middle", 2), ("high", 3))}
    >>> def job(number, partition, *nodes):
    ...     held = tuple(Share(at, 1) for at in nodes)
    ...     return Job(id=number, ask=None, limit=60, partition=partition, holding=held)
    >>> three = [job(1, "low", 0), job(2, "middle", 0, 1), job(3, "high", 1)]
    >>> shadowed(three[:2], tiers), shadowed(three, tiers)
    ({1}, {2})
    """
    by_tier: dict[int, list[Job]] = {}
    for job in jobs:
        by_tier.setdefault(sections[job.partition].tier, []).append(job)
    shade: dict[int, int] = {}
    found: set[int] = set()
    for tier in sorted(by_tier, reverse=True):
        active: list[Job] = []
        for job in sorted(by_tier[tier], key=lambda one: one.in_no_row):
            if any(shade.get(share.node, 0) & share.cores for share in job.holding) or (
                job.in_no_row and overlaps(job, active)
            ):
                found.add(job.id)
            else:
                active.append(job)
        for job in active:
            for share in job.holding:
                shade[share.node] = shade.get(share.node, 0) | share.cores
    return found


def overlaps(job: Job, others: Iterable[Job]) -> bool:
    """True where a job has a core in common with another one of its partition.

    It happens to a job with whole nodes (kernel/slurm/rows.py). slurmctld logs "job overflow", and
    runs the job without knowing what it holds.
    """
    mine = {share.node: share.cores for share in job.holding}
    return any(
        mine.get(share.node, 0) & share.cores
        for other in others
        if other is not job and other.partition == job.partition
        for share in other.holding
    )


def usage_of(machine: Machine, jobs: Iterable[Job]) -> Usage:
    """What these jobs hold together; several may hold the same core."""
    usage = Usage(machine)
    for job in jobs:
        usage.take(job.holding)
    return usage
