"""A schedule on a site to be checked: which jobs held which nodes, and by which rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.shape import Shape, Shapes, missing
from shadowtime.cluster.site import Partition, Site
from shadowtime.schedule.places import SitePlaces, parse_site_place
from shadowtime.schedule.runs import started
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Request, Requests


@dataclass(eq=False)
class SiteCase:
    """What the proofs about a site share. Entries are (job's row, node, tasks), one per node."""

    case: Case
    site: Site
    requests: Requests

    @property
    def workload(self) -> Workload:
        return self.case.workload

    @cached_property
    def shapes(self) -> Shapes:
        return Shapes(self.site)

    @cached_property
    def ran(self) -> AnyArray:
        return started(self.case.schedule)

    def request(self, row: int) -> Request:
        return self.requests[row]

    @cached_property
    def places(self) -> list[list[tuple[str, int | None]]]:
        """Nodes of every job by name, with cpus where the schedule says."""
        place = self.case.schedule.place
        if place is None:
            return [[] for _ in range(len(self.workload))]
        if isinstance(place, SitePlaces):
            names = place.names
            return [
                [(names[node], cpus) for node, cpus in place.cpus_of(row)]
                for row in range(len(place))
            ]
        return [parse_site_place(text) for text in place]

    @cached_property
    def _partitions(self) -> list[list[int]]:
        """The job's partitions that have all its nodes: those whose bounds let it in, if any.

        Only one where the schedule says in which a job ran, and that has its nodes.
        """
        inside = [frozenset(one.nodes) for one in self.shapes.partitions]
        place = self.case.schedule.place
        found = []
        for row, nodes in enumerate(self.places):
            names = {name for name, _ in nodes}
            chosen = self.shapes.chosen(self.request(row))
            numbers = [self.shapes.number[one.name] for one in chosen]
            having = [n for n in numbers if names <= inside[n]]
            asked = int(self.workload.request[row])
            parts = self.shapes.partitions
            open_to = [n for n in having if _lets_in(parts[n], asked, len(names))] or having
            if isinstance(place, SitePlaces) and nodes:
                partition = int(place.partition[place.shape[row]])
                open_to = [partition] if partition in open_to else open_to
            found.append(open_to)
        return found

    @cached_property
    def partition(self) -> list[int]:
        """The first of the partitions in which each job can have run; -1 where there is none."""
        return [numbers[0] if numbers else -1 for numbers in self._partitions]

    def may_have_been_elsewhere(self, row: int) -> bool:
        """True if the job may have run in another of its partitions, with other limits."""
        return len(self._partitions[row]) > 1

    @cached_property
    def _made(self) -> dict[tuple[int, int], list[Shape]]:
        return {}

    def shape(self, row: int) -> Shape | None:
        """The job's request in the partition it ran in."""
        partition = self.partition[row]
        key = (int(self.requests.index[row]), partition)
        if partition < 0:
            return None
        if key not in self._made:
            request = self.request(row)
            self._made[key] = self.shapes.all_of(request, self.shapes.partitions[partition])
        made = self._made[key]
        if len(made) > 1:  # features that several sets of nodes satisfy
            used = [self.shapes.index.get(name, -1) for name, _ in self.places[row]]
            made = [one for one in made if set(used) <= set(one.nodes)] or made
            made = [one for one in made if missing(one.counts, used) == 0] or made
        return made[0] if made else None

    def amounts(self, row: int) -> list[tuple[int, tuple[int, ...]]]:
        """(node, amounts) of a job, from its cpus on each node; nothing where its shape fails."""
        shape = self.shape(row)
        if shape is None:
            return []
        found = []
        place = self.case.schedule.place
        placed = dict(place.tasks_of(row)) if isinstance(place, SitePlaces) else {}
        for name, cpus in self.places[row]:
            node = self.shapes.index[name]
            capacity = self.site.nodes[node].amounts
            tasks = placed.get(node, shape.tasks if cpus is None else shape.tasks_with(cpus))
            taken = shape.amounts(capacity, tasks, self.shapes.memory)
            if cpus is not None and not shape.exclusive:
                taken = (cpus, *taken[1:])
            found.append((node, taken))
        return found

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """(rows, nodes, amounts) of every node that a final run held."""
        rows, nodes, amounts = [], [], []
        for row in np.flatnonzero(self.ran).tolist():
            for node, taken in self.amounts(row):
                rows.append(row)
                nodes.append(node)
                amounts.append(taken)
        width = len(self.site.resources)
        return (
            np.array(rows, np.int64),
            np.array(nodes, np.int64),
            np.array(amounts, np.int64).reshape(-1, width),
        )

    def user(self, row: int) -> str:
        number = int(self.workload.user[row])
        names = self.workload.names.get("user", ())
        if number < 0:
            return ""
        return names[number] if number < len(names) else str(number)

    def clock(self, when: int) -> int:
        """A date of the site on the workload's clock."""
        return when - (self.workload.epoch or 0)


def _lets_in(partition: Partition, seconds: int, nodes: int) -> bool:
    """Do the partition's bounds on time and nodes hold?"""
    longest, most = partition.max_time, partition.max_nodes
    in_time = longest is None or seconds <= longest
    return in_time and partition.min_nodes <= nodes and (most is None or nodes <= most)
