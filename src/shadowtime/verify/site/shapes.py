"""What a job asks of a site: a shape for each partition and set of features, as lists of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

ALL = 10**9
FOREVER = (1 << 40) - 1

Vector = tuple[int, ...]
Tasks = dict[int, int]


@dataclass(frozen=True)
class Shape:
    """A request in one partition."""

    partition: Any
    nodes: tuple[int, ...]  # in the order in which they are tried
    wanted: frozenset[int]
    tasks: int
    least: int
    most: int
    per_node: int
    task: tuple[Fraction, ...]
    fixed: Vector
    floor: int
    all_memory: bool
    exclusive: bool
    reservation: Any
    request: Any
    in_a_row: bool = False
    counts: tuple[tuple[int, frozenset[int]], ...] = ()
    """(k, nodes): k of the nodes used are these, each for one count alone."""
    group: int = 0
    """Class partitioning: 1 or 2, the class of the nodes."""


def feature_holds(text: str, have: frozenset[str]) -> bool:
    """Features with & | ! and brackets: or of ands of features; k of ``x*k`` does not matter."""
    text = text.strip()
    if not text:
        return True
    for mark, all_or_any in (("|", any), ("&", all)):
        terms = split(text, mark)
        if len(terms) > 1:
            return all_or_any(feature_holds(term, have) for term in terms)
    if text.startswith("!"):
        return not feature_holds(text[1:], have)
    if text[0] in "([":
        return feature_holds(text[1 : text.rindex(")" if text[0] == "(" else "]")], have)
    return text.split("*")[0] in have


def split(text: str, mark: str) -> list[str]:
    """The parts between marks that lie in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def ways(text: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each way to satisfy features: what every node has, and (features, k) for k of them."""
    text = text.strip()
    options = split(text[1:-1], "|") if text.startswith("[") and text.endswith("]") else [text]
    found = []
    for option in options:
        each, counts = [], []
        for term in split(option, "&"):
            what, star, count = term.rpartition("*")
            if star:
                counts.append((what, int(count)))
            else:
                each.append(term)
        found.append(("&".join(each), counts))
    return found


Counts = tuple[tuple[int, frozenset[int]], ...]


def counted(left: set[tuple[int, ...]], counts: Counts, node: int) -> set[tuple[int, ...]]:
    """What may be left of each count once a node counts for one of them, or for none."""
    return left | {
        (*some[:at], some[at] - 1, *some[at + 1 :])
        for some in left
        for at, (_, nodes) in enumerate(counts)
        if some[at] > 0 and node in nodes
    }


def missing(counts: Counts, used: list[int]) -> int:
    """Nodes still needed beside those used, whichever each of these counts for."""
    left = {tuple(k for k, _ in counts)}
    for node in used:
        left = counted(left, counts, node)
    return min(sum(some) for some in left)


def possible(shape: Shape, room: Tasks) -> bool:
    """Is there any set of nodes that holds the shape within its bounds and counts?"""
    # the most tasks by (nodes used, what is left of each count)
    best = {(0, tuple(k for k, _ in shape.counts)): 0}
    for node, holds in room.items():
        more = {} if node in shape.wanted else dict(best)
        for (used, some), tasks in best.items():
            for fewer in counted({some}, shape.counts, node):
                key = (used + 1, fewer)
                more[key] = max(more.get(key, 0), tasks + holds)
        best = more
    most = min(shape.most, shape.tasks)
    return shape.wanted <= set(room) and any(
        shape.least <= used <= most and tasks >= shape.tasks and not any(some)
        for (used, some), tasks in best.items()
    )


def bounded(site: Any, request: Any, partition: Any) -> Any:
    """The request with the cpus that its memory costs in the partition; None: too much memory."""
    bound = partition.max_memory
    if bound is None:
        return request
    asked, per = request.memory, request.memory_per
    if asked is None:
        asked, per = partition.default_memory, partition.default_memory_per
    known = {node.name: node for node in site.nodes}
    if not asked:
        asked, per = known[partition.nodes[0]].real_memory, "node"
    tasks = request.tasks_per_node or 1
    if request.max_nodes:
        tasks = max(tasks, math.ceil(request.tasks / request.max_nodes))
    cpus = max(tasks * request.cpus_per_task, request.least_cpus or 0)
    if request.exclusive or partition.exclusive:
        cpus = max(known[name].amounts[0] for name in partition.nodes)
    if partition.max_memory_per == "node":
        return request if asked * (cpus if per == "cpu" else 1) <= bound else None
    times = math.ceil(Fraction(asked, bound))
    if per == "cpu":
        if times <= 1:
            return request
        step = 1024 if asked % 1024 == 0 else 1
        part = math.ceil(Fraction(asked, times * step)) * step
        more = request.cpus_per_task * times
        return replace(request, cpus_per_task=more, memory=part, memory_per="cpu")
    already = max((request.tasks_per_node or 1) * request.cpus_per_task, request.least_cpus or 0)
    if times <= already:
        return request
    if request.tasks_per_node:
        each = math.ceil(Fraction(times, request.tasks_per_node))
    else:
        each = math.ceil(Fraction(times * request.nodes, request.tasks))
    return replace(request, cpus_per_task=max(each, request.cpus_per_task))


def shape_of(
    site: Any, request: Any, partition: Any, way: tuple[str, list[tuple[str, int]]] | None = None
) -> Shape | None:
    """None where the partition's own bounds rule the request out."""
    request = bounded(site, request, partition)
    if request is None:
        return None
    features, counted = way or ways(request.features)[0]
    if request.contiguous and not request.wanted:
        counted = []
    index = {node.name: i for i, node in enumerate(site.nodes)}
    of_nodes = tuple(
        (k, frozenset(i for i, n in enumerate(site.nodes) if feature_holds(what, n.features)))
        for what, k in counted
    )
    names = list(site.resources)
    zero = [0] * len(names)
    tasks = max(request.tasks, request.nodes)
    named = [index[name] for name in request.wanted]
    least = max(request.nodes, len(named) + missing(of_nodes, named), partition.min_nodes or 0)
    tasks = max(tasks, least)
    most = tasks if request.max_nodes is None else max(min(request.max_nodes, tasks), least)
    if partition.max_nodes is not None:
        most = min(most, partition.max_nodes)
    if least > most:
        return None
    # What is handed out to the nodes: tasks, or the pieces of a GRES that divides neither by the
    # tasks nor by the nodes. A piece then carries its part of the tasks.
    even = [
        gres.per != "job" or gres.count % tasks == 0 or (least == most and gres.count % least == 0)
        for gres in request.gres
    ]
    counts = [gres.count for gres, good in zip(request.gres, even, strict=True) if not good]
    pieces = counts[0] if counts else tasks
    most = min(most, pieces)
    if least > most:
        return None
    each = Fraction(tasks, pieces)
    task: list[Fraction] = [Fraction(0)] * len(names)
    fixed, floor, unknown = list(zero), 0, False
    cpus = request.cpus_per_task * each
    for gres, good in zip(request.gres, even, strict=True):
        per, count = gres.per, Fraction(gres.count)
        if not good:
            per, count = "piece", count / pieces
        elif per == "job" and gres.count % tasks == 0:
            per, count = "piece", count / tasks * each
        elif per == "job":
            per, count = "node", count / least
        elif per == "task":
            per, count = "piece", count * each
        for name in {gres.name, gres.name.split(":")[0]}:
            if name not in names:
                unknown = True
            elif per == "piece":
                task[names.index(name)] += count
            else:
                fixed[names.index(name)] += int(count)
        beside = request.cpus_per_gpu
        if beside is None and request.cpus_per_task == 1:
            beside = partition.default_cpus_per_gpu
        if beside and gres.name.split(":")[0] == "gpu":
            if per == "piece":
                cpus = max(cpus, count * beside)
            else:
                floor = max(floor, int(count) * beside)
    if unknown:
        return None
    task[0] += cpus
    memory, per = request.memory, request.memory_per
    if memory is None and partition.default_memory is not None:
        memory, per = partition.default_memory, partition.default_memory_per
    all_memory = False
    if "memory" in names and memory is not None:
        if memory == 0:
            all_memory = True
        elif per == "cpu":
            task[names.index("memory")] += memory * cpus
        else:
            fixed[names.index("memory")] += memory
    per_node = pieces
    if request.tasks_per_node is not None:
        per_node = request.tasks_per_node / each
        # A piece is less than a task: the last one on a node may reach into the next task.
        per_node = math.ceil(per_node) if pieces > tasks else math.floor(per_node)
    if partition.max_cpus_per_node is not None:
        per_node = min(per_node, math.floor(partition.max_cpus_per_node / cpus))
    reservation = None
    if request.reservation:
        reservation = next((r for r in site.reservations if r.name == request.reservation), None)
        if reservation is None:
            return None
    nodes = [
        index[name]
        for name in partition.nodes
        if name not in request.excluded
        and feature_holds(features, site.nodes[index[name]].features)
        and (reservation is None or name in reservation.nodes)
    ]
    wanted = frozenset(index[name] for name in request.wanted)
    if not wanted <= set(nodes):
        return None
    in_a_row = request.contiguous and not wanted
    if in_a_row:
        nodes.sort()
    else:
        nodes.sort(key=lambda i: (i not in wanted, site.nodes[i].weight, i))
    if most == 1:  # a single node: what is counted is a feature of every node of the job
        nodes = [i for i in nodes if all(i in those for _, those in of_nodes)]
        of_nodes = ()
    return Shape(
        partition=partition,
        nodes=tuple(nodes),
        wanted=wanted,
        tasks=pieces,
        least=least,
        most=most,
        per_node=per_node,
        task=tuple(task),
        fixed=tuple(fixed),
        floor=floor,
        all_memory=all_memory,
        exclusive=request.exclusive or partition.exclusive,
        reservation=reservation,
        request=request,
        in_a_row=in_a_row,
        counts=tuple((k, those & set(nodes)) for k, those in of_nodes),
    )


def asked_of(shape: Shape) -> list[int]:
    """The least that a shape takes in all, by resource."""
    both = zip(shape.task, shape.fixed, strict=True)
    return [int(shape.tasks * t) + shape.least * f for t, f in both]


@dataclass(frozen=True)
class EveryNode:
    """The partition of a site without partitions."""

    nodes: tuple[str, ...]
    name: str = ""
    max_time: int | None = None
    min_nodes: int = 0
    max_nodes: int | None = None
    max_cpus_per_node: int | None = None
    default_cpus_per_gpu: int | None = None
    tier: int = 1
    exclusive: bool = False
    default_memory: int | None = None
    default_memory_per: str = "cpu"
    max_memory: int | None = None
    qos: str = ""
    up: bool = True
