"""What was known at a moment of a log: the site, and what running jobs hold of each node.

Of the site no failure, drain or reservation of later; what jobs hold as far as a log tells, and as
requests that fit there.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shadowtime.cluster.memory_bound import asked_memory
from shadowtime.cluster.site import FOREVER, Site
from shadowtime.slurmtext.hostlist import expand
from shadowtime.types import Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests


def pieces_on(
    held: Mapping[str, int],
    *,
    nodes: Mapping[str, int],
    like: Request,
    memory: Mapping[str, int] | None = None,
    gpus: Mapping[str, int] | None = None,
) -> tuple[Request, ...]:
    """What a running job holds, as requests that fit there and nowhere else.

    One where it holds the same on each of its nodes, so that whoever preempts it gets them all;
    else one for each node. ``held`` are its cpus by node, ``nodes`` the cpus of the nodes that can
    be used, ``like`` what it requested: limits count its QOS and account, and the job once.
    """
    made: list[Request] = []
    for name, count in held.items():
        if name not in nodes:
            continue
        cards = (gpus or {}).get(name, 0)
        made.append(
            Request(
                max_nodes=1,
                tasks=min(max(1, count), nodes[name]),
                memory=(memory or {}).get(name, 0) or 1,
                gres=(Gres(name="gpu", count=cards),) if cards else (),
                partitions=like.partitions[:1],
                qos=like.qos,
                account=like.account,
                reservation=like.reservation,
                wanted=(name,),
                counts=not made,
                amounts=() if made else like.amounts,
            )
        )
    first, names = made[0] if made else None, [one.wanted[0] for one in made]
    if first is None or any(
        replace(one, wanted=first.wanted, counts=True, amounts=first.amounts) != first
        for one in made
    ):
        return tuple(made)
    count = len(made)
    return (
        replace(
            first,
            nodes=count,
            max_nodes=count,
            tasks=count * first.tasks,
            tasks_per_node=first.tasks,
            wanted=tuple(names),
        ),
    )


def even(names: Sequence[str], cpus: int) -> dict[str, int]:
    """Cpus distributed evenly where nothing tells how they are.

    Examples
    --------
    >>> even(["a", "b", "c"], 7)
    {'a': 3, 'b': 2, 'c': 2}
    """
    each, rest = divmod(max(cpus, len(names)), len(names)) if names else (0, 0)
    return {name: each + (k < rest) for k, name in enumerate(names)}


def held_by(workload: Workload, requests: Requests, site: Site, runs: Ints) -> list[dict[str, int]]:
    """Cpus by node of each job of a log, of which accounting tells the nodes and the sum.

    Rules
    -----
    ``runs`` are starts and ends. As Slurm does, a job fills its nodes in their order (weight, place
    in the site), each with what others that run leave free there of cpus and memory, so that every
    further one has a task. Where that is less than the job has, it is spread evenly.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node
    >>> site = Site(nodes=(Node(name="a", amounts=(8,)), Node(name="b", amounts=(8,))))
    >>> jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[5, 6],
    ...     extra={"node_list": np.array([1, 2])}, names={"node_list": ("", "a", "a,b")})
    >>> asked = Requests.of_jobs([Request(tasks=5), Request(tasks=6)])
    >>> held_by(jobs, asked, site, np.array([[0, 9], [0, 9]]))
    [{'a': 5}, {'a': 3, 'b': 3}]
    """
    found: list[dict[str, int]] = [{} for _ in range(len(workload))]
    number = workload.extra.get("node_list")
    if number is None:
        return found
    nodes = site.nodes_by_name
    order = {one.name: (one.weight, at) for at, one in enumerate(site.nodes)}
    free = {one.name: one.amounts[0] for one in site.nodes}
    at = site.resources.index("memory") if "memory" in site.resources else -1
    room = {one.name: one.amounts[at] if at >= 0 else 0 for one in site.nodes}
    ends: list[tuple[int, int]] = []
    for row in np.argsort(runs[:, 0], kind="stable").tolist():
        text = workload.name_of("node_list", int(number[row]))
        names = expand(text) if text else []
        start, end = runs[row].tolist()
        cpus, request = int(workload.procs[row]), requests[row]
        if start < 0 or not any(name in nodes for name in names):
            found[row] = even(names, cpus)
            continue
        while ends and ends[0][0] <= start:
            _, gone = heapq.heappop(ends)
            for name, held in memory_on(site, requests[gone], found[gone]).items():
                room[name] += held
            for name, count in found[gone].items():
                free[name] = free.get(name, 0) + count
        names.sort(key=lambda name: order.get(name, (0, 0)))
        if request.exclusive:
            found[row] = {name: nodes[name].amounts[0] for name in names if name in nodes}
        else:
            each = memory_on(site, request, dict.fromkeys(names, 1))
            by_cpu = _memory(site, request)[1] == "cpu"
            may = {
                name: min(free.get(name, 0), room[name] // each[name])
                if by_cpu and each.get(name)
                else free.get(name, 0)
                for name in names
            }
            found[row] = _filled(names, cpus, request, may) or even(names, cpus)
        for name, count in found[row].items():
            free[name] = free.get(name, 0) - count
        for name, held in memory_on(site, request, found[row]).items():
            room[name] -= held
        heapq.heappush(ends, (end, row))
    return found


def _filled(
    names: Sequence[str], cpus: int, request: Request, free: Mapping[str, int]
) -> dict[str, int]:
    """Each node with what is free, while the later ones keep a task; nothing if that is too few."""
    each, left = request.cpus_per_task, cpus
    most = (request.tasks_per_node or cpus) * each
    made = {}
    for behind, name in zip(range(len(names) - 1, -1, -1), names, strict=True):
        take = min(free[name], most, left - behind * each) // each * each
        if take <= 0:
            return {}
        made[name] = take
        left -= take
    return made if left == 0 else {}


def _memory(site: Site, request: Request) -> tuple[int | None, str]:
    """KB that a job asks for, or its partition's default, and whether by cpu or by node."""
    place = next((one for one in site.partitions if one.name in request.partitions), None)
    if place is None:
        return request.memory, request.memory_per
    return asked_memory(request, place)


def memory_on(site: Site, request: Request, held: Mapping[str, int]) -> dict[str, int]:
    """KB that a job with these cpus holds by node; where it asks for 0, all of a node's.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node
    >>> site = Site(nodes=(Node(name="a", amounts=(8, 900)),), resources=("cpus", "memory"))
    >>> [memory_on(site, Request(memory=m, memory_per="cpu"), {"a": 2}) for m in (30, 0, None)]
    [{'a': 60}, {'a': 900}, {'a': 0}]
    """
    if "memory" not in site.resources:
        return {}
    at = site.resources.index("memory")
    nodes = site.nodes_by_name
    there = {name: nodes[name].amounts[at] for name in held if name in nodes}
    asked, per = _memory(site, request)
    if asked == 0:
        return there
    return {name: (asked or 0) * (held[name] if per == "cpu" else 1) for name in there}


def unusable(site: Site, now: int) -> frozenset[str]:
    """The nodes that take no jobs at a time, in seconds since 1970."""
    return frozenset(one.node for one in site.outages if one.begin <= now < one.end)


def as_known(site: Site, now: int) -> Site:
    """The site with what could be known of it at a time, in seconds since 1970.

    Rules
    -----
    A node that is out stays out: nobody knows until when. An outage that begins later counts if it
    was known by then, a reservation unless it was created later.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Outage, Site
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), outages=(
    ...     Outage(node="a", begin=10, end=20), Outage(node="a", begin=30, end=40),
    ...     Outage(node="a", begin=50, end=60, known_at=15)))
    >>> [(one.begin, one.end == FOREVER) for one in as_known(site, 16).outages]
    [(10, True), (50, False)]
    """
    if not site.outages and not site.reservations:
        return site
    out = [replace(one, end=FOREVER) for one in site.outages if one.begin <= now < one.end]
    planned = [
        one
        for one in site.outages
        if one.begin > now and one.known_at is not None and one.known_at <= now
    ]
    return site.replace(
        outages=(*out, *planned),
        reservations=tuple(
            one for one in site.reservations if one.known_at is None or one.known_at <= now
        ),
    )


def reserved_from(site: Site, piece: Request, now: int) -> int | None:
    """When nodes that a running job holds are reserved for others next; None: never.

    Slurm starts nothing that would run into a reservation, but what runs may have begun before the
    reservation was made.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Reservation, Site
    >>> from shadowtime.workload.request import Request
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),), reservations=(
    ...     Reservation(name="r", nodes=("a",), begin=10, end=20),))
    >>> held = Request(wanted=("a",))
    >>> [reserved_from(site, held, now) for now in (5, 15, 25)]
    [10, 10, None]
    >>> reserved_from(site, Request(wanted=("a",), reservation="r"), 5)
    """
    return min(
        (
            one.begin
            for one in site.reservations
            if one.end > now and one.name != piece.reservation and {*one.nodes} & {*piece.wanted}
        ),
        default=None,
    )
