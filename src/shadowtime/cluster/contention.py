"""Nodes whose jobs slow each other down: shared capacities, and the law of the slowdown.

A shared resource (such as memory bandwidth) is not allocated: if the total demand of a node's
processes exceeds its capacity, all of them slow down. How much is given by a law, which is a
separate value. Guim et al. 2009, section 3.3; spec: algorithms 4.1 to 4.5 and 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.errors import ClusterError

STRETCHES = ("rate", "window")
"""How a penalty becomes run time: work done at a rate, or the paper's sum of shared windows."""


@dataclass(frozen=True)
class Hinge:
    """One term of a law: ``weight`` for every unit demanded of a resource beyond ``threshold``."""

    resource: str
    threshold: int
    weight: int


@dataclass(frozen=True)
class Terms:
    """A law in whole numbers: penalty = sum of the hinges / ``base``; a process does
    base / (base + sum) of its work per second."""

    base: int
    hinges: tuple[Hinge, ...]


class Law(Protocol):
    """How much slower the processes of a node become.

    Any law that is a sum of hinges in the demands for the shared resources can be plugged in: the
    kernels use only the terms. It must not fall when demand grows.
    """

    def terms(self, capacity: Mapping[str, int]) -> Terms:
        """The law for nodes with these capacities of the shared resources."""


@dataclass(frozen=True)
class Proportional:
    """penalty = max(demand, capacity) / capacity - 1, summed over the resources.

    spec: algorithms 4.3.

    Examples
    --------
    >>> law = Proportional().terms({"bandwidth": 6000})
    >>> law.base, law.hinges
    (6000, (Hinge(resource='bandwidth', threshold=6000, weight=1),))
    """

    def terms(self, capacity: Mapping[str, int]) -> Terms:
        """One hinge a resource, over their common multiple."""
        base = math.lcm(*capacity.values())
        return Terms(base, tuple(Hinge(r, c, base // c) for r, c in capacity.items()))


@dataclass(frozen=True)
class Sloped:
    """penalty = slope * max(0, demand / phys - 1) for each resource (spec: algorithms 6.2).

    ``phys`` is what a node can really deliver, if that is not its nominal capacity.

    Examples
    --------
    >>> law = Sloped(slope=Fraction(36, 100)).terms({"bandwidth": 25000})
    >>> law.base, law.hinges
    (625000, (Hinge(resource='bandwidth', threshold=25000, weight=9),))
    """

    slope: Fraction = Fraction(36, 100)
    phys: Mapping[str, int] = field(default_factory=dict)

    def terms(self, capacity: Mapping[str, int]) -> Terms:
        """One hinge a resource; all over one denominator."""
        real = {name: self.phys.get(name, amount) for name, amount in capacity.items()}
        base = math.lcm(*(amount * self.slope.denominator for amount in real.values()))
        return Terms(base, tuple(Hinge(r, c, int(base * self.slope / c)) for r, c in real.items()))


@dataclass(frozen=True, kw_only=True)
class Contention:
    """What the processes on a node share, and how it slows them down.

    ``capacity`` is that of every node, by resource; ``default`` the demand per process of jobs
    that do not state theirs, by resource (without one they are rejected).
    """

    capacity: Mapping[str, int]
    law: Law = Proportional()
    stretch: str = "rate"
    default: Mapping[str, int] = field(default_factory=dict)


def node_cluster(nodes: int, *, procs: int = 4, name: str = "", **shared: int) -> Cluster:
    """A machine of equal nodes; ``shared`` is the capacity of each shared resource of a node.

    Examples
    --------
    >>> ctc = node_cluster(108, procs=4, bandwidth=6000)
    >>> ctc.shape, ctc.procs, contention_of(ctc).capacity
    ('nodes', 432, {'bandwidth': 6000})
    >>> contention_of(node_cluster(2)) is None
    True
    """
    capacity = (int(procs), *(int(amount) for amount in shared.values()))
    return Cluster(
        shape="nodes",
        resources=("procs", *shared),
        hosts=tuple(Host(f"n{i}", capacity) for i in range(1, nodes + 1)),
        name=name,
        options={"contention": {"shared": list(shared)}} if shared else {},
    )


def contention_of(cluster: Cluster) -> Contention | None:
    """What the nodes of a cluster share; None if nothing: then no job slows another down.

    Rules
    -----
    The table ``[contention]`` of a cluster file (``Cluster.options["contention"]``) may name the
    ``shared`` resources (``["bandwidth"]`` by default), the ``law`` (``proportional``, or
    ``sloped`` with ``slope`` and ``phys``), ``stretch`` (``rate`` or ``window``) and a ``default``
    demand. A capacity is a resource of the nodes, or a key of their group. All nodes must be alike.

    Examples
    --------
    >>> machine = node_cluster(2, bandwidth=25000)
    >>> sloped = {"shared": ["bandwidth"], "law": "sloped", "slope": 0.36}
    >>> contention_of(machine.replace(options={"contention": sloped})).law
    Sloped(slope=Fraction(9, 25), phys={})
    """
    table = dict(_table(cluster.options.get("contention", {})))
    names = table.pop("shared", ["bandwidth"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ClusterError('contention.shared must be a list like ["bandwidth"]')
    capacity = {name: amount for name in names if (amount := _capacity(cluster, name)) is not None}
    if not capacity:
        if table:
            raise ClusterError(
                f"the cluster has a contention table, but no node gives its {' or '.join(names)}"
            )
        return None
    law = _law(table, capacity)
    stretch = table.pop("stretch", "rate")
    if stretch not in STRETCHES:
        raise ClusterError(f"contention.stretch must be rate or window, not {stretch!r}")
    default = _amounts("default", table.pop("default", {}), capacity, low=0)
    if table:
        raise ClusterError(f"contention has no key {', '.join(sorted(table))}")
    return Contention(capacity=capacity, law=law, stretch=stretch, default=default)


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ClusterError("contention must be a table: write [contention]")
    return value


def _capacity(cluster: Cluster, name: str) -> int | None:
    """What each node has of a shared resource, None if no node gives it."""
    if name in cluster.resources:
        found = {host.capacity[cluster.resources.index(name)] for host in cluster.hosts}
    else:
        groups = cluster.options.get("groups", {})
        amounts = [group.get(name) for group in groups.values()] if groups else []
        if name in cluster.options:
            amounts.append(cluster.options[name])
        found = set(amounts)
    if found <= {None}:
        return None
    if len(found) != 1:
        raise ClusterError(f"all nodes must have the same {name} for jobs to share it")
    (amount,) = found
    if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
        raise ClusterError(f"a node's {name} must be a whole number from 1, not {amount!r}")
    return amount


def _law(table: dict[str, Any], capacity: Mapping[str, int]) -> Law:
    name = table.pop("law", "proportional")
    if name == "proportional":
        return Proportional()
    if name == "sloped":
        slope = _fraction("slope", table.pop("slope", "0.36"))
        return Sloped(slope=slope, phys=_amounts("phys", table.pop("phys", {}), capacity, low=1))
    raise ClusterError(f"contention.law must be proportional or sloped, not {name!r}")


def _fraction(key: str, value: object) -> Fraction:
    try:
        exact = Fraction(str(value))  # 0.36 is 9/25, as it was written
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if exact <= 0:
        raise ClusterError(f"contention.{key} must be a number above 0, not {value!r}")
    return exact


def _amounts(key: str, value: object, capacity: Mapping[str, int], *, low: int) -> dict[str, int]:
    """An amount by shared resource; a bare number applies to all of them."""
    table = dict.fromkeys(capacity, value) if isinstance(value, int) else value
    if not isinstance(table, Mapping) or not set(table) <= set(capacity):
        raise ClusterError(f"contention.{key} must be a number, or a table by shared resource")
    for name, amount in table.items():
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < low:
            raise ClusterError(
                f"contention.{key} of {name} must be a whole number from {low}, not {amount!r}"
            )
    return {str(name): int(amount) for name, amount in table.items()}
