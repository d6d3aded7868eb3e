"""What a job asks of a site, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.machine import memory
from shadowtime.report.numbers import number

if TYPE_CHECKING:
    from shadowtime.workload.request import Request


def asked_words(request: Request, *, partition: str = "") -> str:
    """Cpus, nodes, memory, GRES and where, as the object of "asks for".

    ``partition`` is the log's own, for a job that names none.

    Examples
    --------
    >>> from shadowtime.workload.request import Gres, Request
    >>> asked_words(Request(nodes=2, tasks=8, memory=4 << 20, partitions=("long", "all")))
    '8 cpus on 2 nodes with 4 GB memory per node in partition long or all'
    >>> asked_words(Request(gres=(Gres(name="gpu", count=1),), features="fast"), partition="p")
    '1 cpu on 1 node with 1 gpu per node on nodes with fast in partition p'
    >>> asked_words(Request(memory=0, exclusive=True, wanted=("n1",)))
    '1 cpu on 1 node alone with all memory of its nodes on n1'
    """
    parts = [_count(request.cpus, "cpu"), f"on {_nodes(request)}"]
    if request.exclusive:
        parts.append("alone")
    holds = [*_memory(request), *(f"{one.count} {one.name} per {one.per}" for one in request.gres)]
    holds += [f"licence {name} ({count})" for name, count in request.licences]
    if holds:
        parts.append(f"with {' and '.join(holds)}")
    if request.features:
        parts.append(f"on nodes with {request.features}")
    if request.wanted:
        parts.append(f"on {','.join(request.wanted)}")
    if request.excluded:
        parts.append(f"not on {','.join(request.excluded)}")
    where = " or ".join(request.partitions) or partition
    if where:
        parts.append(f"in partition {where}")
    if request.reservation:
        parts.append(f"in reservation {request.reservation}")
    return " ".join(parts)


def _nodes(request: Request) -> str:
    if request.max_nodes is None or request.max_nodes == request.nodes:
        return _count(request.nodes, "node")
    return f"{number(request.nodes)} to {_count(request.max_nodes, 'node')}"


def _memory(request: Request) -> list[str]:
    if request.memory is None:
        return []
    if request.memory == 0:
        return ["all memory of its nodes"]
    return [f"{memory(request.memory)} memory per {request.memory_per}"]


def _count(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"
