"""Slow, obvious reference of every policy on a site, from docs/decisions/site.md alone.

Plain lists and dictionaries, one rule per function, no cleverness. Site and Request are the
package's values; everything that is decided is decided here. A plan is a dictionary node -> tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from shadowtime.verify.multifactor import Priority
from shadowtime.verify.orders import KEYS, Key
from shadowtime.verify.site_slots import Asked
from shadowtime.verify.world import (
    BACKFILLED,
    CORRECTIONS,
    HEAD,
    PREEMPTING,
    RESERVED,
    Estimates,
    Job,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.verify.slots import Functions

ALL = 10**9
FOREVER = (1 << 40) - 1

Vector = tuple[int, ...]
Tasks = dict[int, int]


# ----------------------------------------------------------------------------- shapes
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


def shape_of(
    site: Any, request: Any, partition: Any, way: tuple[str, list[tuple[str, int]]] | None = None
) -> Shape | None:
    """None where the partition's own bounds rule the request out."""
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
        if request.cpus_per_gpu and gres.name.split(":")[0] == "gpu":
            if per == "piece":
                cpus = max(cpus, count * request.cpus_per_gpu)
            else:
                floor = max(floor, int(count) * request.cpus_per_gpu)
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
    tier: int = 1
    exclusive: bool = False
    default_memory: int | None = None
    default_memory_per: str = "cpu"
    qos: str = ""
    up: bool = True


# ----------------------------------------------------------------------------- the world
@dataclass
class Run:
    job: Job
    start: int
    shape: Shape
    tasks: Tasks
    frozen: int
    estimate: int
    corrections: int = 0
    saved: int = 0  # seconds of its work that earlier attempts left behind
    restart: int = 0  # seconds that go into starting again

    @property
    def end(self) -> int:
        return self.start + self.restart + self.job.effective_run - self.saved

    def left_of(self, whole: int) -> int:
        """What this attempt takes if the whole job takes so long: a second of work at least."""
        return self.restart + max(1, whole - self.saved)

    def expected_end(self, now: int) -> int:
        latest = self.start + self.restart + self.job.request - self.saved
        if self.start + self.estimate > now:
            return self.start + self.estimate
        return latest if latest > now else now + 1


@dataclass(frozen=True)
class Held:
    node: int | str  # an amount of the site by its name
    start: int
    end: int
    amounts: Vector


@dataclass(frozen=True)
class Closing:
    """A node closed during [begin, end), once known; to all but jobs of that reservation."""

    node: int
    begin: int
    end: int
    known: int
    reservation: str = ""
    failure: bool = False


@dataclass
class Plan:
    start: int
    shape: Shape
    tasks: Tasks


@dataclass
class SiteWorld:
    site: Any
    workload: Any
    rule: str
    jobs: list[Job]
    estimates: Estimates
    shapes: list[list[Shape]]
    closings: list[Closing]
    now: int = -1
    pending: list[int] = field(default_factory=list)  # submitted, not in the queue
    waiting: list[int] = field(default_factory=list)
    running: list[Run] = field(default_factory=list)
    last: dict[int, Run] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    over: dict[int, str] = field(default_factory=dict)  # row -> ended, cancelled, lost
    over_at: dict[int, int] = field(default_factory=dict)
    reason: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    blocked: dict[int, int] = field(default_factory=dict)
    attempts: list[tuple[int, int, int]] = field(default_factory=list)
    slipped: int = 0
    passes: int = 0
    promised_at: dict[int, int] = field(default_factory=dict)  # the pass that gave the promise
    left: int = 0
    """Runs that are over."""
    usage: dict[Any, int] = field(default_factory=dict)
    every: int = 0  # seconds of work between checkpoints; 1: suspended; 0: killed
    restart: int = 0  # seconds of starting again after a stop
    saved: dict[int, int] = field(default_factory=dict)  # row -> work that is behind it
    worked: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # (overhead, kept)
    priority: Priority | None = None
    tiers: dict[int, int] = field(default_factory=dict)
    times: int = 0
    planned: dict[int, list[int]] = field(default_factory=dict)
    """What the plans of this pass take on nodes of class one."""
    score: Callable[..., float] | None = None
    own: Asked | None = None
    """Functions of the user's own, where the policy brings some."""

    # -- amounts
    def capacity(self, node: int | str) -> Vector:
        if isinstance(node, str):
            return (self.site.amounts.get(node, 0),)
        return tuple(self.site.nodes[node].amounts)

    def parts(self, shape: Shape, tasks: Tasks) -> list[tuple[int | str, Vector]]:
        """What a place takes: on each node, and of each amount of the site."""
        nodes: list[tuple[int | str, Vector]] = [
            (node, self.takes(shape, node, count)) for node, count in tasks.items()
        ]
        return nodes + [(name, (count,)) for name, count in self.of_site(shape)]

    def of_site(self, shape: Shape) -> list[tuple[str, int]]:
        """What it takes of what the whole site has. A licence that the site does not name is not
        there; anything else that it does not name has no bound."""
        return [
            (name, count)
            for name, count in shape.request.amounts
            if name in self.site.amounts or name.startswith("license/")
        ]

    def takes(self, shape: Shape, node: int, tasks: int) -> Vector:
        if shape.exclusive:
            return self.capacity(node)
        amounts = [f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)]
        amounts[0] = max(amounts[0], shape.floor)
        if shape.all_memory:
            k = self.site.resources.index("memory")
            amounts[k] = self.capacity(node)[k]
        return tuple(amounts)

    def holds(self, shape: Shape, node: int, free: Vector) -> int:
        """How many tasks a node holds with certain amounts free."""
        if shape.exclusive and free != self.capacity(node):
            return 0
        most = 0
        for tasks in range(1, min(shape.per_node, shape.tasks) + 1):
            amounts = [
                f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)
            ]
            amounts[0] = max(amounts[0], shape.floor)
            if shape.all_memory:
                k = self.site.resources.index("memory")
                amounts[k] = max(amounts[k], self.capacity(node)[k])
            if not all(a <= f for a, f in zip(amounts, free, strict=True)):
                break  # more tasks take no less
            most = tasks
        return most

    def held_by_running(self) -> list[Held]:
        return [held for run in self.running for held in self.held_by_run(run)]

    def held_by_run(self, run: Run) -> list[Held]:
        end = run.expected_end(self.now)
        return [Held(what, self.now, end, some) for what, some in self.parts(run.shape, run.tasks)]

    def held_by(self, plan: Plan, length: int) -> list[Held]:
        end = plan.start + length
        return [
            Held(what, plan.start, end, some) for what, some in self.parts(plan.shape, plan.tasks)
        ]

    def amounts_free(self, shape: Shape, held: list[Held], start: int, length: int) -> bool:
        return all(
            count <= self.free_during(held, name, start, length)[0]
            for name, count in self.of_site(shape)
        )

    def free_at(self, held: list[Held], node: int | str, when: int) -> Vector:
        free = list(self.capacity(node))
        for h in held:
            if h.node == node and h.start <= when < h.end:
                free = [a - b for a, b in zip(free, h.amounts, strict=True)]
        return tuple(free)

    def free_during(self, held: list[Held], node: int | str, start: int, length: int) -> Vector:
        moments = [start] + [h.start for h in held if h.node == node]
        free = self.free_at(held, node, start)
        for t in moments:
            if start <= t < start + length:
                free = tuple(map(min, free, self.free_at(held, node, t)))
        return free

    def closed(self, shape: Shape, node: int, start: int, length: int) -> bool:
        named = shape.reservation.name if shape.reservation is not None else None
        return any(
            c.node == node
            and c.known <= self.now
            and c.begin < start + length
            and start < c.end
            and (not c.reservation or c.reservation != named)
            for c in self.closings
        )

    # -- placing
    def in_cap(self, shape: Shape, node: int) -> int:
        """Tasks that may be planned on a node of class one beside the plans of this pass."""
        most = 0
        for tasks in range(1, shape.tasks + 1):
            taken = zip(self.planned[node], self.takes(shape, node, tasks), strict=True)
            bound = [self.times * amount for amount in self.capacity(node)]
            if all(a + b <= c for (a, b), c in zip(taken, bound, strict=True)):
                most = tasks
        return most

    def place(
        self,
        row: int,
        shape: Shape,
        held: list[Held],
        start: int,
        length: int,
        *,
        planning: bool = False,
        allowed: Callable[[Tasks], bool] | None = None,
    ) -> Tasks | None:
        """Tasks on named nodes for [start, start + length), None where the shape does not fit.

        ``allowed``: no node is used for more tasks, nor are nodes used together, than it allows.
        """
        if not self.reservation_open(shape, start, length):
            return None
        if not self.amounts_free(shape, held, start, length):
            return None
        room = {}
        for node in shape.nodes:
            if not self.closed(shape, node, start, length):
                holds = self.holds(shape, node, self.free_during(held, node, start, length))
                if planning and shape.group == 1:
                    holds = min(holds, self.in_cap(shape, node))
                if holds > 0:
                    room[node] = holds
        if allowed is not None:
            room = self.narrow(room, allowed)
        if not shape.wanted <= set(room):
            return None
        if shape.in_a_row:
            return self.row_of_nodes(shape, room, allowed)
        order = list(room)
        weight = {node: self.site.nodes[node].weight for node in room}
        first = {node: (node not in shape.wanted, weight[node]) for node in room}
        free = {node: self.free_at(held, node, start) for node in room}
        if shape.exclusive:
            free = {node: tuple(0 for _ in self.site.resources) for node in room}
        alone = [
            node
            for node in order
            if shape.least <= 1
            and room[node] >= shape.tasks
            and shape.wanted <= {node}
            and missing(shape.counts, [node]) == 0
        ]
        if allowed is not None:
            if len(room) < shape.least or sum(room.values()) < shape.tasks:
                return None
            found = self.place_by_rule(row, shape, room, order, first, free, alone, held, start)
            if found is not None and allowed(found):
                return found
            return self.search(shape, order, room, allowed)
        return self.place_by_rule(row, shape, room, order, first, free, alone, held, start)

    def under_limits(
        self,
        row: int,
        shape: Shape,
        held: list[Held],
        start: int,
        length: int,
        *,
        planning: bool = False,
        bare: bool = False,
    ) -> Tasks | None:
        """The rule's choice if the limits allow it; else a choice among what they allow.

        Slurm makes no second choice.
        """

        def allowed(tasks: Tasks) -> bool:
            return self.within(row, shape, tasks, bare=bare)

        tasks = self.place(row, shape, held, start, length, planning=planning)
        if tasks is None or allowed(tasks):
            return tasks
        if self.rule == "slurm":
            return None
        return self.place(row, shape, held, start, length, planning=planning, allowed=allowed)

    @staticmethod
    def narrow(room: Tasks, allowed: Callable[[Tasks], bool]) -> Tasks:
        """What each node holds within the limits by itself."""
        most = {
            node: max((k for k in range(1, held + 1) if allowed({node: k})), default=0)
            for node, held in room.items()
        }
        return {node: held for node, held in most.items() if held > 0}

    @staticmethod
    def search(
        shape: Shape, order: list[int], room: Tasks, allowed: Callable[[Tasks], bool]
    ) -> Tasks | None:
        """The first set of nodes in this order that is allowed; every one is tried."""

        def go_on(at: int, chosen: Tasks, left: int) -> Tasks | None:
            if left == 0 and len(chosen) >= shape.least:
                return chosen
            if at == len(order) or len(chosen) == shape.most:
                return None
            node = order[at]
            due = max(0, shape.least - len(chosen) - 1)
            usable = True
            if shape.counts:
                still = missing(shape.counts, [*chosen, node])
                due = max(due, still)
                usable = len(chosen) + 1 + still <= shape.most and due < left
            if usable:
                more = {**chosen, node: min(room[node], left - due)}
                if allowed(more):
                    found = go_on(at + 1, more, left - more[node])
                    if found is not None:
                        return found
            return None if node in shape.wanted else go_on(at + 1, chosen, left)

        return go_on(0, {}, shape.tasks)

    def place_by_rule(
        self,
        row: int,
        shape: Shape,
        room: Tasks,
        order: list[int],
        first: dict[int, tuple[bool, int]],
        free: dict[int, Vector],
        alone: list[int],
        held: list[Held],
        start: int,
    ) -> Tasks | None:
        """Among nodes with room; ``order`` is left as the rule sorts it."""
        if self.rule == "best-fit":
            if alone:
                best = min(alone, key=lambda n: (first[n], free[n], order.index(n)))
                return {best: shape.tasks}
            order.sort(key=lambda n: (first[n], free[n]))
        elif self.rule == "pack":
            if alone:
                best = min(alone, key=lambda n: (first[n], room[n], order.index(n)))
                return {best: shape.tasks}
            order.sort(key=lambda n: (first[n], -room[n]))
        elif self.rule == "spread":
            order.sort(key=lambda n: (first[n], -free[n][0]))
            dealt = self.deal(shape, order, room)
            if dealt is not None:
                return dealt
        elif self.rule == "slurm" and not shape.counts:
            cpus = {node: self.free_at(held, node, start)[0] for node in room}
            found = self.by_sets(shape, room, cpus)
            if found is not None:
                return found
        elif self.rule == "score":
            score = {node: self.scored(row, node, room, held, start) for node in room}
            order.sort(key=lambda n: (n not in shape.wanted, -score[n]))
        if self.rule not in ("spread", "slurm") or (self.rule == "slurm" and shape.counts):
            found = self.walk(shape, order, room)
            if found is not None:
                return found
        largest = sorted(room, key=lambda n: (n not in shape.wanted, -room[n]))
        found = self.walk(shape, largest, room)
        assert not shape.counts or (found is not None) == possible(shape, room)
        return found

    def scored(self, row: int, node: int, room: Tasks, held: list[Held], start: int) -> float:
        """The score of a node with room for a job by the user's function."""
        job, site = self.jobs[row], self.site
        weights = sorted({one.weight for one in site.nodes})
        seen = SimpleNamespace(
            submit=job.submit,
            wait=self.now - job.submit,
            request=job.request,
            estimate=self.estimate(row),
            user=job.user,
        )
        values = {
            "number": node,
            "weight": weights.index(site.nodes[node].weight),
            "room": room[node],
            "start": start,
        }
        for field_name, name in (("cpus", "cpus"), ("memory", "memory"), ("gpus", "gpu")):
            at = site.resources.index(name) if name in site.resources else None
            values[field_name] = -1 if at is None else self.capacity(node)[at]
            values[f"free_{field_name}"] = -1 if at is None else self.free_at(held, node, start)[at]
        assert self.score is not None
        return self.score(self.now, seen, SimpleNamespace(**values))

    @staticmethod
    def walk(shape: Shape, order: list[int], room: Tasks) -> Tasks | None:
        chosen: Tasks = {}
        left = shape.tasks
        for node in order:
            if (left == 0 and len(chosen) >= shape.least) or len(chosen) == shape.most:
                break
            due = max(0, shape.least - len(chosen) - 1)
            if shape.counts:
                still = missing(shape.counts, [*chosen, node])
                due = max(due, still)
                if len(chosen) + 1 + still > shape.most or due >= left:
                    continue
            chosen[node] = min(room[node], left - due)
            left -= chosen[node]
        return chosen if left == 0 and len(chosen) >= shape.least else None

    @staticmethod
    def deal(shape: Shape, order: list[int], room: Tasks) -> Tasks | None:
        most = min(shape.most, shape.tasks)
        nodes: list[int] = []
        for node in order:
            if len(nodes) + 1 + missing(shape.counts, [*nodes, node]) <= most:
                nodes.append(node)
        if len(nodes) < shape.least or sum(room[n] for n in nodes) < shape.tasks:
            return None
        if missing(shape.counts, nodes) > 0:
            return None
        chosen = {node: 0 for node in nodes}
        left = shape.tasks
        while left > 0:
            for node in nodes:
                if left > 0 and chosen[node] < room[node]:
                    chosen[node] += 1
                    left -= 1
        return chosen

    def by_sets(self, shape: Shape, room: Tasks, cpus: Tasks) -> Tasks | None:
        """Slurm: the best set of neighbours with equal weight, again and again."""
        chosen: Tasks = {}
        weight = {node: self.site.nodes[node].weight for node in room}

        def left() -> int:
            return shape.tasks - sum(chosen.values())

        def due() -> int:
            return max(0, shape.least - len(chosen))

        def done() -> bool:
            return left() == 0 and due() == 0

        def give(node: int) -> None:
            chosen[node] = min(room[node], left() - max(0, due() - 1))

        for node in room:
            if node in shape.wanted:
                give(node)
        sets: list[list[int]] = []
        for node in sorted(set(room) - shape.wanted):
            near = sets and sets[-1][-1] == node - 1 and weight[sets[-1][-1]] == weight[node]
            if near:
                sets[-1].append(node)
            else:
                sets.append([node])

        def rank(one: list[int]) -> tuple[int, bool, int, int]:
            enough = sum(room[n] for n in one) >= left() and len(one) >= due()
            size = sum(cpus[n] for n in one)
            return (weight[one[0]], not enough, size if enough else -size, one[0])

        while not done():
            if not sets or len(chosen) == shape.most:
                return None
            best = min(sets, key=rank)
            sets.remove(best)
            alone = [n for n in best if due() <= 1 and room[n] >= left()]
            if alone:
                give(min(alone, key=lambda n: (cpus[n], n)))
                continue
            for node in best:
                if not done() and len(chosen) < shape.most:
                    give(node)
        return chosen

    @staticmethod
    def row_of_nodes(
        shape: Shape, room: Tasks, allowed: Callable[[Tasks], bool] | None = None
    ) -> Tasks | None:
        """Neighbours alone: the first node from which as few as possible hold all tasks."""
        for begin in sorted(room):
            nodes = [begin]
            while len(nodes) < shape.least or sum(room[n] for n in nodes) < shape.tasks:
                if nodes[-1] + 1 not in room or len(nodes) == shape.most:
                    break
                nodes.append(nodes[-1] + 1)
            if len(nodes) >= shape.least and sum(room[n] for n in nodes) >= shape.tasks:
                found = SiteWorld.walk(shape, nodes, room)
                if allowed is None or (found is not None and allowed(found)):
                    return found
        return None

    def reservation_open(self, shape: Shape, start: int, length: int) -> bool:
        r = shape.reservation
        if r is None:
            return True
        epoch = self.workload.epoch or 0
        known = r.known_at is None or r.known_at - epoch <= self.now
        return bool(known and r.begin - epoch <= start and start + length <= r.end - epoch)

    def placeable(self, row: int, shape: Shape) -> bool:
        length = self.estimate(row)
        if not shape.partition.up:
            return False
        r = shape.reservation
        start = self.now
        if r is not None:
            start = max(start, r.begin - (self.workload.epoch or 0))
            if not self.reservation_open(shape, start, length):
                return False
        empty = self.room_when_empty(shape)
        room = [(node not in shape.wanted, -holds) for node, holds in empty.items()]
        if not shape.wanted <= set(empty):
            return False
        if shape.in_a_row:
            return self.row_of_nodes(shape, empty) is not None
        if shape.counts:
            return possible(shape, empty)
        best = [-h for _, h in sorted(room)][: shape.most]
        return len(room) >= shape.least and sum(best) >= shape.tasks

    def room_when_empty(self, shape: Shape) -> Tasks:
        """What the nodes that are not closed for good hold, if nothing runs."""
        gone = {
            c.node
            for c in self.closings
            if c.known <= self.now and c.end >= FOREVER and not c.reservation
        }
        room = {
            node: self.holds(shape, node, self.capacity(node))
            for node in shape.nodes
            if node not in gone
        }
        return {node: held for node, held in room.items() if held > 0}

    def allowed_when_empty(self, row: int, shape: Shape, *, bare: bool = False) -> bool:
        """Is there a place under the limits, if nothing holds the nodes?"""

        def allowed(tasks: Tasks) -> bool:
            return self.within(row, shape, tasks, bare=bare)

        if self.rule == "slurm" or not self.scopes(row, shape):
            return True
        room = self.narrow(self.room_when_empty(shape), allowed)
        if not shape.wanted <= set(room):
            return False
        if shape.in_a_row:
            return self.row_of_nodes(shape, room, allowed) is not None
        return self.search(shape, list(room), room, allowed) is not None

    def estimate(self, row: int) -> int:
        """What the job's next attempt is expected to take."""
        whole = self.estimates.of(self.jobs[row])
        if row not in self.saved:
            return whole
        return self.restart + max(1, whole - self.saved[row])

    def stop(self, row: int, run: Run) -> None:
        """A run ends before its job: it waits again, its work is lost or saved."""
        self.leave(row, run)
        self.attempts.append((run.job.id, run.start, self.now))
        self.waiting.append(row)
        starting = min(run.restart, self.now - run.start)
        work = run.saved + self.now - run.start - starting
        safe = work - work % self.every if self.every else 0
        self.worked.setdefault(row, []).append((starting, safe - run.saved))
        self.saved[row] = safe

    def earliest(
        self,
        row: int,
        shapes: list[Shape],
        held: list[Held],
        before: int = FOREVER,
        after: int = -1,
        *,
        bare: bool = False,
    ) -> Plan | None:
        length = self.estimate(row)
        rejected: list[Shape] = []
        times = {self.now, after} | {h.end for h in held} | {c.end for c in self.closings}
        for shape in shapes:
            if shape.reservation is not None:
                times.add(shape.reservation.begin - (self.workload.epoch or 0))
        for t in sorted(times):
            if max(self.now, after) <= t < before:
                for shape in shapes:
                    if shape in rejected:
                        continue
                    tasks = self.under_limits(row, shape, held, t, length, planning=True, bare=bare)
                    if tasks is not None:
                        return Plan(t, shape, tasks)
                    if self.rule == "slurm" and self.place(
                        row, shape, held, t, length, planning=True
                    ):
                        rejected.append(shape)  # Slurm chooses nodes, then rejects them
        return None

    # -- limits
    def charges(self, row: int, shape: Shape, tasks: Tasks | None) -> dict[Any, int]:
        """What a start adds to each counted bound: asked amounts, or those of a placement."""
        job = self.jobs[row]
        names = self.site.resources
        if tasks is None:
            used = asked_of(shape)
            nodes = shape.least
        else:
            used = [0] * len(names)
            for node, count in tasks.items():
                used = [a + b for a, b in zip(used, self.takes(shape, node, count), strict=True)]
            nodes = len(tasks)
        amounts = dict(zip(names, used, strict=True)) | {"nodes": nodes}
        found: dict[Any, int] = {}
        for scope, kind, bounds in self.scopes(row, shape):
            for what in ("jobs", "wall"):
                if getattr(bounds, f"{kind}_{what}", None) is not None:
                    found[scope, kind, what] = 1 if what == "jobs" else job.request
            for name, amount in amounts.items():
                if name in getattr(bounds, f"{kind}_resources"):
                    found[scope, kind, "resources", name] = amount
                if kind == "group" and name in bounds.group_run_minutes:
                    found[scope, kind, "run", name] = amount * job.request
                if kind == "group" and name in bounds.group_minutes:
                    found[scope, kind, "minutes", name] = amount * job.request
        return found

    def bound(self, row: int, shape: Shape, key: Any) -> int:
        for scope, kind, bounds in self.scopes(row, shape):
            if (scope, kind) == key[:2]:
                if key[2] in ("jobs", "wall"):
                    return int(getattr(bounds, f"{kind}_{key[2]}"))
                if key[2] == "resources":
                    return int(getattr(bounds, f"{kind}_resources")[key[3]])
                table = bounds.group_run_minutes if key[2] == "run" else bounds.group_minutes
                return 60 * int(table[key[3]])
        raise AssertionError(key)

    def scopes(self, row: int, shape: Shape) -> list[tuple[Any, str, Any]]:
        """(who shares the bound, which family of bounds, the bounds)."""
        if "limits" not in self.site.enforce:
            return []
        user, account = self.user(row), shape.request.account
        found: list[tuple[Any, str, Any]] = []
        for qos in dict.fromkeys((shape.request.qos, shape.partition.qos)):
            for q in self.site.qos:
                if q.name == qos:
                    found.append((("qos", qos), "group", q.limits))
                    found.append((("qos", qos, "user", user), "user", q.limits))
                    found.append((("qos", qos, "account", account), "account", q.limits))
        for a in self.chain(user, account, shape.partition.name):
            found.append((("assoc", a.account, a.user), "group", a.limits))
            found.append((("assoc", a.account, a.user, "user", user), "user", a.limits))
        return found

    def chain(self, user: str, account: str, partition: str) -> list[Any]:
        """The user's association (of the partition, else of all), its account and those above."""
        mine = [
            a for a in self.site.associations if (a.account, a.user) == (account, user) and user
        ]
        found = [a for a in mine if a.partition == partition]
        if not found:
            found = [a for a in mine if a.partition == ""]
        while account:
            above = [a for a in self.site.associations if a.account == account and not a.user]
            found += above
            account = above[0].parent if above else ""
        return found

    def user(self, row: int) -> str:
        number = int(self.workload.user[row])
        names = self.workload.names.get("user", ())
        if number < 0:
            return ""
        return names[number] if number < len(names) else str(number)

    def allowed_ever(self, row: int, shape: Shape) -> bool:
        """Bounds on the job alone."""
        job = self.jobs[row]
        if shape.partition.max_time is not None and job.request > shape.partition.max_time:
            return False
        if any(n > self.site.amounts.get(name, 0) for name, n in self.of_site(shape)):
            return False
        r = shape.reservation
        closed = r is not None and bool(r.users or r.accounts)
        mine = closed and (self.user(row) in r.users or shape.request.account in r.accounts)
        if closed and not mine:
            return False
        asked = asked_of(shape)
        amounts = dict(zip(self.site.resources, asked, strict=True)) | {"nodes": shape.least}
        for _, _, bounds in self.scopes(row, shape):
            if bounds.job_wall is not None and job.request > bounds.job_wall:
                return False
            for name, amount in amounts.items():
                if amount > bounds.job_resources.get(name, FOREVER):
                    return False
                if amount * job.request > 60 * bounds.job_minutes.get(name, FOREVER):
                    return False
        return True

    def bounded(self, row: int, shape: Shape) -> Shape:
        """No more tasks on a node than the bounds on a node's amounts allow."""

        def allowed(tasks: int) -> bool:
            amounts = [
                f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)
            ]
            amounts[0] = max(amounts[0], shape.floor)
            by_name = dict(zip(self.site.resources, amounts, strict=True))
            return all(
                by_name[name] <= bound
                for _, _, bounds in self.scopes(row, shape)
                for name, bound in bounds.job_node_resources.items()
                if name in by_name
            )

        most = max((n for n in range(1, shape.per_node + 1) if allowed(n)), default=0)
        return replace(shape, per_node=most)

    def within(self, row: int, shape: Shape, tasks: Tasks | None, *, bare: bool = False) -> bool:
        """``bare``: as if nothing were in use."""
        for key, amount in self.charges(row, shape, tasks).items():
            used = 0 if bare else self.usage.get(key, 0)
            if used + amount > self.bound(row, shape, key):
                return False
        return True

    def considered_ever(self, row: int) -> list[Shape]:
        return [
            shape
            for shape in self.shapes[row]
            if self.allowed_ever(row, shape) and shape.partition.up
        ]

    def considered(self, row: int) -> list[Shape]:
        return [
            shape
            for shape in self.shapes[row]
            if self.allowed_ever(row, shape)
            and self.placeable(row, shape)
            and self.within(row, shape, None)
            and self.allowed_when_empty(row, shape)
        ]

    # -- starts and ends
    def start(self, row: int, shape: Shape, tasks: Tasks, reason: int) -> None:
        whole, estimate = self.estimates.of(self.jobs[row]), self.estimate(row)
        run = Run(self.jobs[row], self.now, shape, tasks, whole, estimate)
        if row in self.saved:
            run.saved, run.restart = self.saved[row], self.restart
        for key, amount in self.charges(row, shape, tasks).items():
            self.usage[key] = self.usage.get(key, 0) + amount
        self.waiting.remove(row)
        self.running.append(run)
        self.last[row] = run
        self.started.add(row)
        self.reason[row] = reason

    def first_reason(self, row: int) -> int:
        return RESERVED if row in self.blocked else HEAD

    def leave(self, row: int, run: Run) -> None:
        """A run is over: what was counted is given back, minutes stay as they were used."""
        self.running.remove(run)
        self.left += 1
        for key, amount in self.charges(row, run.shape, run.tasks).items():
            self.usage[key] -= amount
            if len(key) > 2 and (key[2] == "minutes" or key[2] == "wall"):
                used = self.now - run.start
                self.usage[key] += amount // max(1, run.job.request) * used

    def row_of(self, run: Run) -> int:
        return next(i for i, job in enumerate(self.jobs) if job is run.job)

    def order(self, key: Callable[[Job, int], float] | None) -> list[int]:
        """The queue: tier, then the policy's key, then (submit, id)."""

        def rank(row: int) -> tuple[float, float, int]:
            value = 0.0
            if self.priority is not None:
                value = self.priority.of[row]
            elif self.own is not None and self.own.do.order is not None:
                value = self.own.call(self.own.do.order, row)
            elif key is not None:
                value = key(replace(self.jobs[row], request=self.estimate(row)), self.now)
            return (-self.tier(row), -value, row)

        return sorted(self.waiting, key=rank)

    def procs(self, row: int) -> int:
        """Processors that the job asks for, by its first shape."""
        return asked_of(self.shapes[row][0])[0] if self.shapes[row] else self.jobs[row].need[0]

    def tier(self, row: int) -> int:
        """The highest among the partitions in which the job may run at all."""
        if row not in self.tiers:
            may = [s for s in self.considered_ever(row) if s.per_node > 0]
            self.tiers[row] = max((s.partition.tier for s in may), default=0)
        return self.tiers[row]


# ----------------------------------------------------------------------------- the policies
@dataclass(frozen=True)
class Classes:
    """Class partitioning: n nodes for large jobs; others that ask for at most r hours may too."""

    nodes: int
    hours: float
    anywhere: bool
    above: int
    reservations: int = 2
    times: int = 2

    def one(self, site: Any) -> set[int]:
        """Class one: the widest nodes."""
        amounts = [node.amounts for node in site.nodes]
        order = sorted(range(len(amounts)), key=lambda i: ([-a for a in amounts[i]], i))
        return set(order[: self.nodes])

    def preference(self, procs: int, request: int) -> list[int]:
        if procs > self.above:
            return [1, 2] if self.anywhere else [1]
        return [2, 1] if request <= self.hours * 3600 else [2]


class NowhereError(Exception):
    """The classes leave a job nowhere to run."""


def in_class(shape: Shape, one: set[int], group: int) -> Shape | None:
    """The shape on the nodes of one class."""
    nodes = tuple(n for n in shape.nodes if (n in one) == (group == 1))
    if not nodes or not shape.wanted <= set(nodes):
        return None
    counts = tuple((k, those & set(nodes)) for k, those in shape.counts)
    return replace(shape, nodes=nodes, counts=counts, group=group)


@dataclass(frozen=True)
class Rules:
    """A policy: depth -1 is kept promises."""

    key: str | Key = "fcfs"
    depth: int = 1
    backfill: str = "in-order"
    place: str = "best-fit"
    estimate: object = "requested"
    compress: bool = True
    venture: bool = True
    preempt: bool = True
    prune: bool = False
    every: int = 0
    restart: int = 0
    score: Callable[..., float] | None = None
    """For place="score": the number of (now, job, node), higher first."""
    priority: dict[str, Any] | None = None
    """Settings of the multifactor priority, where that is the order."""
    classes: Classes | None = None
    own: Functions | None = None
    """Functions in slots."""
    every_pass: bool = False
    """Kept promises move up in the order of the key at every pass, newcomers in their turn."""
    sunny: bool = False
    """PV-EASY's pass, whatever overtakes."""

    @property
    def order(self) -> Key | None:
        """The key of the queue's order, None for that of arrival."""
        if isinstance(self.key, str):
            return None if self.key == "fcfs" else KEYS[self.key]
        return self.key


def try_start(world: SiteWorld, row: int, held: list[Held]) -> tuple[Shape, Tasks] | None:
    for shape in world.considered(row):
        tasks = world.under_limits(row, shape, held, world.now, world.estimate(row))
        if tasks is not None:
            return shape, tasks
    return None


def one_pass(world: SiteWorld, rules: Rules) -> None:
    """The general pass."""
    held = world.held_by_running()
    plans: list[Held] = []
    blocked, made, rest = False, 0, []
    own = world.own
    world.planned = {node: [0] * len(world.site.resources) for node in range(len(world.site.nodes))}
    in_two = 0
    for row in world.order(rules.order):
        if not world.considered(row):
            continue
        if blocked and (made >= rules.depth or rules.backfill == "never"):
            rest.append(row)
            continue
        found = try_start(world, row, held + plans)
        if found is not None and blocked and own is not None and not own.may_overtake(row):
            continue
        if found is not None:
            shape, tasks = found
            length = world.estimate(row)
            world.start(row, shape, tasks, BACKFILLED if blocked else world.first_reason(row))
            held += world.held_by(Plan(world.now, shape, tasks), length)
            continue
        if not world.considered(row) or fits_but_over_a_limit(world, row, held + plans):
            continue
        plan, start = None, None
        if made < rules.depth and (own is None or own.gets_plan(row)):
            shapes = world.considered(row)
            if rules.classes is not None:
                large = world.jobs[row].need[0] > rules.classes.above
                full = in_two >= rules.classes.reservations
                shapes = [s for s in shapes if (large if s.group == 1 else not full)]
            plan = world.earliest(row, shapes, held + plans)
            start = None if plan is None else plan.start
            if plan is not None and own is not None:
                after = own.not_before(row, plan.start)
                plan = world.earliest(row, shapes, held + plans, after=after) or plan
            if plan is not None:
                plans += world.held_by(plan, world.estimate(row))
                made += 1
                in_two += plan.shape.group == 2
                for node, count in plan.tasks.items():
                    more = world.takes(plan.shape, node, count)
                    both = zip(world.planned[node], more, strict=True)
                    world.planned[node] = [a + b for a, b in both]
        if not blocked:
            blocked = True
            chosen = own is not None and own.do.reserve is not None
            if start is not None and (row not in world.blocked or chosen):
                world.promised.setdefault(row, start)
            world.blocked.setdefault(row, world.now)
    if rules.backfill == "any":
        plans = []
    fill(world, rules, rest, held, plans)


def fits_but_over_a_limit(world: SiteWorld, row: int, held: list[Held]) -> bool:
    """A placement exists now, but what it would take passes a bound: the limit forbids it."""
    length = world.estimate(row)
    return any(
        world.place(row, shape, held, world.now, length) is not None
        for shape in world.considered(row)
    )


def fill(
    world: SiteWorld, rules: Rules, rest: list[int], held: list[Held], plans: list[Held]
) -> None:
    """The phases of the backfill part."""

    def begin(row: int, shape: Shape, tasks: Tasks) -> None:
        length = world.estimate(row)
        world.start(row, shape, tasks, BACKFILLED)
        held.extend(world.held_by(Plan(world.now, shape, tasks), length))

    if rules.backfill == "never":
        return
    if world.own is not None:
        key = world.own.do.key
        rest = [row for row in rest if world.own.may_overtake(row)]
        if key is not None:
            keys = {row: world.own.call(key, row) for row in rest}
            rest = sorted(rest, key=lambda row: (-world.tier(row), -keys[row], row))
    if rules.backfill in ("in-order", "any", "sjbf"):
        if rules.backfill == "sjbf":
            rest = sorted(rest, key=lambda row: (-world.tier(row), world.estimate(row)))
        for row in rest:
            found = try_start(world, row, held + plans)
            if found is not None:
                begin(row, *found)
        return
    frozen = shares(world, None)
    if rules.backfill.startswith("not-worse") or rules.backfill == "literal":
        for row in rest:
            found = try_start(world, row, held + plans)
            if found is None:
                continue
            before = frozen if rules.backfill == "not-worse-frozen" else shares(world, None)
            after = shares(world, row)
            if rules.backfill == "literal":
                keeps = sum(after) <= sum(frozen)
            else:
                keeps = max(after) * sum(before) <= max(before) * sum(after)
            if keeps:
                begin(row, *found)
        return
    name, once = rules.backfill.removesuffix("-one"), rules.backfill.endswith("-one")
    while True:
        able = [(row, f) for row in rest if (f := try_start(world, row, held + plans)) is not None]
        if not able:
            return
        if name == "balanced":
            row, found = min(able, key=lambda pair: (score(shares(world, pair[0])), pair[0]))
        else:
            use = shares(world, None)
            k = use.index(min(use))
            row, found = max(able, key=lambda pair: (asked(world, pair[0])[k], -pair[0]))
        begin(row, *found)
        rest.remove(row)
        if once:
            return


def asked(world: SiteWorld, row: int) -> list[int]:
    """What the job asks for in all, by its first shape."""
    return asked_of(world.shapes[row][0])


def shares(world: SiteWorld, row: int | None) -> list[Fraction]:
    """The share of each resource in use on the whole site, with the job."""
    used = [0] * len(world.site.resources)
    for run in world.running:
        for node, tasks in run.tasks.items():
            used = [a + b for a, b in zip(used, world.takes(run.shape, node, tasks), strict=True)]
    if row is not None:
        used = [a + b for a, b in zip(used, asked(world, row), strict=True)]
    have = list(world.site.total.values())
    return [Fraction(u, h) if h else Fraction(0) for u, h in zip(used, have, strict=True)]


def score(share: list[Fraction]) -> Fraction | float:
    """BB: max / avg * (1 - avg)."""
    average = sum(share, Fraction(0)) / len(share)
    return max(share) / average * (1 - average) if average else math.inf


def pv_easy(world: SiteWorld, rules: Rules) -> None:
    """PV-EASY: heads stop jobs they outrank on nodes they may use; venture backfilling."""

    def rank(row: int) -> tuple[int, int]:
        return (-world.tier(row), row)

    def runs_without(gone: list[Run]) -> list[Held]:
        kept = [run for run in world.running if run not in gone]
        return [held for run in kept for held in world.held_by_run(run)]

    def shadow(row: int) -> list[Run]:
        behind = [run for run in world.running if rank(world.row_of(run)) > rank(row)]
        return sorted(behind, key=lambda run: rank(world.row_of(run)), reverse=True)

    def wish(run: Run) -> float:
        """The function's number of a running job; the highest goes first, ties by rank."""
        own = world.own
        if own is None or own.do.victim is None:
            return 0.0
        return float(own.call(own.do.victim, world.row_of(run), run=run))

    def starts(row: int, gone: list[Run]) -> bool:
        return try_start(world, row, runs_without(gone)) is not None

    def choose_victims(row: int) -> list[Run]:
        shapes = world.considered_ever(row)
        usable: set[int | str] = {node for shape in shapes for node in shape.nodes}
        usable |= {name for shape in shapes for name, _ in world.of_site(shape)}
        victims: list[Run] = []
        for run in sorted(shadow(row), key=wish, reverse=True):
            if usable & {what for what, _ in world.parts(run.shape, run.tasks)}:
                victims.append(run)
                if starts(row, victims):
                    break
        else:
            return []
        if rules.prune:
            for run in reversed(list(victims)):
                others = [v for v in victims if v is not run]
                if starts(row, others):
                    victims = others
        return victims

    def begin(row: int, reason: int) -> bool:
        found = try_start(world, row, world.held_by_running())
        if found is not None:
            world.start(row, *found, reason)
        return found is not None

    passed: list[int] = []
    while True:
        queue = [row for row in sorted(world.waiting, key=rank) if row not in passed]
        if not queue:
            return
        head = queue[0]
        if begin(head, world.first_reason(head)):
            continue
        if not world.considered(head) or fits_but_over_a_limit(
            world, head, world.held_by_running()
        ):
            passed.append(head)
            continue
        victims = choose_victims(head) if rules.preempt else []
        if not victims:
            break
        for run in victims:
            world.stop(world.row_of(run), run)
        began = begin(head, PREEMPTING)
        assert began
    plan = world.earliest(head, world.considered(head), runs_without(shadow(head)))
    if head not in world.blocked:
        world.blocked[head] = world.now
        if plan is not None:
            world.promised[head] = plan.start
    if rules.backfill == "never":
        return
    reserved = plan.start if plan is not None else FOREVER
    rest = [row for row in sorted(world.waiting, key=rank) if row != head]
    safe = [row for row in rest if world.now + world.estimate(row) <= reserved]
    for row in sorted(safe, key=world.estimate):
        begin(row, BACKFILLED)
    if rules.venture:
        for row in rest:
            if row in world.waiting:
                begin(row, BACKFILLED)


class Conservative:
    """Conservative: plans that outlive the pass."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.plan: dict[int, Plan] = {}
        self.released = False
        self.withdrawn: dict[int, int] = {}
        """Runs that had left when a limit withdrew a job's promise: it waits for the next."""

    def held(self, world: SiteWorld, without: int | None = None) -> list[Held]:
        held = world.held_by_running()
        for row, plan in self.plan.items():
            if row != without:
                held += world.held_by(plan, world.estimate(row))
        return held

    def holds(self, world: SiteWorld, row: int, held: list[Held]) -> bool:
        plan, length = self.plan[row], world.estimate(row)
        if not world.reservation_open(plan.shape, plan.start, length) or plan.start < world.now:
            return False
        if not world.amounts_free(plan.shape, held, plan.start, length):
            return False
        for node, tasks in plan.tasks.items():
            free = world.free_during(held, node, plan.start, length)
            needs = world.takes(plan.shape, node, tasks)
            if world.closed(plan.shape, node, plan.start, length):
                return False
            if not all(a <= b for a, b in zip(needs, free, strict=True)):
                return False
        return True

    def one_pass(self, world: SiteWorld) -> None:
        for row in [row for row in self.plan if row not in world.waiting]:
            del self.plan[row]
        queue = world.order(self.rules.order)
        held, broken = world.held_by_running(), []
        for row in queue:
            if row in self.plan:
                if self.holds(world, row, held):
                    held += world.held_by(self.plan[row], world.estimate(row))
                else:
                    broken.append(row)
        for row in broken:
            del self.plan[row]
        for row in broken:
            world.slipped += 1
            self.give(world, row)
        if (self.released and self.rules.compress) or self.rules.every_pass:
            for row in queue:
                if row in self.plan:
                    self.improve(world, row)
                elif self.rules.every_pass and row not in broken:
                    self.give_first(world, row)
        self.released = False
        for row in queue:
            if row not in self.plan and row not in broken:
                self.give_first(world, row)
        self.start_due(world, queue)

    def give_first(self, world: SiteWorld, row: int) -> None:
        if self.withdrawn.get(row) == world.left:
            return
        self.give(world, row)
        if row in self.plan and row not in world.promised:
            world.promised[row] = self.plan[row].start

    def give(self, world: SiteWorld, row: int) -> None:
        plan = world.earliest(row, world.considered(row), self.held(world))
        if plan is not None:
            self.plan[row] = plan

    def improve(self, world: SiteWorld, row: int) -> None:
        before = self.plan[row].start
        shapes = [
            s for s in world.shapes[row] if world.allowed_ever(row, s) and world.placeable(row, s)
        ]
        plan = world.earliest(row, shapes, self.held(world, without=row), before, bare=True)
        if plan is not None:
            self.plan[row] = plan

    def start_due(self, world: SiteWorld, queue: list[int]) -> None:
        ahead = False
        for row in queue:
            if row not in self.plan:
                continue
            plan = self.plan[row]
            if plan.start > world.now and not self.rules.compress:
                for shape in world.considered(row):
                    tasks = world.under_limits(
                        row, shape, self.held(world, without=row), world.now, world.estimate(row)
                    )
                    if tasks is not None:
                        self.plan[row] = plan = Plan(world.now, shape, tasks)
                        break
            if plan.start > world.now:
                if not ahead and row not in world.blocked:
                    world.blocked[row] = world.now
                ahead = True
                continue
            del self.plan[row]
            if not world.within(row, plan.shape, plan.tasks):
                world.slipped += 1
                self.released = True
                self.withdrawn[row] = world.left
                continue
            world.start(
                row, plan.shape, plan.tasks, BACKFILLED if ahead else world.first_reason(row)
            )


# ----------------------------------------------------------------------------- one instant
def met(world: SiteWorld, row: int) -> bool:
    """Are the job's dependencies met?"""
    rows = {int(number): i for i, number in enumerate(world.workload.job_id)}
    verdicts: list[bool] = []
    one_of: list[bool] = []
    for d in world.workload.requests.dependencies:
        if d.job != row:
            continue
        if d.kind == "singleton":
            w = world.workload
            same = [
                i
                for i in range(row)
                if (w.user[i], w.executable[i]) == (w.user[row], w.executable[row])
            ]
            good = all(i in world.over for i in same)
        else:
            others = [rows[number] for number in d.on if number in rows]
            good = all(satisfied(world, d.kind, other) for other in others)
        (one_of if d.any_of else verdicts).append(good)
    return all(verdicts) and (not one_of or any(one_of))


def satisfied(world: SiteWorld, kind: str, other: int) -> bool:
    if kind == "after":
        return other in world.started or other in world.over
    if kind == "afterany":
        return other in world.over
    job, w = world.jobs[other], world.workload
    well = (
        world.over.get(other) == "ended"
        and job.run <= job.limit
        and int(w.status[other]) not in (0, 5)
    )
    return other in world.over and (well if kind != "afternotok" else not well)


def closings_of(site: Any, epoch: int) -> list[Closing]:
    index = {node.name: i for i, node in enumerate(site.nodes)}
    found = []
    for o in site.outages:
        begin = o.begin - epoch
        known = begin if o.known_at is None else min(begin, o.known_at - epoch)
        end = FOREVER if o.end >= FOREVER else o.end - epoch
        found.append(Closing(index[o.node], begin, end, known, failure=not o.drain))
    for r in site.reservations:
        known = -(1 << 60) if r.known_at is None else r.known_at - epoch
        begin, end = r.begin - epoch, FOREVER if r.end >= FOREVER else r.end - epoch
        found += [Closing(index[name], begin, end, known, r.name) for name in r.nodes]
    return found


def divide(world: SiteWorld, classes: Classes) -> None:
    """Every job's shapes on the nodes of each class that it may use, the preferred one first."""
    one = classes.one(world.site)

    def fits(row: int, shape: Shape) -> bool:
        room = {n: world.holds(shape, n, world.capacity(n)) for n in shape.nodes}
        able = {n: tasks for n, tasks in room.items() if tasks > 0}
        if not world.allowed_ever(row, shape) or not shape.partition.up:
            return False
        return (
            world.row_of_nodes(shape, able) is not None if shape.in_a_row else possible(shape, able)
        )

    for row, mine in enumerate(world.shapes):
        job = world.jobs[row]
        wished = int(world.workload.request[row])
        world.shapes[row] = [
            inside
            for group in classes.preference(job.need[0], wished)
            for shape in mine
            if (inside := in_class(shape, one, group)) is not None
        ]
        anywhere = any(fits(row, shape) for shape in mine)
        if anywhere and not any(fits(row, shape) for shape in world.shapes[row]):
            raise NowhereError(job.id)


def simulate(workload: Any, site: Any, rules: Rules, *, until: int = FOREVER) -> SiteWorld:
    """Go from instant to instant until nothing is left to happen, or until an instant."""
    w = workload
    asks = w.requests
    jobs = [
        Job(
            id=int(w.job_id[i]),
            submit=int(w.submit[i]),
            need=(int(w.demand[i, 0]),),
            request=max(1, int(w.request[i])),
            run=int(w.run[i]),
            limit=int(w.limit[i]),
            user=int(w.user[i]),
        )
        for i in range(len(w))
    ]
    partitions = list(site.partitions) or [EveryNode(tuple(n.name for n in site.nodes))]
    default = next((p for p in partitions if getattr(p, "default", False)), partitions[0])
    shapes: list[list[Shape]] = []
    for i in range(len(w)):
        request = asks[i]
        chosen = [p for name in request.partitions for p in partitions if p.name == name]
        if not request.partitions:
            chosen = [default]
        shapes.append(
            [
                shape
                for partition in chosen
                for way in ways(request.features)
                if (shape := shape_of(site, request, partition, way)) is not None
            ]
        )
    closings = closings_of(site, w.epoch or 0)
    world = SiteWorld(
        site=site,
        workload=w,
        rule=rules.place,
        jobs=jobs,
        estimates=Estimates(rules.estimate, jobs),
        shapes=shapes,
        closings=closings,
        every=rules.every,
        restart=rules.restart,
        score=rules.score,
    )
    for row, mine in enumerate(shapes):
        shapes[row] = [world.bounded(row, shape) for shape in mine]
    if rules.classes is not None:
        world.times = rules.classes.times
        divide(world, rules.classes)
    if rules.own is not None:
        world.own = Asked(rules.own, world)
        if rules.own.predict is not None:
            world.estimates = world.own.estimates
    kept = Conservative(rules) if rules.depth < 0 else None
    if rules.priority is not None:
        world.priority = Priority(world, rules.priority)
    coming = list(range(len(jobs)))
    cancel = [int(asks.cancel_at[i]) for i in range(len(jobs))]
    begin = [max(jobs[i].submit, int(asks.begin[i])) for i in range(len(jobs))]
    timer: int | None = None
    world.now = min((job.submit for job in jobs), default=0) - 1
    while True:
        times = [run.end for run in world.running]
        times += [jobs[i].submit for i in coming]
        times += [begin[i] for i in world.pending]
        times += [cancel[i] for i in world.pending + world.waiting]
        times += [t for c in closings for t in (c.known, c.begin, c.end)]
        if kept is not None:
            times += [plan.start for row, plan in kept.plan.items() if row in world.waiting]
        if timer is not None:
            times.append(timer)
        times = [t for t in times if world.now < t < min(until, FOREVER)]
        if not times or not (coming or world.pending or world.waiting or world.running):
            break
        world.now = now = min(times)
        timer = None

        def queued(row: int) -> bool:
            return row in world.waiting or any(run.job is jobs[row] for run in world.running)

        if world.own is not None:
            world.own.tick(now - 1)
        news: list[tuple[int, Run]] = []
        for run in sorted((r for r in world.running if r.end == now), key=lambda r: r.job.id):
            row = world.row_of(run)
            news.append((row, run))
            if kept is not None and run.expected_end(now - 1) > now:
                kept.released = True
            world.leave(row, run)
            world.over[row] = "ended"
            world.estimates.ended(run.job)
        if world.estimates.corrected:
            for run in world.running:
                while run.start + run.estimate <= now and run.estimate < run.left_of(
                    run.job.request
                ):
                    more = (
                        CORRECTIONS[run.corrections]
                        if run.corrections < len(CORRECTIONS)
                        else FOREVER
                    )
                    run.estimate = run.left_of(min(run.job.request, run.frozen + more))
                    run.corrections += 1
        failed = {c.node for c in closings if c.failure and c.begin == now}
        for run in sorted((r for r in world.running if failed & set(r.tasks)), key=world.row_of):
            row = world.row_of(run)
            if kept is not None:
                kept.released = True
            world.over_at[row] = now
            if site.requeue and asks.requeue[row] != 0:
                world.stop(row, run)
            else:
                world.leave(row, run)
                world.over[row] = "lost"
        for row in [i for i in world.pending + world.waiting if 0 <= cancel[i] == now]:
            world.over[row] = "cancelled"
            (world.waiting if row in world.waiting else world.pending).remove(row)
            if kept is not None and row in kept.plan:
                kept.released = True
                del kept.plan[row]
        if world.own is not None:
            for row, run in news:
                world.own.ended(row, run)
        while coming and jobs[coming[0]].submit <= now:
            row = coming.pop(0)
            world.estimates.submitted(jobs[row])
            if world.own is not None:
                world.own.submitted(row)
            if 0 <= cancel[row] <= now:
                world.over[row] = "cancelled"
            else:
                world.pending.append(row)
        for row in sorted(world.pending):
            if begin[row] > now or not met(world, row):
                continue
            throttle = int(asks.throttle[row])
            if throttle > 0 and asks.array[row] >= 0:
                fellows = [i for i in range(len(jobs)) if asks.array[i] == asks.array[row]]
                if sum(queued(i) for i in fellows) >= throttle:
                    continue
            world.pending.remove(row)
            world.waiting.append(row)
        before = set(world.started)
        if world.own is not None:
            world.own.tick(now)
            running = list(world.running)
        if world.priority is not None:
            world.priority.before_pass()
        if kept is not None:
            kept.one_pass(world)
        elif rules.sunny or rules.backfill == "venture":
            pv_easy(world, rules)
        else:
            one_pass(world, rules)
        world.passes += 1
        for row in world.promised.keys() - world.promised_at.keys():
            world.promised_at[row] = now
        if world.priority is not None:
            world.priority.after_pass()
        if world.own is not None:
            new = [run for run in world.running if not any(run is old for old in running)]
            world.own.started([world.row_of(run) for run in new])
        fresh = {jobs[row].id for row in world.started - before}
        if any(
            d.job in world.pending and d.kind == "after" and fresh & set(d.on)
            for d in asks.dependencies
        ):
            timer = now + 1
        if kept is not None and kept.released:
            timer = now + 1
    return world
