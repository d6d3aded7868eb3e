"""Limits of QOS and associations before and after nodes are known (spec: slurm 6)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.slurm.bounds import Bound, Bounds, bounds_of
from shadowtime.slurm.machine import Section
from shadowtime.slurm.met import Met
from shadowtime.slurm.running import Held, Running, running_of
from shadowtime.slurm.tally import Tally, by_slurms_name, held_by

if TYPE_CHECKING:
    from shadowtime.cluster.site import Association, Limits
    from shadowtime.slurm.job import Job


class Submitter(NamedTuple):
    """Whose limits a job that is not in the queue yet has."""

    qos: str
    account: str
    user: str


@dataclass
class Accounts:
    """Limits in force and the usage that counts against them.

    ``minutes`` is the decayed cpu usage in seconds per QOS and per account; ``counted_to`` the
    last tick, up to which running jobs are counted in it.
    """

    enforced: bool = False
    safe: bool = False
    qos: Mapping[str, Limits] = field(default_factory=dict)
    chains: Mapping[tuple[str, str], tuple[Association, ...]] = field(default_factory=dict)
    """Associations from the user up to the root, by (account, user)."""
    part_qos: Mapping[str, str] = field(default_factory=dict)
    """The QOS of partitions that have one."""
    flags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Of each QOS that has some, in lower case (spec: slurm 6.7)."""
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    """("qos", name) and (account, user or "") to cpu seconds."""
    counted_to: int = 0
    met: Met = field(default_factory=Met)
    """What each job was last passed over for, by id."""

    limited: set[int] = field(default_factory=set)
    """Jobs that a limit kept from starting at the last check."""
    blocker: str = ""
    """The QOS whose limit was the last to keep a job from starting."""
    _bounds: dict[tuple[str, str, str, str], Bounds] = field(default_factory=dict, repr=False)
    """By QOS, account, user and the QOS of the partition."""

    def __getstate__(self) -> dict[str, object]:
        """Without what is only kept to be found faster."""
        return self.__dict__ | {"_bounds": {}}

    def flagged(self, job: Job | Submitter, flag: str) -> bool:
        """True where the QOS of a job has a flag."""
        return bool(self.flags) and flag in self.flags.get(job.qos, ())

    def note(self, job: Job, reason: str) -> str:
        """Remember why a job was passed over; the reason, empty where there is none."""
        if reason:
            self.met[job.id] = reason
        return reason

    def charge(self, job: Job, seconds: float) -> None:
        """Charge an interval of a job's cpus to its QOS, its user and every account above."""
        if not self.bounds_any_minutes:
            return  # nobody asks for it
        keys = [*(("qos", name) for name in self.qos_of(job)), (job.account, job.user)]
        keys += [(link.account, "") for link in self._chain(job) if not link.user]
        for key in keys:
            self.used[key] = self.used.get(key, 0.0) + job.cpus * seconds

    def fade(self, factor: float) -> None:
        """Usage decays (spec: slurm 5.4)."""
        for key in self.used:
            self.used[key] *= factor

    def _every(self) -> list[Limits]:
        links = (link for chain in self.chains.values() for link in chain)
        return [*self.qos.values(), *(link.limits for link in links)]

    @property
    def bounds_minutes(self) -> bool:
        """True where some GrpTRESMins is in force."""
        return self.enforced and any(one.group_minutes for one in self._every())

    @cached_property
    def bounds_any_minutes(self) -> bool:
        """True where some QOS or account has a GrpTRESMins."""
        return any(one.group_minutes for one in self._every())

    @cached_property
    def bounds_run_minutes(self) -> bool:
        """True where some QOS or account has a GrpTRESRunMins."""
        return any(one.group_run_minutes for one in self._every())

    @cached_property
    def bounded(self) -> frozenset[str]:
        """Slurm's names of all resources that some QOS or account bounds."""
        return frozenset(
            name
            for one in self._every()
            for bounds in (
                one.group_resources, one.user_resources, one.account_resources,
                one.job_resources, one.group_minutes, one.group_run_minutes,
            )
            for name in by_slurms_name(bounds)
        )  # fmt: skip

    @cached_property
    def bounds_ageing(self) -> bool:
        """True where some QOS or account bounds how many jobs grow older."""
        return any(one.user_accruing is not None for one in self._every())

    @cached_property
    def bounds_jobs(self) -> bool:
        """True where some QOS or account bounds the number of running jobs."""
        return any(
            bound is not None
            for one in self._every()
            for bound in (one.group_jobs, one.user_jobs, one.account_jobs)
        )

    def used_up(self, job: Job) -> bool:
        """True where a GrpTRESMins of a running job's QOS or accounts is reached.

        spec: slurm 6.5.
        """
        named = (name for name in self.qos_of(job) if name in self.qos)
        found = [(("qos", name), self.qos[name]) for name in named]
        found += [((link.account, link.user), link.limits) for link in self._chain(job)]
        for key, limits in found:
            minutes = self.used.get(key, 0.0) // 60
            if any(minutes >= bound for bound in limits.group_minutes.values()):
                return True
        return False

    def qos_of(self, job: Job) -> tuple[str, ...]:
        """The QOS in which a running job counts: its own and its partition's (spec: slurm 6.3)."""
        found = (job.qos, self.part_qos.get(job.partition, ""))
        return tuple(dict.fromkeys(filter(None, found)))

    def accruing(self, job: Job) -> tuple[tuple[str, ...], int] | None:
        """Which bound on ageing jobs applies to a job, and its number; None: no bound.

        spec: slurm 5.8.
        """
        if not self.enforced:
            return None
        limits = self.qos.get(job.qos)
        if limits is not None and limits.user_accruing is not None:
            return ("qos", job.qos, job.user), limits.user_accruing
        for link in self._chain(job)[:1]:
            if link.limits.user_accruing is not None:
                return (link.account, link.user), link.limits.user_accruing
        return None

    def _chain(self, job: Job | Submitter) -> tuple[Association, ...]:
        return self.chains.get((job.account, job.user), ())

    def _sharing(self, job: Job | Submitter, section: Section | None) -> list[tuple[str, Limits]]:
        """The QOS that count, the partition's first unless OverPartQOS is set (spec: slurm 6.3)."""
        names = [section.qos] if section is not None and section.qos else []
        names.insert(0 if self.flagged(job, "overpartqos") else len(names), job.qos)
        return [(name, self.qos[name]) for name in names if name in self.qos]

    def before(self, job: Job, running: Sequence[Job], section: Section | None = None) -> str:
        """The reason why a job may not be considered yet; empty if it may (spec: slurm 6.1)."""
        if not self.enforced:
            return ""
        reason = self.note(job, self._before(job, running, section))
        if reason:
            self.limited.add(job.id)
        else:
            self.limited.discard(job.id)
        return reason

    def note_waiting(
        self, waiting: Iterable[Job], running: Sequence[Job], sections: Mapping[str, Section]
    ) -> None:
        """Record which jobs may not be considered, for a pass that ended before it reached all.

        Jobs of one user, account and QOS in the same partition get the same answer; those that hit
        a limit before keep it.
        """
        known: dict[tuple[str, str, str, str], str] = {}
        for job in waiting:
            if job.id in self.met or not job.partitions:
                continue
            key = (job.qos, job.user, job.account, job.partitions[0])
            if key not in known:
                known[key] = self._before(job, running, sections.get(job.partitions[0]))
            self.note(job, known[key])

    def _before(self, job: Job, running: Sequence[Job], section: Section | None) -> str:
        question = ("before", job.qos, job.account, job.user, section and section.name)
        return self._known(
            question, running, lambda every: self._too_many(job, every, section), steady=True
        )

    def _known(
        self,
        question: Hashable,
        running: Sequence[Job],
        ask: Callable[[Running], str],
        *,
        steady: bool,
    ) -> str:
        """An answer of limits, from memory while the jobs that it rests on are the same.

        ``steady``: it rests on nothing but running jobs.
        """
        every = running_of(running)
        known = every.answer(question)
        if known is None:
            every.consulted.clear()
            self.blocker, kept = "", self.blocker
            reason = ask(every)
            known = reason, self.blocker
            self.blocker = kept
            if steady:
                every.remember(question, known)
        reason, blocker = known
        self.blocker = blocker or self.blocker
        return reason

    def nodes_used(self, job: Job, running: Sequence[Job], section: Section | None) -> int:
        """The nodes that count already against the limits on nodes that a job has."""
        if not self.enforced or "node" not in self.bounded:
            return 0
        groups = {one.group for one in self.bounds(job, section).resources if one.name == "node"}
        every = running_of(running)
        return reduce(or_, (every.held(one, self).nodes for one in groups), 0)

    def most_nodes(self, who: Submitter, section: Section) -> int | None:
        """The most nodes that limits on nodes leave a job to choose (spec: slurm 6.8)."""
        if not self.enforced or "node" not in self.bounded:
            return None
        found = self.bounds(who, section).resources
        each = (one.most for one in found if one.name == "node" and one.kind[-4:] != "Mins")
        return min(each, default=None)

    def bounds(self, job: Job | Submitter, section: Section | None) -> Bounds:
        """The bounds that apply to a job in a partition."""
        key = (job.qos, job.account, job.user, section.qos if section is not None else "")
        known = self._bounds.get(key)
        if known is None:
            sharing = self._sharing(job, section)
            known = bounds_of(sharing, self._chain(job), job.user, job.account)
            self._bounds[key] = known
        return known

    def _too_many(self, job: Job, every: Running, section: Section | None) -> str:
        """Which bound on the number of running jobs is reached."""
        for bound in self.bounds(job, section).jobs:
            if len(every.held(bound.group, self).jobs) >= bound.most:
                self.blocker = bound.qos or self.blocker
                return bound.reason
        return ""

    def after(
        self,
        job: Job,
        asks: Tally,
        running: Sequence[Job],
        section: Section | None = None,
        *,
        nodes: int = 0,
    ) -> str:
        """The reason why a job may not start with these resources; empty where it may.

        ``nodes`` are those that it would start on, 0 where they are not chosen.
        spec: slurm 6.2.
        """
        if not self.enforced:
            return ""
        reason = self.note(job, self.over(job, asks, running, section, nodes=nodes))
        if reason:
            self.limited.add(job.id)
        return reason

    def over(
        self,
        job: Job,
        asks: Tally,
        running: Sequence[Job],
        section: Section | None,
        *,
        nodes: int = 0,
    ) -> str:
        """As :meth:`after`, without a note of it."""
        limit = job.limit if self.bounds_run_minutes else 0
        on = (nodes or job.ask.required) if "node" in self.bounded else 0
        question = (asks, on, limit, job.qos, job.account, job.user, section and section.name)
        return self._known(
            question,
            running,
            lambda every: self._too_much(job, asks, on, every, section),
            steady=not self._minutes_count(job, section),
        )

    def _minutes_count(self, job: Job, section: Section | None) -> bool:
        """True where usage in minutes, which grows with time, bounds a job."""
        if not (self.bounds_any_minutes or self.bounds_run_minutes):
            return False
        return any(one.kind.endswith("Mins") for one in self.bounds(job, section).resources)

    def _too_much(
        self, job: Job, asks: Tally, on: int, every: Running, section: Section | None
    ) -> str:
        """Which bound on resources running jobs and this one would break."""
        for bound in self.bounds(job, section).resources:
            if self._breaks(bound, job, asks, on, every):
                self.blocker = bound.qos or self.blocker
                return bound.reason
        return ""

    def _breaks(self, bound: Bound, job: Job, asks: Tally, on: int, running: Running) -> bool:
        """True where the job and those that run have more than the bound allows.

        ``on``: the nodes that it is known to use. A node counts once, however many jobs share it.
        """
        name, most = bound.name, bound.most
        if bound.kind == "GrpTRESMins":
            return self.used.get(bound.key, 0.0) // 60 >= most
        held = running.held(bound.group, self)
        if name == "node" and bound.kind != "GrpTRESRunMins":
            used = held.nodes
            return used.bit_count() + asks.node - (on & used).bit_count() > most
        if bound.kind != "GrpTRESRunMins":
            return _sum(held, name) + asks.of(name) > most
        left = 0.0
        for one in _in_order(held):
            passed = max(0, self.counted_to - one.start)
            left += held_by(one).of(name) * max(0, one.limit - passed)
        # What others have left is cut to whole minutes before the job's own are added.
        return left // 60 + asks.of(name) * job.limit // 60 > most


def _in_order(held: Held) -> list[Job]:
    """The jobs of a group in record order: sums of fractions depend on it."""
    return sorted(held.jobs.values(), key=lambda one: one.record)


def _sum(held: Held, name: str) -> float:
    """How much of a resource a group holds, by Slurm's name of it."""
    if name == "billing":
        return sum(held_by(one).billing for one in _in_order(held))
    amounts = {"cpu": held.cpu, "node": held.node, "gres/gpu": held.gpu, "mem": held.mem}
    return amounts.get(name, 0)
