"""What is in use, reserved or out of service on a site's nodes while a job waits."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine.priority.factors import default_memory
from shadowtime.schedule import Schedule
from shadowtime.study.obstacle import Room
from shadowtime.types import AnyArray, Ints
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase


class Occupied:
    """The nodes during the wait of the job at ``row``; what had ended by ``since`` is left out.

    ``slurm``: the schedule is that of Slurm's own scheduler.
    """

    def __init__(
        self, case: SiteCase, schedule: Schedule, row: int, *, since: int, slurm: bool
    ) -> None:
        self.case, self.schedule, self.site, self.slurm = case, schedule, case.site, slurm
        self.row, self.since, self.request = row, since, case.requests[row]
        self.limit = max(1, int(case.workload.request[row]))
        self.capacity = np.array([node.amounts for node in case.site.nodes], np.int64)

    def room(self, now: int, without: AnyArray | None = None) -> tuple[Room, list[tuple[int, int]]]:
        """What is in use, and (node, row) of the jobs there, ``without`` (a mask) some rows."""
        used = np.zeros_like(self.capacity)
        jobs = np.zeros(len(self.capacity), np.int64)
        rows, nodes, amounts = self._entries
        schedule = self.schedule
        alive = (schedule.start[rows] <= now) & (now < schedule.end[rows]) & (rows != self.row)
        if without is not None:
            alive &= ~without[rows]
        np.add.at(used, nodes[alive], amounts[alive])
        np.add.at(jobs, nodes[alive], 1)
        holders = list(zip(nodes[alive].tolist(), rows[alive].tolist(), strict=True))
        memory = self.case.shapes.memory
        return Room(capacity=self.capacity, used=used, jobs=jobs, memory=memory), holders

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints]:
        """(rows, nodes, amounts) of the jobs that ran while this one waited."""
        started = int(self.schedule.start[self.row])
        until = started if started >= 0 else int(self.schedule.end.max(initial=0))
        near = self.case.ran & (self.schedule.start < until) & (self.schedule.end > self.since)
        rows, nodes, amounts = [], [], []
        memory = self.case.shapes.memory
        for row in np.flatnonzero(near).tolist():
            whole_memory = self.takes_all_memory(self.case.requests[row], self.case.partition[row])
            for node, taken in self.case.amounts(row):
                rows.append(row)
                nodes.append(node)
                if whole_memory:
                    taken = self._with_memory(taken, int(self.capacity[node, memory]))
                amounts.append(taken)
        width = len(self.site.resources)
        return (
            np.array(rows, np.int64),
            np.array(nodes, np.int64),
            np.array(amounts, np.int64).reshape(-1, width),
        )

    def takes_all_memory(self, request: Request, partition: int) -> bool:
        """Slurm gives a job that requests no memory all of it, if there is no default."""
        if self.case.shapes.memory < 0 or not self.slurm or partition < 0:
            return False
        name = self.case.shapes.partitions[partition].name
        return request.memory is None and default_memory(self.site, name)[0] is None

    def _with_memory(self, taken: tuple[int, ...], all_of_it: int) -> tuple[int, ...]:
        memory = self.case.shapes.memory
        return (*taken[:memory], all_of_it, *taken[memory + 1 :])

    def _mask(self, names: tuple[str, ...]) -> AnyArray:
        mask = np.zeros(len(self.site.nodes), bool)
        index = self.case.shapes.index
        mask[[index[name] for name in names if name in index]] = True
        return mask

    def reserved(self, now: int) -> tuple[AnyArray, list[str]]:
        """Nodes of reservations that it does not name and would overlap if it started now."""
        mask = self._mask(())
        names = []
        for one in self.site.reservations:
            begin, end = self.case.clock(one.begin), self.case.clock(one.end)
            known = one.known_at is None or self.case.clock(one.known_at) <= now
            meets = begin < now + self.limit and now < end
            if one.name != self.request.reservation and known and meets:
                mask |= self._mask(one.nodes)
                names.append(one.name)
        return mask, names

    def down(self, now: int) -> AnyArray:
        """Nodes out of service, failed or drained."""
        out = [
            one.node
            for one in self.site.outages
            if self.case.clock(one.begin) <= now < self.case.clock(one.end)
        ]
        return self._mask(tuple(out))
