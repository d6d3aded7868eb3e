"""Room for a job on a site at a moment: what is free on the nodes it may use, and does it do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.shape import hold_counted

if TYPE_CHECKING:
    from shadowtime.cluster.shape import Shape
    from shadowtime.types import AnyArray, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Room:
    """Amounts in use by node and resource, and how many jobs are on each node.

    Examples
    --------
    >>> from shadowtime.cluster.shape import Shapes
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload.request import Request
    >>> site = Site(nodes=(Node(name="a", amounts=(4, 8)),), resources=("cpus", "memory"))
    >>> made = Shapes(site)
    >>> shape = made.of(Request(tasks=2, memory=6), made.partitions[0])
    >>> room = Room(
    ...     capacity=np.array([[4, 8]]), used=np.array([[1, 4]]), jobs=np.array([1]), memory=1
    ... )
    >>> room.fits(shape), room.short(shape, ("cpus", "memory"))
    (False, 'memory')
    """

    capacity: Ints
    used: Ints
    jobs: Ints
    memory: int = -1
    """Place of memory among the resources, -1 where it is not counted."""

    def fits(self, shape: Shape, without: AnyArray | None = None) -> bool:
        """Could the job start now on its nodes, ``without`` (a mask) those closed to it?"""
        held = self._tasks(shape)
        if without is not None:
            held = np.where(without[list(shape.nodes)], 0, held)
        if shape.in_a_row:
            order = np.argsort(shape.nodes)
            return any(_enough(shape, run) for run in _runs(np.array(shape.nodes)[order], held))
        if bool((held[: shape.wanted] == 0).any()):
            return False
        if shape.counts:
            return hold_counted(shape, held.tolist())
        return _enough(shape, held)

    def short(self, shape: Shape, names: tuple[str, ...], without: AnyArray | None = None) -> str:
        """The resource without which the job would fit; ``nodes`` where whole nodes are short."""
        if shape.exclusive:
            return "nodes"
        for k in range(len(names) - 1, 0, -1):
            lighter = replace(
                shape,
                per_task=tuple(0 if at == k else n for at, n in enumerate(shape.per_task)),
                fixed=tuple(0 if at == k else n for at, n in enumerate(shape.fixed)),
                all_memory=shape.all_memory and k != self.memory,
            )
            if (shape.per_task[k] or shape.fixed[k] or shape.all_memory) and self.fits(
                lighter, without
            ):
                return names[k]
        return names[0]

    def _tasks(self, shape: Shape) -> Ints:
        """How many of the job's tasks each of its nodes could take."""
        nodes = list(shape.nodes)
        capacity, used = self.capacity[nodes], self.used[nodes]
        free = capacity - used
        idle = self.jobs[nodes] == 0
        if shape.exclusive:
            free = np.where(idle[:, None], capacity, 0)
        most = np.full(len(nodes), shape.per_node, np.int64)
        for k, (each, fixed) in enumerate(zip(shape.per_task, shape.fixed, strict=True)):
            left = free[:, k] - fixed
            if each:
                most = np.minimum(most, left * shape.divisor // each)
            most = np.where(left < 0, 0, most)
        most = np.where(free[:, 0] < shape.floor, 0, most)
        if shape.all_memory:
            most = np.where(used[:, self.memory] > 0, 0, most)
        if shape.exclusive:
            most = np.where(idle, most, 0)
        found: Ints = np.maximum(most, 0)
        return found


def _enough(shape: Shape, held: Ints) -> bool:
    """Can the tasks be dealt to so many nodes as the job asks for?"""
    able = np.sort(held[held > 0])[::-1]
    return len(able) >= shape.least and int(able[: shape.most].sum()) >= shape.tasks


def _runs(nodes: Ints, held: Ints) -> list[Ints]:
    """What neighbours could take: one array for each row of usable nodes without a gap."""
    usable = np.flatnonzero(held > 0)
    gaps = np.flatnonzero(np.diff(nodes[usable]) != 1) + 1
    return [held[part] for part in np.split(usable, gaps) if len(part)]
