"""priority/multifactor: age, fair-share (Fair Tree or classic), size, partition, QOS, TRES."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.cluster.slurm_text import parse_limit
from shadowtime.slurm.from_site import setting
from shadowtime.slurm.machine import bits

if TYPE_CHECKING:
    from shadowtime.cluster.site import Association, Site
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Machine

HIGHEST = 4_294_967_294


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Slurm's Priority* settings; times in seconds."""

    age: int = 0
    max_age: int = 7 * 86400
    job_size: int = 0
    fair_share: int = 0
    partition: int = 0
    qos: int = 0
    assoc: int = 0
    tres: tuple[tuple[str, float], ...] = ()
    half_life: int = 7 * 86400
    period: int = 300
    fair_tree: bool = True
    favor_small: bool = False
    dampening: int = 1

    @staticmethod
    def of(site: Site) -> Weights:
        """From a site's configuration."""
        config = site.config

        def number(name: str, default: int = 0) -> int:
            value = setting(config, name)
            return int(value) if value.isdigit() else default

        def seconds(name: str, default: int) -> int:
            value = setting(config, name)
            found = parse_limit(value) if value else default
            return default if found is None else found

        flags = setting(config, "PriorityFlags").upper()
        tres = re.findall(r"([\w/:]+)=([\d.]+)", setting(config, "PriorityWeightTRES"))
        return Weights(
            age=number("PriorityWeightAge"),
            max_age=seconds("PriorityMaxAge", 7 * 86400),
            job_size=number("PriorityWeightJobSize"),
            fair_share=number("PriorityWeightFairShare"),
            partition=number("PriorityWeightPartition"),
            qos=number("PriorityWeightQOS"),
            assoc=number("PriorityWeightAssoc"),
            tres=tuple((name.lower(), float(weight)) for name, weight in tres),
            half_life=seconds("PriorityDecayHalfLife", 7 * 86400),
            period=seconds("PriorityCalcPeriod", 300) or 300,
            fair_tree="NO_FAIR_TREE" not in flags,
            favor_small=setting(config, "PriorityFavorSmall", "No").lower() in ("yes", "1"),
            dampening=number("FairShareDampeningFactor", 1) or 1,
        )


@dataclass(slots=True)
class _Branch:
    """An association in the tree."""

    name: tuple[str, str]
    shares: float
    usage: float
    parent: _Branch | None = None
    children: list[_Branch] = field(default_factory=list)
    level: float = 0.0
    factor: float = 0.0


class Multifactor:
    """Usage and factors; :meth:`tick` at every PriorityCalcPeriod, :meth:`of` in between."""

    def __init__(self, site: Site, machine: Machine) -> None:
        self.weights = Weights.of(site)
        self.machine = machine
        self.root = _Branch(("root", ""), 1, 0.0)
        self.branches: dict[tuple[str, str], _Branch] = {("root", ""): self.root}
        self._grow(site.associations)
        self.qos = {one.name: one.priority for one in site.qos}
        self.most_qos = max([1, *self.qos.values()])
        self.most_part = max([1, *(one.factor for one in machine.sections.values())])
        self.nodes = len(machine.nodes)
        self.cpus = sum(node.cpus for node in machine.nodes)
        half = self.weights.half_life
        self.decay = 1 - 0.693 / half if half else 1.0
        self.last: float | None = None
        self._share()

    def _grow(self, associations: tuple[Association, ...]) -> None:
        for users in (False, True):
            for one in associations:
                if bool(one.user) != users or (one.account == "root" and not one.user):
                    continue
                name = (one.account, one.user)
                shares = 1.0 if one.shares is None else float(one.shares)
                self.branches[name] = _Branch(name, shares, one.usage)
        for one in associations:
            branch = self.branches.get((one.account, one.user))
            if branch is None or branch is self.root:
                continue
            above = (one.account, "") if one.user else (one.parent or "root", "")
            branch.parent = self.branches.get(above, self.root)
            branch.parent.children.append(branch)

    def charge(self, job: Job, seconds: float) -> None:
        """Add a stretch of a job's billing to its user and everybody above."""
        branch = self.branches.get((job.account, job.user))
        while branch is not None:
            branch.usage += job.billing * seconds
            branch = branch.parent

    def tick(self, now: float, running: list[Job]) -> None:
        """Decay, charge running jobs since the last tick or their start, and rank anew (5.4)."""
        last = now if self.last is None else self.last
        fade = self.decay ** (now - last)
        for branch in self.branches.values():
            branch.usage *= fade
        for job in running:
            self.charge(job, max(0.0, now - max(last, job.start)) * fade)
        self.last = now
        self._share()

    def _share(self) -> None:
        if self.weights.fair_tree:
            users = [one for one in self.branches.values() if one.name[1]]
            self.rank = self.users = max(1, len(users))
            self._climb(self.root.children, tied=False)
        else:
            total = self.root.usage
            for branch in self.branches.values():
                branch.level = 0.0
            self._classic(self.root, 1.0, 1.0 if total else 0.0, total)

    def _climb(self, siblings: list[_Branch], *, tied: bool) -> None:
        """Depth first by level_fs; equal ones share a rank (5.6)."""
        shares = sum(one.shares for one in siblings)
        used = sum(one.usage for one in siblings)
        for one in siblings:
            norm = one.shares / shares if shares else 0.0
            part = one.usage / used if used else 0.0
            one.level = (norm / part if part else float("inf")) if norm else 0.0
        order = sorted(siblings, key=lambda one: (-one.level, not one.name[1]))
        before: _Branch | None = None
        rank = self.rank
        for at, one in enumerate(order):
            same = tied if at == 0 else before is not None and one.level == before.level
            if one.name[1]:
                if not same:
                    rank = self.rank
                one.factor = rank / self.users
                self.rank -= 1
            else:
                self._climb(one.children, tied=same)
                rank = self.rank
            before = one

    def _classic(self, branch: _Branch, norm: float, effective: float, total: float) -> None:
        """F = 2^-(U / S): usage flows down with the shares (5.7)."""
        shares = sum(one.shares for one in branch.children)
        for one in branch.children:
            part = one.shares / shares if shares else 0.0
            own = one.usage / total if total else 0.0
            used = own if branch is self.root else own + (effective - own) * part
            share = norm * part
            damped = share * self.weights.dampening
            one.factor = 2 ** -(used / damped) if damped else 0.0
            self._classic(one, share, used, total)

    def of(self, job: Job, now: float, *, tested: bool) -> int:
        """A job's priority; ``tested``: a pass has told which cpus it would get (5.3)."""
        total = sum(self.parts(job, now, tested=tested).values())
        return max(1, min(HIGHEST, int(total - job.nice)))

    def parts(self, job: Job, now: float, *, tested: bool) -> dict[str, float]:
        """What each factor adds to a job's priority, by sprio's names; nice is not among them."""
        weights = self.weights
        ask = job.ask
        section = self.machine.sections[job.partitions[0]]
        found = {"age": 0.0}
        if weights.max_age:
            since = job.eligible if job.ages_from is None else job.ages_from
            found["age"] = weights.age * min(1.0, max(0.0, now - since) / weights.max_age)
        branch = self.branches.get((job.account, job.user))
        found["fair-share"] = weights.fair_share * (branch.factor if branch else 0.0)
        cpus = ask.min_cpus
        if tested and ask.exclusive:
            cpus = ask.min_nodes * max(self.machine.nodes[at].cpus for at in bits(section.nodes))
        node_part, cpu_part = ask.min_nodes / self.nodes, cpus / self.cpus
        if weights.favor_small:
            node_part, cpu_part = 1 - node_part, 1 - cpu_part
        found["job size"] = weights.job_size * (node_part + cpu_part) / 2
        found["partition"] = weights.partition * section.factor / self.most_part
        found["QOS"] = weights.qos * self.qos.get(job.qos, 0) / self.most_qos
        for name, weight in weights.tres:
            found[f"TRES {name}"] = weight * self._tres(job, name, section.nodes)
        return found

    def _tres(self, job: Job, name: str, nodes: int) -> float:
        """A requested resource as a part of the partition's (21.1)."""
        ask = job.ask
        places = list(bits(nodes))
        if name == "cpu":
            return ask.min_cpus / sum(self.machine.nodes[at].cpus for at in places)
        if name == "mem":
            if ask.memory:
                wanted = ask.memory * (ask.min_cpus if ask.memory_per_cpu else ask.min_nodes)
                return wanted / max(1, sum(self.machine.nodes[at].memory for at in places))
            return ask.min_nodes / len(places)
        return 0.0
