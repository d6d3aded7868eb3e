"""Machines in words: how many nodes of which kind, and amounts with their units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from shadowtime.report.numbers import count, number

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster

KINDS = 3
"""Kinds of nodes listed one by one before the rest is counted."""


def memory(kilobytes: int) -> str:
    """KB in the largest unit of which there is at least one.

    Examples
    --------
    >>> memory(512), memory(1536 * 1024), memory(3 << 30)
    ('512 KB', '1.50 GB', '3 TB')
    """
    size, unit = float(kilobytes), "KB"
    for larger in ("MB", "GB", "TB", "PB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{number(size)} {unit}"


def amount(resource: str, count: int) -> str:
    """An amount of a resource.

    Examples
    --------
    >>> amount("memory", 2 << 20), amount("gpu:a100", 8), amount("cpus", 1)
    ('2 GB memory', '8 gpu:a100', '1 cpu')
    """
    if resource == "memory":
        return f"{memory(count)} memory"
    single = {"cpus": "cpu", "gpus": "gpu"}
    return f"{number(count)} {single.get(resource, resource) if count == 1 else resource}"


def amounts(total: Mapping[str, int]) -> str:
    """Amounts of several resources, omitting those of which there is none."""
    return ", ".join(amount(name, count) for name, count in total.items() if count)


def machine(cluster: Cluster) -> str:
    """The machine in words; on a site the kinds of its nodes, the most frequent first.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> machine(Cluster.pool(1024, gpus=4))
    'a pool of 1,024 procs, 4 gpus'
    >>> from shadowtime.cluster.site import Node, Site
    >>> nodes = [Node(name=f"n{i}", amounts=(16, 0)) for i in range(6)]
    >>> gpus = [Node(name=f"g{i}", amounts=(32, 4)) for i in range(2)]
    >>> machine(Site(nodes=(*nodes, *gpus), resources=("cpus", "gpu")))
    '8 nodes with 160 cpus, 8 gpu (6 of 16 cpus; 2 of 32 cpus, 4 gpu)'
    """
    has = amounts(cluster.total)
    if cluster.shape == "pool":
        return f"a pool of {has}"
    hosts = len(cluster.hosts)
    if cluster.shape != "site":
        return f"{number(hosts)} {cluster.shape} with {has}"
    return f"{count(hosts, 'node')} with {has} ({kinds_of_nodes(cluster)})"


def kinds_of_nodes(cluster: Cluster) -> str:
    """How many nodes there are of each kind."""
    resources = tuple(cluster.total)
    found = Counter(host.capacity for host in cluster.hosts).most_common()
    if len(found) == 1:
        return f"each {amounts(dict(zip(resources, found[0][0], strict=True)))}"
    kinds = [
        f"{number(count)} of {amounts(dict(zip(resources, capacity, strict=True)))}"
        for capacity, count in found[:KINDS]
    ]
    rest = sum(count for _, count in found[KINDS:])
    return "; ".join([*kinds, *([f"{number(rest)} of other kinds"] if rest else [])])
