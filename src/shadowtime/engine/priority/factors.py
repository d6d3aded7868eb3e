"""What a job's priority is made of beside its age and its share of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import AnyArray, Floats
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.engine.priority.shares import Branch
    from shadowtime.engine.priority.weights import Weights

HIGHEST = 4_294_967_294


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the factors see of a job; it stays as it is while the job waits.

    ``memory`` is MB of the whole job, 0 where it asks for whole nodes or memory is not counted.
    """

    nodes: int
    cpus: int
    whole: bool
    """True if it takes whole nodes."""
    partition: str
    qos: str = ""
    memory: int = 0
    gpus: int = 0


@dataclass(frozen=True, kw_only=True)
class _Section:
    """What a partition has."""

    factor: int
    nodes: int
    cpus: int
    memory: int
    gpus: int
    widest: int
    """Cpus of its largest node."""


class Factors:
    """Terms of the priority that depend on the request alone (spec: slurm 5.1, 5.3).

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.engine.priority.weights import Weights
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,))))
    >>> factors = Factors(site, Weights(job_size=1000))
    >>> claim = Claim(nodes=1, cpus=2, whole=True, partition="")
    >>> factors.terms(claim, tested=False)[0], factors.terms(claim, tested=True)[0]
    (375.0, 500.0)
    """

    def __init__(self, site: Site, weights: Weights) -> None:
        self.weights = weights
        place = {name: at for at, name in enumerate(site.resources)}

        def section(names: Iterable[str], factor: int) -> _Section:
            inside = [site.nodes_by_name[name].amounts for name in names]
            memory, gpus = place.get("memory"), place.get("gpu")
            return _Section(
                factor=factor,
                nodes=len(inside),
                cpus=sum(one[0] for one in inside),
                memory=sum(one[memory] // 1024 for one in inside) if memory is not None else 0,
                gpus=sum(one[gpus] for one in inside) if gpus is not None else 0,
                widest=max((one[0] for one in inside), default=0),
            )

        every = section(site.nodes_by_name, 1)
        self.sections = {
            one.name: section(one.nodes, one.priority_factor) for one in site.partitions
        }
        self.everywhere = every
        self.nodes, self.cpus = every.nodes, every.cpus
        self.qos: Mapping[str, int] = {one.name: one.priority for one in site.qos}
        self.most_qos = max([1, *self.qos.values()])
        self.most_part = max([1, *(one.factor for one in self.sections.values())])

    def terms(self, claim: Claim, *, tested: bool) -> tuple[float, ...]:
        """Size, partition, QOS, then each TRES; ``tested``: a pass has found which cpus it gets."""
        weights = self.weights
        section = self.sections.get(claim.partition, self.everywhere)
        cpus = claim.nodes * section.widest if tested and claim.whole else claim.cpus
        node_part, cpu_part = claim.nodes / self.nodes, cpus / self.cpus
        if weights.favor_small:
            node_part, cpu_part = 1 - node_part, 1 - cpu_part
        return (
            weights.job_size * (node_part + cpu_part) / 2,
            weights.partition * section.factor / self.most_part,
            weights.qos * self.qos.get(claim.qos, 0) / self.most_qos,
            *(weight * _requested(claim, name, section) for name, weight in weights.tres),
        )


def parts_of(
    weights: Weights, *, age: float, branch: Branch | None, terms: Sequence[float]
) -> dict[str, float]:
    """What each factor adds to a priority, by sprio's names and in Slurm's order (spec: slurm 5.1).

    ``age`` is seconds; ``terms`` are those of :class:`Factors`.
    """
    size, partition, qos, *tres = terms
    waited = min(1.0, max(0.0, age) / weights.max_age) if weights.max_age else 0.0
    found = {
        "age": weights.age * waited,
        "fair-share": weights.fair_share * (branch.factor if branch else 0.0),
        "job size": size,
        "partition": partition,
        "QOS": qos,
    }
    if weights.assoc:
        found["association"] = weights.assoc * (branch.standing if branch else 0.0)
    for (name, _), term in zip(weights.tres, tres, strict=True):
        found[f"TRES {name}"] = term
    return found


def priority_of(parts: Mapping[str, float], nice: int) -> int:
    """The sum of all parts, a whole number from 1 on; added one by one, in order.

    Examples
    --------
    >>> priority_of({"age": 12.5, "QOS": 100.0}, 10), priority_of({"age": 3.0}, 10)
    (102, 1)
    """
    total = 0.0
    for part in parts.values():
        total += part
    return max(1, min(HIGHEST, int(total - nice)))


def priorities_of(
    weights: Weights,
    *,
    age: AnyArray,
    factor: Floats,
    standing: Floats,
    terms: Floats,
    nice: AnyArray,
) -> Floats:
    """As :func:`priority_of` the parts of :func:`parts_of`, of many jobs at once."""
    total = weights.fair_share * factor
    if weights.max_age:
        total = weights.age * np.minimum(1.0, np.maximum(0.0, age) / weights.max_age) + total
    for term in (*terms.T[:3], weights.assoc * standing, *terms.T[3:]):
        total = total + term
    found: Floats = np.minimum(np.maximum(np.trunc(total - nice), 1), HIGHEST)
    return found


def _requested(claim: Claim, name: str, section: _Section) -> float:
    """A requested resource as a part of the partition's (spec: slurm 5.3)."""
    if name == "cpu":
        return claim.cpus / section.cpus
    if name == "mem" and claim.memory:
        return claim.memory / max(1, section.memory)
    if name in ("mem", "node"):
        return claim.nodes / section.nodes
    if name in ("gres/gpu", "gpu") and section.gpus:
        return claim.gpus / section.gpus
    return 0.0


def default_memory(site: Site, partition: str) -> tuple[int | None, bool]:
    """Memory in KB of a job that asks for none, and whether that is per cpu."""
    section = next((one for one in site.partitions if one.name == partition), None)
    if section is not None and section.default_memory is not None:
        return section.default_memory, section.default_memory_per == "cpu"
    for name, per_cpu in (("DefMemPerCPU", True), ("DefMemPerNode", False)):
        value = site.setting(name)
        if value.isdigit():
            return int(value) * 1024, per_cpu
    return None, True


def claim_of(request: Request, site: Site) -> Claim:
    """What a request claims in the partition it names first (spec: slurm 9).

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload.request import Request
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),))
    >>> claim_of(Request(nodes=2, tasks=6, tasks_per_node=2), site).nodes
    3
    """
    default = next((one.name for one in site.partitions if one.default), "")
    first = site.partitions[0].name if site.partitions else ""
    partition = next(iter(request.partitions), default or first)
    nodes = max(request.nodes, len(set(request.wanted)), 1)
    if request.tasks_per_node:
        nodes = max(nodes, -(-request.tasks // request.tasks_per_node))
    cpus = max(request.cpus, nodes)
    memory = 0
    if "memory" in site.resources:
        each, per_cpu = request.memory, request.memory_per == "cpu"
        if each is None:
            each, per_cpu = default_memory(site, partition)
        memory = (each or 0) // 1024 * (cpus if per_cpu else nodes)
    gpus = 0
    for one in request.gres:
        if one.name.partition(":")[0] == "gpu":
            gpus += one.count * {"node": nodes, "task": request.tasks, "job": 1}[one.per]
    section = next((one for one in site.partitions if one.name == partition), None)
    whole = request.exclusive or (section is not None and section.exclusive)
    return Claim(
        nodes=nodes,
        cpus=cpus,
        whole=whole,
        partition=partition,
        qos=request.qos,
        memory=memory,
        gpus=gpus,
    )


def billing_of(amounts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """What a second of a job costs: its cpus, or the weighted sum of TRESBillingWeights.

    spec: slurm 5.4.

    Examples
    --------
    >>> billing_of({"cpus": 4}, {}), billing_of({"cpus": 4, "gpu": 1}, {"cpus": 0.5, "gpu": 8})
    (4.0, 10.0)
    """
    if not weights:
        return float(amounts["cpus"])
    return float(sum(amounts.get(name, 0) * weight for name, weight in weights.items()))
