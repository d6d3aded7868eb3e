"""Limits of QOS and associations before and after nodes are known (spec: slurm 6)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from shadowtime.slurm.reasons import reason_of
from shadowtime.slurm.running import Running, running_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.cluster.site import Association, Limits
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.running import Group, Held


SAME_NAME = {"cpus": "cpu", "memory": "mem", "nodes": "node", "gpu": "gres/gpu"}


def _named(amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts by Slurm's names of resources."""
    return {SAME_NAME.get(name, name): count for name, count in amounts.items()}


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Resources of a job or of several."""

    cpu: int = 0
    node: int = 0
    gpu: int = 0
    mem: int = 0
    billing: float = 0.0

    def of(self, name: str) -> float:
        """The amount by Slurm's name of the resource."""
        return {
            "cpu": self.cpu,
            "node": self.node,
            "gres/gpu": self.gpu,
            "mem": self.mem,
            "billing": self.billing,
        }.get(name, 0)


def held_by(job: Job) -> Tally:
    """What a running job is counted with."""
    return Tally(
        cpu=job.cpus,
        node=job.nodes.bit_count(),
        gpu=sum(share.gpus.bit_count() for share in job.holding),
        mem=sum(share.memory for share in job.holding),
        billing=job.billing or job.cpus,
    )


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
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    """("qos", name) and (account, user or "") to cpu seconds."""
    counted_to: int = 0
    met: dict[int, str] = field(default_factory=dict)
    """What each job was last passed over for, in Slurm's words (sacct's Reason), by record."""

    limited: set[int] = field(default_factory=set)
    """Jobs that a limit kept from starting at the last check."""
    blocker: str = ""
    """The QOS whose limit was the last to keep a job from starting."""

    def note(self, job: Job, reason: str) -> str:
        """Remember why a job was passed over; the reason, empty where there is none."""
        if reason:
            self.met[job.id] = reason
        return reason

    def charge(self, job: Job, seconds: float) -> None:
        """Charge an interval of a job's cpus to its QOS, its user and every account above."""
        if not self.bounds_any_minutes:
            return  # nobody asks for it
        keys = [("qos", job.qos), (job.account, job.user)]
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
        found = [(("qos", job.qos), self.qos[job.qos])] if job.qos in self.qos else []
        found += [((link.account, link.user), link.limits) for link in self._chain(job)]
        for key, limits in found:
            minutes = self.used.get(key, 0.0) // 60
            if any(minutes >= bound for bound in limits.group_minutes.values()):
                return True
        return False

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

    def _chain(self, job: Job) -> tuple[Association, ...]:
        return self.chains.get((job.account, job.user), ())

    def _sharing(self, job: Job, section: Section | None) -> list[tuple[str, Limits]]:
        """The QOS that count, the partition's first (spec: slurm 6.3)."""
        names = [section.qos] if section is not None and section.qos else []
        names.append(job.qos)
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
        if not self.enforced or not self.bounds_jobs:
            return
        known: dict[tuple[str, str, str, str], str] = {}
        for job in waiting:
            if job.id in self.met or not job.partitions:
                continue
            key = (job.qos, job.user, job.account, job.partitions[0])
            if key not in known:
                known[key] = self._before(job, running, sections.get(job.partitions[0]))
            self.note(job, known[key])

    def _before(self, job: Job, running: Sequence[Job], section: Section | None) -> str:
        seen: set[str] = set()
        every = running_of(running)
        for name, limits in self._sharing(job, section):
            if limits.group_jobs is limits.user_jobs is limits.account_jobs is None:
                continue
            first, *rest = _qos_group(name, section)
            for what, bound, group in (
                ("GrpJobs", limits.group_jobs, (first, *rest)),
                ("MaxJobsPU", limits.user_jobs, (f"{first} user", *rest, job.user)),
                ("MaxJobsPA", limits.account_jobs, (f"{first} account", *rest, job.account)),
            ):
                if bound is None or what in seen:
                    continue
                seen.add(what)
                if len(every.held(group, self.chains).jobs) >= bound:
                    self.blocker = name
                    return reason_of("QOS", what)
        for level, link in enumerate(self._chain(job)):
            limits = link.limits
            most = None if "GrpJobs" in seen else limits.group_jobs
            if most is not None and len(self._below(every, link).jobs) >= most:
                return reason_of("Assoc", "GrpJobs")
            most = limits.user_jobs if level == 0 and "MaxJobsPU" not in seen else None
            if most is not None and len(self._below(every, link).jobs) >= most:
                return reason_of("Assoc", "MaxJobs")
        return ""

    def _below(self, running: Running, link: Association) -> Held:
        """What counts against an association: jobs of its own or of one below it."""
        group = ("user", link.account, link.user) if link.user else ("account", link.account)
        return running.held(group, self.chains)

    def after(
        self,
        job: Job,
        asks: Tally,
        running: Sequence[Job],
        section: Section | None = None,
    ) -> str:
        """The reason why a job may not start with these resources; empty where it may.

        spec: slurm 6.2.
        """
        if not self.enforced:
            return ""
        reason = self.note(job, self._after(job, asks, running, section))
        if reason:
            self.limited.add(job.id)
        return reason

    def _after(self, job: Job, asks: Tally, running: Sequence[Job], section: Section | None) -> str:
        hidden: set[tuple[str, str]] = set()
        every = running_of(running)
        for name, limits in self._sharing(job, section):
            first, *rest = _qos_group(name, section)
            over = self._group(("qos", name), limits, every, (first, *rest), job, asks, hidden)
            if over:
                self.blocker = name
                return reason_of("QOS", *over)
            for kind, bounds, group in (
                ("MaxTRESPU", limits.user_resources, (f"{first} user", *rest, job.user)),
                ("MaxTRESPA", limits.account_resources, (f"{first} account", *rest, job.account)),
                ("MaxTRESPJ", limits.job_resources, ("none",)),
            ):
                over = self._over(kind, bounds, every, group, asks, hidden)
                if over:
                    return reason_of("QOS", *over)
        for level, link in enumerate(self._chain(job)):
            group = ("user", link.account, link.user) if link.user else ("account", link.account)
            limits, key = link.limits, (link.account, link.user)
            over = self._group(key, limits, every, group, job, asks, hidden)
            if over:
                return reason_of("Assoc", *over)
            if level == 0:
                over = self._over("MaxTRESPJ", limits.job_resources, every, (), asks, hidden)
                if over:
                    return reason_of("Assoc", *over)
        return ""

    def _group(
        self,
        key: tuple[str, str],
        limits: Limits,
        running: Running,
        group: Group,
        job: Job,
        asks: Tally,
        hidden: set[tuple[str, str]],
    ) -> tuple[str, str] | None:
        """The kind and resource of GrpTRES, GrpTRESMins or GrpTRESRunMins that is in the way."""
        over = self._over("GrpTRES", limits.group_resources, running, group, asks, hidden)
        if over:
            return over
        for name, bound in _named(limits.group_minutes).items():
            if ("GrpTRESMins", name) in hidden:
                continue
            hidden.add(("GrpTRESMins", name))
            if self.used.get(key, 0.0) // 60 >= bound:
                return "GrpTRESMins", name
        for name, bound in _named(limits.group_run_minutes).items():
            if ("GrpTRESRunMins", name) in hidden:
                continue
            hidden.add(("GrpTRESRunMins", name))
            own = asks.of(name) * job.limit
            left = 0.0
            for one in _in_order(running.held(group, self.chains)):
                passed = max(0, self.counted_to - one.start)
                left += held_by(one).of(name) * max(0, one.limit - passed)
            # What others have left is cut to whole minutes before the job's own are added.
            if left // 60 + own // 60 > bound:
                return "GrpTRESRunMins", name
        return None

    def _over(
        self,
        kind: str,
        bounds: Mapping[str, int],
        running: Running,
        group: Group,
        asks: Tally,
        hidden: set[tuple[str, str]],
    ) -> tuple[str, str] | None:
        """The kind of limit and the resource that running jobs and this one would break."""
        if not bounds:
            return None
        held = running.held(group, self.chains)
        for name, bound in _named(bounds).items():
            if (kind, name) in hidden:
                continue
            hidden.add((kind, name))
            if _sum(held, name) + asks.of(name) > bound:
                return kind, name
        return None


def _qos_group(name: str, section: Section | None) -> Group:
    """The running jobs that count against a QOS: against a partition's own, all of them."""
    return ("all",) if section is not None and name == section.qos else ("qos", name)


def _in_order(held: Held) -> list[Job]:
    """The jobs of a group in record order: sums of fractions depend on it."""
    return sorted(held.jobs.values(), key=lambda one: one.record)


def _sum(held: Held, name: str) -> float:
    """How much of a resource a group holds, by Slurm's name of it."""
    if name == "billing":
        return sum(held_by(one).billing for one in _in_order(held))
    amounts = {"cpu": held.cpu, "node": held.node, "gres/gpu": held.gpu, "mem": held.mem}
    return amounts.get(name, 0)


def chains_of(
    associations: Iterable[Association],
) -> dict[tuple[str, str], tuple[Association, ...]]:
    """From each user's association up to the root.

    Examples
    --------
    >>> from shadowtime.cluster.site import Association
    >>> tree = [Association(account="root"), Association(account="a", parent="root"),
    ...         Association(account="a", user="u")]
    >>> [one.account for one in chains_of(tree)["a", "u"]]
    ['a', 'a', 'root']
    """
    accounts = {one.account: one for one in associations if not one.user}
    chains = {}
    for one in associations:
        if not one.user:
            continue
        chain = [one]
        name = one.account
        while name in accounts and len(chain) < 64:
            chain.append(accounts[name])
            name = accounts[name].parent
        chains[one.account, one.user] = tuple(chain)
    return chains


NOT_YET = 1 << 60
"""A time that no run reaches: the job has no age."""


def hold_age(accounts: Accounts, job: Job) -> None:
    """A job comes into the queue: where ageing is bounded it waits for a place."""
    if accounts.accruing(job) is not None:
        job.ages_from = NOT_YET


def let_age(accounts: Accounts, waiting: Iterable[Job], now: int) -> None:
    """At each pass: in the order of ids, jobs begin to age while fewer than the bound do.

    Examples
    --------
    >>> from shadowtime.cluster.site import Limits
    >>> from shadowtime.slurm.ask import Ask
    >>> from shadowtime.slurm.job import Job
    >>> from shadowtime.slurm.limits import Accounts
    >>> ask = Ask(tasks=1, cpus_per_task=1, min_nodes=1, max_nodes=1, wanted_nodes=1, min_cpus=1,
    ...           least_cpus=1)
    >>> accounts = Accounts(enforced=True, qos={"q": Limits(user_accruing=1)})
    >>> jobs = [Job(id=k, ask=ask, limit=60, user="u", qos="q") for k in (1, 2)]
    >>> for job in jobs:
    ...     hold_age(accounts, job)
    >>> let_age(accounts, jobs, 5)
    >>> [job.ages_from == 5 for job in jobs]
    [True, False]
    """
    held: list[tuple[Job, tuple[str, ...], int]] = []
    ageing: Counter[tuple[str, ...]] = Counter()
    for job in waiting:
        if job.ages_from is None:
            continue
        place = accounts.accruing(job)
        if place is None:
            continue
        if job.ages_from == NOT_YET:
            held.append((job, *place))
        else:
            ageing[place[0]] += 1
    for job, key, bound in sorted(held, key=lambda one: one[0].id):
        if ageing[key] < bound:
            ageing[key] += 1
            job.ages_from = now
