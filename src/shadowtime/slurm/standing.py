"""Where a job stood in Slurm's queue at a moment of a schedule: its priority, factor by factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.priority.factors import billing_of, default_memory, priority_of
from shadowtime.schedule import Schedule
from shadowtime.schedule.places import parse_site_place
from shadowtime.schedule.runs import runs
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.from_site import machine_of, setting
from shadowtime.slurm.job import Job
from shadowtime.slurm.priority import Multifactor, first_tick
from shadowtime.workload import Workload
from shadowtime.workload.site_requests import requests_of

HALF_LIVES = 10
"""Usage older than that many half-lives is below a thousandth of itself and left out."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A job's priority, what each factor adds, and which jobs stood before it in its partition."""

    when: int
    priority: int
    parts: Mapping[str, float]
    nice: int
    ahead: tuple[int, ...]
    """Waiting jobs of a higher priority or tier that share a partition, by id."""
    waiting: int
    """Jobs that waited then, this one among them."""


def has_factors(site: Site) -> bool:
    """True if priorities are computed from factors (priority/multifactor)."""
    return "multifactor" in setting(site.config, "PriorityType")


def standing(
    workload: Workload, site: Site, schedule: Schedule, row: int, when: int
) -> Standing | None:
    """The standing of the job at a row, with the usage that the schedule's runs have left.

    Rules
    -----
    Usage is counted and faded every PriorityCalcPeriod, as in a run: from slurmctld's start on if
    the site records it (BOOT_TIME), else from the first submission on. A priority is that of the
    last tick, or of the moment at which the job became eligible if that came later (spec: slurm
    5.2). None on a site without multifactor priority. How MaxJobsAccrue delays age is left out.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.slurm.policy import SlurmPolicy
    >>> from shadowtime.workload import Workload
    >>> config = {"PriorityType": "priority/multifactor", "PriorityWeightAge": "1000",
    ...           "PriorityMaxAge": "0-00:01:40", "PriorityCalcPeriod": "00:00:10"}
    >>> site = Site(nodes=(Node(name="a", amounts=(1,)),), config=config)
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[50, 50, 50], procs=[1, 1, 1])
    >>> found = standing(jobs, site, SlurmPolicy().simulate(jobs, site), 2, 22)
    >>> found.priority, found.parts["age"], found.ahead
    (180, 180.0, (2,))
    """
    if not has_factors(site):
        return None
    queue = Queue(workload, site)
    queue.count(schedule, when)
    return queue.standing(row, schedule, when)


class Queue:
    """The jobs of a log with their priorities; usage is the site's own until runs are counted."""

    def __init__(self, workload: Workload, site: Site) -> None:
        self.workload, self.site = workload, site
        self.requests = requests_of(workload, site)
        self.machine = machine_of(site)
        self.factors = Multifactor(site)
        self.jobs: dict[int, Job] = {}

    def usage(self) -> Site:
        """The site with the usage that was counted so far."""
        find = self.factors.shares.branches.get
        known = [(one, find((one.account, one.user))) for one in self.site.associations]
        return self.site.replace(
            associations=tuple(
                one if branch is None else replace(one, usage=branch.usage) for one, branch in known
            )
        )

    def priority(self, row: int) -> int:
        """The priority of a job, as it was computed last."""
        return self._priority(self.job(row))

    def standing(self, row: int, schedule: Schedule, when: int) -> Standing:
        """The place of a job among those that wait."""
        job = self.job(row)
        mine = self._rank(job)
        begun = np.where(schedule.start >= 0, schedule.start, np.iinfo(np.int64).max)
        cancelled = np.where(self.requests.cancel_at >= 0, self.requests.cancel_at, begun)
        here = (schedule.submit <= when) & (self.requests.begin <= when)
        here &= (begun >= when) & (cancelled >= when)
        here[row] = True
        others = [self.job(one) for one in np.flatnonzero(here).tolist() if one != row]
        places = set(job.partitions)
        ahead = [
            int(self.workload.job_id[one.index])
            for one in others
            if places & set(one.partitions) and self._rank(one) < mine
        ]
        return Standing(
            when=when,
            priority=self._priority(job),
            parts=self._parts(job),
            nice=job.nice,
            ahead=tuple(ahead),
            waiting=int(here.sum()),
        )

    def _rank(self, job: Job) -> tuple[int, int, int, int]:
        sections = [self.machine.sections[name] for name in job.partitions]
        tier = max((one.tier for one in sections), default=0)
        return -tier, -self._priority(job), job.submit, job.id

    def _priority(self, job: Job) -> int:
        return priority_of(self._parts(job), job.nice)

    def _parts(self, job: Job) -> dict[str, float]:
        """As computed last: at the last tick, or at its arrival before that (spec: slurm 5.2)."""
        last = self.factors.last
        if last is None or last <= job.eligible:
            return self.factors.parts(job, job.eligible, tested=False)
        return self.factors.parts(job, last, tested=True)

    def job(self, row: int) -> Job:
        """The record of a job that waits."""
        if row not in self.jobs:
            workload, request = self.workload, self.requests[row]
            names = workload.names.get("user", ()) if workload.names else ()
            user = int(workload.user[row])
            partitions = tuple(one for one in request.partitions if one in self.machine.sections)
            if not partitions:
                usual = [one.name for one in self.site.partitions if one.default]
                partitions = tuple(usual or self.machine.sections)[:1]
            memory, per_cpu = default_memory(self.site, partitions[0])
            self.jobs[row] = Job(
                id=row + 1,
                index=row,
                ask=ask_of(
                    request,
                    self.machine,
                    default_memory=memory,
                    default_memory_per_cpu=per_cpu,
                ),
                limit=int(workload.limit[row]),
                user=names[user] if 0 <= user < len(names) else str(user),
                account=request.account,
                qos=request.qos,
                partitions=partitions,
                submit=int(workload.submit[row]),
                eligible=int(max(workload.submit[row], self.requests.begin[row])),
                nice=int(self.requests.nice[row]),
            )
        return self.jobs[row]

    def count(self, schedule: Schedule, when: int) -> None:
        """Tick from the beginning, or from where usage still matters, to a moment."""
        weights = self.factors.weights
        known = first_tick(self.site, self.workload.epoch)
        first = int(self.workload.submit[0]) if len(self.workload) else 0
        # What ran up to the first tick is charged by it, as there were ticks before.
        first = first if known is None else known - weights.period
        if weights.half_life:
            late = when - HALF_LIVES * weights.half_life
            first += max(0, late - first) // weights.period * weights.period
        every = runs(schedule)
        paid = bool(self.site.enforce & {"limits", "safe"})
        for now in range(first, when + 1, weights.period):
            # Use after the last tick is charged only where limits are enforced (spec: slurm 5.5).
            # In the second in which a job ends, a tick mostly comes before its end.
            until = now - weights.period + 1 if paid else now
            alive = (every.since < now) & (every.until >= until)
            running = [
                self._running(schedule, int(row), int(since), min(int(until), now), now)
                for row, since, until in zip(
                    every.row[alive], every.since[alive], every.until[alive], strict=True
                )
            ]
            self.factors.tick(now, running)

    def _running(self, schedule: Schedule, row: int, since: int, until: int, now: int) -> Job:
        """A run as a tick charges it: moved to end at the tick, where it ended before."""
        job = self.job(row)
        charged = Job(
            id=job.id, ask=job.ask, limit=job.limit, user=job.user, account=job.account,
            start=max(since, now - self.factors.weights.period) + now - until,
        )  # fmt: skip
        section = self.machine.sections[job.partitions[0]]
        charged.billing = billing_of({"cpus": self._cpus(schedule, row)}, section.billing)
        return charged

    def _cpus(self, schedule: Schedule, row: int) -> int:
        """Cpus that a job held: by its place, else what it requested."""
        place = schedule.place
        held = [cpus for _, cpus in parse_site_place(place[row])] if place is not None else []
        known = [cpus for cpus in held if cpus is not None]
        if held and len(known) == len(held):
            return sum(known)
        return int(self.workload.procs[row])
