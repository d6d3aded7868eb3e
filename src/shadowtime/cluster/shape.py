"""A request in one partition as numbers: tasks, bounds, amounts and the nodes it may use.

The rules are in docs/decisions/site.md, "From a request to a shape" (spec: site 2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shadowtime.cluster.features import ANY, Choice, choices, modelled, satisfies
from shadowtime.cluster.memory_bound import asked_memory, within_memory_bound
from shadowtime.cluster.site import Partition, Site

if TYPE_CHECKING:
    from shadowtime.workload.request import Gres, Request


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a placement rule works on; ``nodes`` in the order in which they are considered."""

    partition: int
    nodes: tuple[int, ...]
    wanted: int
    """The number of first nodes that must all be used."""
    tasks: int
    least: int
    most: int
    per_node: int
    per_task: tuple[int, ...]
    """Amounts per task, in parts of which ``divisor`` make one; rounded up on each node."""
    fixed: tuple[int, ...]
    floor: int
    """The least cpus on a node."""
    all_memory: bool
    exclusive: bool
    reservation: int
    """Place of the named reservation in the site, -1 without."""
    divisor: int = 1
    in_a_row: bool = False
    """Neighbours alone; then ``nodes`` are in the site's order."""
    counts: tuple[tuple[int, frozenset[int]], ...] = ()
    """(k, nodes): at least k of the nodes used are among these, and no node counts twice."""

    def among(self, nodes: tuple[int, ...]) -> Shape | None:
        """The same on some of its nodes; None if a wanted one, or every one, is excluded."""
        if not nodes or nodes[: self.wanted] != self.nodes[: self.wanted]:
            return None
        counts = tuple((k, those.intersection(nodes)) for k, those in self.counts)
        return replace(self, nodes=nodes, counts=counts)

    @property
    def asked(self) -> tuple[int, ...]:
        """The smallest total amounts, by resource."""
        both = zip(self.per_task, self.fixed, strict=True)
        return tuple(self.tasks * each // self.divisor + self.least * fixed for each, fixed in both)

    def cpus(self, tasks: int) -> int:
        """Cpus of a number of tasks on a node that others may share."""
        return max(self.fixed[0] - (-tasks * self.per_task[0] // self.divisor), self.floor)

    def tasks_with(self, cpus: int) -> int:
        """The smallest number of tasks that take this many cpus on a node."""
        return (
            (cpus - 1) * self.divisor // self.per_task[0] + 1
            if self.divisor > 1
            else (cpus // self.per_task[0])
        )

    def amounts(self, capacity: tuple[int, ...], tasks: int, memory: int) -> tuple[int, ...]:
        """What some tasks take on a node; ``memory`` is that resource's index, -1 without."""
        if self.exclusive:
            return capacity
        both = zip(self.per_task, self.fixed, strict=True)
        taken = [fixed - (-tasks * each // self.divisor) for each, fixed in both]
        taken[0] = max(taken[0], self.floor)
        if self.all_memory:
            taken[memory] = capacity[memory]
        return tuple(taken)


class Shapes:
    """Creates the shapes of a site's requests; nodes that match a mask are computed once.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node
    >>> from shadowtime.workload.request import Request
    >>> made = Shapes(Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,)))))
    >>> shape = made.of(Request(tasks=6), made.partitions[0])
    >>> shape.nodes, shape.tasks, shape.asked
    ((0, 1), 6, (6,))
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        names = tuple(node.name for node in site.nodes)
        self.partitions = site.partitions or (Partition(name="", nodes=names),)
        self.index = {name: i for i, name in enumerate(names)}
        self.number = {partition.name: i for i, partition in enumerate(self.partitions)}
        self.resource = {name: k for k, name in enumerate(site.resources)}
        self.reservation = {one.name: i for i, one in enumerate(site.reservations)}
        self._masks: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._places: dict[str, dict[int, None]] = {}
        """The nodes of each partition."""

    def without_bounds(self) -> Shapes:
        """The same where partitions bound no job; which nodes are usable does not depend on it."""
        made = copy(self)
        vars(made).pop("default", None)
        made.partitions = tuple(
            replace(one, min_nodes=0, max_nodes=None, max_cpus_per_node=None, max_memory=None)
            for one in self.partitions
        )
        return made

    @cached_property
    def default(self) -> Partition:
        """The partition of jobs that name none."""
        return next((one for one in self.partitions if one.default), self.partitions[0])

    @property
    def memory(self) -> int:
        """Place of memory among the resources, -1 where it is not counted."""
        return self.resource.get("memory", -1)

    def chosen(self, request: Request) -> list[Partition]:
        """The partitions a request names, in its order; unknown ones are left out."""
        if not request.partitions:
            return [self.default]
        known = [name for name in request.partitions if name in self.number]
        return [self.partitions[self.number[name]] for name in known]

    def all_of(self, request: Request, partition: Partition) -> list[Shape]:
        """One shape for each way to satisfy the features, in their order."""
        made = (self.of(request, partition, choice) for choice in choices(request.features))
        return [shape for shape in made if shape is not None]

    def of(
        self, request: Request, partition: Partition, choice: Choice | None = None
    ) -> Shape | None:
        """None where the partition's bounds or the site's resources rule the request out.

        Without ``choice`` the features are satisfied in the first way that they allow.
        """
        if request.reservation and request.reservation not in self.reservation:
            return None
        if partition.max_memory is not None:
            bounded = within_memory_bound(request, partition, self.site.nodes_by_name)
            if bounded is None:
                return None
            request = bounded
        choice = choices(request.features)[0] if choice is None else choice
        counts = self._counts(request, partition, choice)
        least = max(
            request.nodes,
            len(request.wanted) + missing(counts, [self.index.get(n, -1) for n in request.wanted]),
            partition.min_nodes,
        )
        tasks = max(request.tasks, least)
        most = tasks if request.max_nodes is None else max(min(request.max_nodes, tasks), least)
        if partition.max_nodes is not None:
            most = min(most, partition.max_nodes)
        if least > most:
            return None
        per_task, fixed = [0] * len(self.resource), [0] * len(self.resource)
        shares = [_share(gres, tasks, least, most) for gres in request.gres]
        # Pieces of a GRES that divides neither by tasks nor by nodes are what nodes are given: a
        # piece carries its part of the tasks, tasks / divisor of one.
        uneven = [count for per, count in shares if per == "job"]
        pieces, divisor, times = (uneven[0], uneven[0], tasks) if uneven else (tasks, 1, 1)
        most = min(most, pieces)
        if least > most:
            return None
        cpus, floor = request.cpus_per_task * times, 0
        per_gpu = partition.cpus_per_gpu(request)
        for gres, (per, count) in zip(request.gres, shares, strict=True):
            parts = count * times if per == "task" else count
            for name in {gres.name, gres.name.partition(":")[0]}:
                if name not in self.resource:
                    return None
                (fixed if per == "node" else per_task)[self.resource[name]] += parts
            if per_gpu and gres.name.partition(":")[0] == "gpu":
                if per == "node":
                    floor = max(floor, count * per_gpu)
                else:
                    cpus = max(cpus, parts * per_gpu)
        per_task[0] += cpus
        memory, memory_per = asked_memory(request, partition)
        if self.memory >= 0 and memory:
            if memory_per == "cpu":
                per_task[self.memory] += memory * cpus
            else:
                fixed[self.memory] += memory
        per_node = pieces
        if request.tasks_per_node is not None:
            # Where a piece is less than a task, the last on a node may reach into the next task.
            up = tasks - 1 if pieces > tasks else 0
            per_node = (request.tasks_per_node * pieces + up) // tasks
        if partition.max_cpus_per_node is not None:
            per_node = min(per_node, partition.max_cpus_per_node * divisor // cpus)
        wanted = {self.index[name] for name in request.wanted if name in self.index}
        # Thousands of jobs that run are each a shape of the one node that they hold.
        just = frozenset(wanted) if wanted and most == len(wanted) and not counts else None
        nodes = self._nodes(request, partition, choice, just)
        there = not wanted or wanted.issubset(nodes)  # mostly none is, and the nodes are many
        if not there or len(wanted) < len(set(request.wanted)):
            return None
        if counts and most == 1:  # a count of one node is a feature of every node of the job
            nodes, counts = tuple(n for n in nodes if n in counts[0][1]), ()
        return Shape(
            partition=self.number[partition.name],
            nodes=nodes,
            wanted=len(wanted),
            tasks=pieces,
            least=least,
            most=most,
            per_node=min(per_node, pieces),
            per_task=tuple(per_task),
            fixed=tuple(fixed),
            floor=floor,
            all_memory=self.memory >= 0 and memory == 0,
            exclusive=request.exclusive or partition.exclusive,
            reservation=self.reservation.get(request.reservation, -1),
            divisor=divisor,
            in_a_row=in_a_row(request),
            counts=counts,
        )

    def _counts(
        self, request: Request, partition: Partition, choice: Choice
    ) -> tuple[tuple[int, frozenset[int]], ...]:
        """How many nodes are wanted of which; neighbours are not counted (``not_modelled``)."""
        if not choice.counts or in_a_row(request):
            return ()
        nodes = self._nodes(request, partition, choice)
        return tuple(
            (k, frozenset(n for n in nodes if satisfies(one, self.site.nodes[n].features)))
            for one, k in choice.counts
        )

    def _nodes(
        self,
        request: Request,
        partition: Partition,
        choice: Choice,
        just: frozenset[int] | None = None,
    ) -> tuple[int, ...]:
        """The nodes a request may use in a partition: wanted ones first, then (weight, index).

        ``just``: no others than these.
        """
        key = (
            partition.name,
            choice.each,
            request.wanted,
            request.excluded,
            request.reservation,
            in_a_row(request),
            just,
        )
        if key not in self._masks:
            nodes = self.site.nodes
            places = self._places.get(partition.name)
            if places is None:
                places = dict.fromkeys(self.index[name] for name in partition.nodes)
                self._places[partition.name] = places
            allowed = [i for i in (places if just is None else just) if i in places]
            if choice.each != ANY:
                kinds = {nodes[i].features for i in allowed}
                good = {kind for kind in kinds if satisfies(choice.each, kind)}
                allowed = [i for i in allowed if nodes[i].features in good]
            if request.excluded:
                out = set(request.excluded)
                allowed = [i for i in allowed if nodes[i].name not in out]
            if request.reservation:
                inside = set(self.site.reservations[self.reservation[request.reservation]].nodes)
                allowed = [i for i in allowed if nodes[i].name in inside]
            allowed.sort()
            if not in_a_row(request):
                allowed.sort(key=lambda i: nodes[i].weight)
                wanted = set(request.wanted)
                if wanted:
                    allowed.sort(key=lambda i: nodes[i].name not in wanted)
            self._masks[key] = tuple(allowed)
        return self._masks[key]


def in_a_row(request: Request) -> bool:
    """True if a job's nodes must be neighbours; beside wanted nodes that is not modelled."""
    return request.contiguous and not request.wanted


def left_out(request: Request) -> bool:
    """True if a request contains something that its shapes do not express."""
    if (request.contiguous and request.wanted) or request.exclusive_user:
        return True
    if not modelled(request.features):
        return True
    return in_a_row(request) and any(one.counts for one in choices(request.features))


def hold_counted(shape: Shape, held: Sequence[int]) -> bool:
    """True if nodes that hold these numbers of tasks hold the shape within its counts and bounds.

    The nodes that hold most are used first, wanted ones before; one is skipped if the nodes that
    may still be used could not satisfy the counts.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node
    >>> from shadowtime.workload.request import Request
    >>> nodes = tuple(Node(name=n, amounts=(4,), features=frozenset(n)) for n in "abc")
    >>> made = Shapes(Site(nodes=nodes))
    >>> shape = made.of(Request(tasks=5, max_nodes=2, features="[a*1&b*1]"), made.partitions[0])
    >>> hold_counted(shape, [4, 1, 4]), hold_counted(shape, [3, 1, 4])
    (True, False)
    """
    order = sorted(range(len(held)), key=lambda at: (at >= shape.wanted, -held[at]))
    if any(held[at] == 0 for at in range(shape.wanted)):
        return False
    used: list[int] = []
    total = 0
    for at in order:
        if held[at] > 0 and len(used) < shape.most:
            then = [*used, shape.nodes[at]]
            if len(then) + missing(shape.counts, then) <= shape.most:
                used = then
                total += held[at]
    enough = len(used) >= shape.least and total >= shape.tasks
    return enough and missing(shape.counts, used) == 0


def missing(counts: Sequence[tuple[int, Collection[int]]], used: Sequence[int]) -> int:
    """How many more nodes are needed, at the least, beside those used to reach the counts.

    By Hall's theorem: the largest lack over all sets of counts.

    Examples
    --------
    >>> missing(((2, {1, 2}), (1, {2, 3})), [2])
    2
    >>> missing(((1, {1, 2}), (1, {2})), [1, 2]), missing((), [1])
    (0, 0)
    """
    worst = 0
    for chosen in range(1 << len(counts)):
        some = [one for g, one in enumerate(counts) if chosen >> g & 1]
        have = sum(1 for node in set(used) if any(node in those for _, those in some))
        worst = max(worst, sum(k for k, _ in some) - have)
    return worst


def _share(gres: Gres, tasks: int, least: int, most: int) -> tuple[str, int]:
    """(per, count): GRES of a job by task or node where they divide."""
    if gres.per != "job":
        return gres.per, gres.count
    if gres.count % tasks == 0:
        return "task", gres.count // tasks
    if least == most and gres.count % least == 0:
        return "node", gres.count // least
    return "job", gres.count
