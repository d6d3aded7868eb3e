"""What a request's memory is in a partition: its default, and its bound (MaxMemPerCPU).

spec: slurm 4.18.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from shadowtime.cluster.site import Node, Partition
    from shadowtime.workload.request import Request

Per: TypeAlias = Literal["node", "cpu"]
MB = 1024
"""KB. Slurm divides whole MB."""


class Bounded(NamedTuple):
    """A request's numbers in a partition; memory is KB, as in :class:`Request`."""

    cpus_per_task: int
    least_cpus: int
    """Per node."""
    cpus: int
    """In all, at least."""
    memory: int | None
    memory_per: Per

    def of(self, request: Request) -> Request:
        """The request with these numbers."""
        return replace(
            request,
            cpus_per_task=self.cpus_per_task,
            least_cpus=self.least_cpus,
            memory=self.memory,
            memory_per=self.memory_per,
        )


def asked_memory(request: Request, partition: Partition) -> tuple[int | None, Per]:
    """KB per node or cpu: its own, else the partition's default; 0 is all of a node's."""
    if request.memory is not None:
        return request.memory, request.memory_per
    return partition.default_memory, partition.default_memory_per


def within_memory_bound(
    request: Request, partition: Partition, nodes: Mapping[str, Node]
) -> Request | None:
    """The request as the partition takes it; None where it may never run there.

    Rules
    -----
    More memory per cpu than a cpu may have: each task gets as many times the cpus, each with its
    part. Memory per node beyond that of the cpus: as many cpus as the memory needs, in whole tasks.
    A bound per node takes no more. A job that asks for no memory, where no default is set, asks
    for that of the partition's first node.

    Examples
    --------
    >>> from shadowtime.cluster.site import Partition
    >>> from shadowtime.workload.request import Request
    >>> part = Partition(name="p", nodes=("a",), max_memory=2000 * MB)
    >>> one = within_memory_bound(Request(tasks=4, memory=3000 * MB, memory_per="cpu"), part, {})
    >>> one.cpus, one.memory // MB
    (8, 1500)
    >>> within_memory_bound(Request(tasks=2, memory=9000 * MB), part, {}).cpus
    6
    >>> part = Partition(name="p", nodes=("a",), max_memory=2000 * MB, max_memory_per="node")
    >>> within_memory_bound(Request(memory=9000 * MB), part, {}) is None
    True
    """
    found = bounded(request, partition, nodes)
    if found is None:
        return None
    each = max(found.cpus_per_task, request.cpus_per_task)
    least = max(found.least_cpus, request.least_cpus or 0)
    if (each, found.memory) == (request.cpus_per_task, request.memory) and least <= _known(request):
        return request
    return found._replace(cpus_per_task=each, least_cpus=least).of(request)


def bounded(
    request: Request,
    partition: Partition,
    nodes: Mapping[str, Node],
    *,
    in_tasks: bool = True,
) -> Bounded | None:
    """The numbers that Slurm goes on with, which may be fewer cpus than were asked for.

    ``in_tasks``: cpus for a node's memory are given in whole tasks; before, nodes had to have
    them free.
    """
    most = partition.max_memory
    own = Bounded(
        request.cpus_per_task,
        _known(request),
        max(request.cpus, request.nodes),
        request.memory,
        request.memory_per,
    )
    if most is None:
        return own
    memory, per = asked_memory(request, partition)
    if not memory:
        first = nodes.get(partition.nodes[0]) if partition.nodes else None
        memory, per = first.real_memory if first else 0, "node"
    if per == "cpu" and partition.max_memory_per == "cpu":
        times = -(-memory // most)
        if times <= 1:
            return own
        unit = 1 if memory % MB else MB
        each = request.cpus_per_task * times
        part = -(-memory // (times * unit)) * unit
        return Bounded(each, own.least_cpus * times, request.tasks * each, part, "cpu")
    if per == "cpu":
        fits = memory * _cpus_on_a_node(request, partition, nodes) <= most
        return own if fits else None
    if partition.max_memory_per == "node":
        return own if memory <= most else None
    least = -(-memory // most)
    if own.least_cpus >= least:
        return own
    tasks = request.tasks_per_node
    if not in_tasks:
        each = -(-least // tasks) if tasks else 1
        return own._replace(cpus_per_task=each, least_cpus=least)
    if tasks:
        each = -(-least // tasks)
        cpus = max(own.cpus, least)
        return own._replace(cpus_per_task=each, least_cpus=each * tasks, cpus=cpus)
    each = -(-least * request.nodes // request.tasks)
    least = each * request.tasks // request.nodes
    return own._replace(cpus_per_task=each, least_cpus=least, cpus=least)


def _known(request: Request) -> int:
    """The cpus that each of its nodes must give by what it asks for."""
    of_tasks = max(request.tasks_per_node or 1, 1) * request.cpus_per_task
    return max(of_tasks, request.least_cpus or 0)


def _cpus_on_a_node(request: Request, partition: Partition, nodes: Mapping[str, Node]) -> int:
    """The fewest that it could have on one."""
    if request.exclusive or partition.exclusive:
        return max((nodes[name].amounts[0] for name in partition.nodes if name in nodes), default=1)
    tasks = max(request.tasks_per_node or 1, 1)
    if request.max_nodes:
        tasks = max(tasks, -(-request.tasks // request.max_nodes))
    return max(tasks * request.cpus_per_task, request.least_cpus or 0)
