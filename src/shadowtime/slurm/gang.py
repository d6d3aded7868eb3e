"""PreemptMode=SUSPEND,GANG: jobs above suspended ones, and which are suspended.

spec: slurm 7.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.slurm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.choose import Choice, Chooser
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine, Section
    from shadowtime.slurm.preempt import Preemption
    from shadowtime.types import Ints


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

    It happens to a job with whole nodes (see :class:`Rows`). slurmctld logs "job overflow", and
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


class Rows:
    """Tests a job where gang scheduling lets it lie above jobs that will be suspended.

    Rules
    -----
    Each partition has its own row of cores. First the job is tried on cores that are in no row;
    then on those that no higher tier and no partition with PreemptMode=OFF holds: without the
    cores of its own tier, and without as many of the lower tiers, the highest first, as it can
    spare; last on those that its own partition does not hold. A node of which a job wants all
    cores counts as free where none is taken away in the last of these steps: cores of a higher
    tier were taken away before and are not missed. Memory and GPUs of suspended jobs stay in use.
    """

    def __init__(
        self, chooser: Chooser, policy: Preemption, machine: Machine, jobs: Sequence[Job]
    ) -> None:
        self.chooser = chooser
        self.policy, self.machine, self.jobs = policy, machine, jobs

    def test(
        self,
        ask: Ask,
        section: Section,
        nodes: int,
        weights: Ints,
        *,
        ended: Collection[int] = (),
        suspended: Collection[int] = (),
        busy_first: int | None = None,
    ) -> Choice | None:
        """As :meth:`Chooser.test`, with these jobs ended, and the cores of those given up."""
        here = [job for job in self.jobs if job.id not in ended]
        used = usage_of(self.machine, here)
        rows: dict[str, list[Job]] = {}
        for job in here:
            if job.id not in suspended and not job.in_no_row:
                rows.setdefault(job.partition, []).append(job)
        sections = self.machine.sections
        mine = section.tier

        def fits(view: Usage) -> Choice | None:
            found = self.chooser.test(view, ask, nodes, weights, busy_first=busy_first)
            return found._replace(view=view) if found is not None else None

        def held(wanted: Callable[[Section], bool]) -> list[Job]:
            return [job for name, row in rows.items() if wanted(sections[name]) for job in row]

        everything = self.machine.full_cores
        found = fits(_view(used, everything, held(lambda _: True)))
        if found is not None:
            return found
        above = _view(
            used, everything, held(lambda one: one.tier > mine or self.policy.is_off(one))
        )
        if fits(above) is None:
            return None
        same = held(lambda one: one.tier == mine)
        found = fits(_view(used, above.cores, same))
        if found is None:
            return fits(_view(used, above.cores, rows.get(section.name, [])))
        lower = sorted(
            (one for one in sections.values() if one.tier < mine), key=lambda one: -one.tier
        )
        spared = list(same)
        for one in lower:
            spared += rows.get(one.name, [])
            better = fits(_view(used, above.cores, spared))
            if better is None:
                break
            found = better
        return found


def _view(used: Usage, cores: Sequence[int], without: Iterable[Job]) -> Usage:
    """A machine with these cores but for those of some jobs; memory and GPUs as they are used."""
    view = used.copy()
    view.cores = list(cores)
    taken = 0
    for job in without:
        for share in job.holding:
            if view.cores[share.node] & share.cores:
                taken |= 1 << share.node
                view.cores[share.node] &= ~share.cores
    view.idle = used.machine.everything & ~taken
    view.write()
    return view
