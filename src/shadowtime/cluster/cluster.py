"""The machine as a value. A pool is one big host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.errors import ClusterError
from shadowtime.printable import shown
from shadowtime.types import SmallInts

if TYPE_CHECKING:
    from shadowtime.workload import Workload


Shape = Literal["pool", "hosts", "nodes", "site"]


@dataclass(frozen=True)
class Host:
    """One place where jobs run: a name and a capacity per resource."""

    name: str
    capacity: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Hosts with countable resources, and how a job may be placed on them.

    Shapes
    ------
    pool: one host with everything, a job takes a share of each resource.
    hosts: a job must fit inside one host. nodes: a job's processes spread over hosts.

    The first resource is always ``procs``; memory counts KB (1024-based).

    Examples
    --------
    >>> Cluster.pool(430).total
    {'procs': 430}
    >>> Cluster.pool(8, memory=1024).resources
    ('procs', 'memory')
    >>> Cluster.pool(8, memory=1024), Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    (Cluster(pool:8,memory=1024), Cluster(1 node, 4 procs))
    """

    shape: Shape = "pool"
    resources: tuple[str, ...] = ("procs",)
    hosts: tuple[Host, ...]
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What a shape needs besides: dedicated limits, contention, partitions."""

    def __post_init__(self) -> None:
        if self.resources[:1] != ("procs",):
            raise ClusterError("the first resource of a cluster must be procs")
        if len(set(self.resources)) != len(self.resources):
            raise ClusterError(f"a resource is named twice: {', '.join(self.resources)}")
        if not self.hosts:
            raise ClusterError("a cluster needs at least one host")
        if self.shape == "pool" and len(self.hosts) != 1:
            raise ClusterError("a pool is one big host: use the shape hosts or nodes for several")
        for host in self.hosts:
            if len(host.capacity) != len(self.resources):
                raise ClusterError(f"host {host.name} must give {', '.join(self.resources)}")
            if host.capacity[0] < 1 or min(host.capacity) < 0:
                raise ClusterError(f"host {host.name} needs a processor and nothing below zero")

    @staticmethod
    def pool(procs: int, /, *, name: str = "", **others: int) -> Cluster:
        """A pool of processors and any other countable resources."""
        try:
            capacity = (int(procs), *(int(amount) for amount in others.values()))
        except (TypeError, ValueError):
            given = ", ".join(shown(amount) for amount in (procs, *others.values()))
            raise ClusterError(f"a pool has whole numbers of everything, not {given}") from None
        return Cluster(resources=("procs", *others), hosts=(Host("pool", capacity),), name=name)

    def __repr__(self) -> str:
        if self.shape == "pool":
            first, *others = self.total.items()
            text = ",".join([f"pool:{first[1]}", *(f"{name}={amount}" for name, amount in others)])
            return f"Cluster({text}{f', {self.name}' if self.name else ''})"
        amounts = ", ".join(f"{amount:,} {name}" for name, amount in self.total.items())
        head = f"{self.name}: " if self.name else ""
        kind = self.shape.removesuffix("s") if len(self.hosts) == 1 else self.shape
        hosts = f"{len(self.hosts):,} {kind}"
        return f"Cluster({head}{hosts}, {amounts})"

    @property
    def procs(self) -> int:
        """Total number of processors."""
        return sum(host.capacity[0] for host in self.hosts)

    @property
    def total(self) -> dict[str, int]:
        """Capacity of the whole machine by resource."""
        sums = (sum(column) for column in zip(*(h.capacity for h in self.hosts), strict=True))
        return dict(zip(self.resources, sums, strict=True))

    def replace(self, **changes: Any) -> Cluster:
        """A variant of this machine."""
        return replace(self, **changes)


def dedicated(workload: Workload, cluster: Cluster) -> SmallInts:
    """1 for every job above one of the cluster's dedicated limits, 0 for the rest.

    The limits are the cluster's option ``dedicated``: a most by resource. The option
    ``dedicated_exclusive`` set to no leaves such jobs space-shared.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> machine = Cluster.pool(128).replace(options={"dedicated": {"procs": 64}})
    >>> dedicated(Workload.build(submit=[0, 0], run=[1, 1], procs=[64, 65]), machine).tolist()
    [0, 1]
    """
    marks = np.zeros(len(workload), np.int8)
    if not cluster.options.get("dedicated_exclusive", True):
        return marks
    for name, most in cluster.options.get("dedicated", {}).items():
        if name in workload.resources:
            marks |= workload.demand[:, workload.resources.index(name)] > most
    return marks
