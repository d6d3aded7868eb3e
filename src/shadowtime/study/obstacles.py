"""What blocked a waiting job of a site, interval by interval, from the schedule alone.

The schedule may come from a policy of the catalogue, Slurm's own scheduler, or a log with places.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import amounts_taken, kind_of, short_of
from shadowtime.cluster.limits import bounded_shape, job_allowed
from shadowtime.engine.priority.factors import default_memory
from shadowtime.metrics.unstarted import waited_until
from shadowtime.schedule.check.case import Case
from shadowtime.schedule.check.site import dependency_met
from shadowtime.schedule.check.site_case import SiteCase
from shadowtime.schedule.match import match
from shadowtime.schedule.runs import runs, waits
from shadowtime.schedule.site_places import compressed
from shadowtime.slurm.parameters import Parameters
from shadowtime.study.obstacle import Bounds, Obstacle, Room, by_passes
from shadowtime.workload.site_requests import requests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster.shape import Shape
    from shadowtime.cluster.site import Partition, Site
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Request


def obstacles(workload: Workload, site: Site, schedule: Schedule, row: int) -> tuple[Obstacle, ...]:
    """What blocked the job at a row while it waited, in the order of time.

    Rules
    -----
    Tested after each start, end, outage and reservation during its wait, in this order: its
    begin time and dependencies, its array's throttle, amounts of the site (licences), limits of QOS
    and accounts, reservations, outages, room on the nodes of its partitions. If none of these
    blocked it, others were ahead of it (``order``). Of several partitions, the one that came
    closest counts. Empty if the schedule does not name nodes.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> jobs = Workload.build(submit=[0, 5], run=[60, 60], procs=[3, 2])
    >>> [(one.kind, one.name, one.since, one.until, one.jobs)
    ...  for one in obstacles(jobs, site, simulate(jobs, site, parse_policy("easy")), 1)]
    [('room', 'cpus', 5, 60, (1,))]
    """
    if schedule.place is None:
        return ()
    found = _Way(workload, site, schedule).of(row).stretches()
    pause = Parameters.of_config(site.config).bf_interval if _is_slurm(schedule) else 0
    return by_passes(found, pause) if pause else found


def why_unstarted(
    workload: Workload, site: Site, schedule: Schedule, rows: Sequence[int]
) -> list[Obstacle]:
    """What still blocked each of these jobs, which never started, when it left or all was over.

    Examples
    --------
    >>> from shadowtime.cluster.site import Limits, Node, Qos, Site
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> few = Qos(name="few", limits=Limits(user_resources={"cpus": 2}))
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), qos=(few,), enforce={"limits"})
    >>> asked = Requests.of_jobs([Request(tasks=3, qos="few")])
    >>> jobs = Workload.build(submit=[0], run=[60], procs=[3], user=[0], requests=asked)
    >>> made = simulate(jobs, site, parse_policy("easy"))
    >>> [(one.kind, one.name) for one in why_unstarted(jobs, site, made, [0])]
    [('limit', 'QOSMaxCpuPerUserLimit')]
    """
    way = _Way(workload, site, schedule)
    until = waited_until(schedule, workload)
    held = {one.job for one in way.requests.dependencies}
    alike: dict[tuple[int, ...], Obstacle] = {}
    found = []
    for row in rows:
        if way.requests.cancel_at[row] >= 0:
            end = int(until[row])
            found.append(Obstacle(kind="cancelled", since=end, until=end))
            continue
        one_of = (way.requests.index[row], workload.user[row], workload.request[row])
        key = tuple(int(value) for value in one_of)
        alone = row in held or way.requests.array[row] >= 0 or way.requests.begin[row] >= 0
        if alone or key not in alike:
            alike[key] = way.of(row).at_the_end(int(until[row]))
        found.append(alike.pop(key) if alone else alike[key])
    return found


def _is_slurm(schedule: Schedule) -> bool:
    return schedule.policy.partition("(")[0] == "slurm"


class _Way:
    """The jobs' waits, and one of them: ``of`` a row."""

    def __init__(self, workload: Workload, site: Site, schedule: Schedule) -> None:
        self.workload, self.site, self.schedule = workload, site, schedule
        self.requests = requests_of(workload, site)
        case = Case(match(schedule, workload), site, frozenset())  # type: ignore[arg-type]
        self.case = SiteCase(case, site, self.requests)
        self.bounds = Bounds(self.case, slurm=_is_slurm(schedule))
        self.runs = runs(schedule)
        self.capacity = np.array([node.amounts for node in site.nodes], np.int64)

    def of(self, row: int) -> _Way:
        """The wait of the job at a row."""
        made = copy(self)
        for kept in ("_entries", "places"):
            made.__dict__.pop(kept, None)
        made.row, made.request = row, self.requests[row]
        made.limit = max(1, int(self.workload.request[row]))
        made.since = int(self.schedule.submit[row])
        return made

    row: int
    request: Request
    limit: int
    since: int
    """Jobs that had ended by then do not matter."""

    def at_the_end(self, until: int) -> Obstacle:
        """What blocks it when nothing happens any more."""
        self.since = until
        return self._at(until, until)

    @cached_property
    def places(self) -> list[tuple[Partition, Shape]]:
        """The partitions that may take it, with its request there."""
        shapes = self.case.shapes
        found = []
        for one in shapes.chosen(self.request):
            if one.max_time is not None and self.limit > one.max_time:
                continue
            for shape in shapes.all_of(self.request, one):
                user = self.case.user(self.row)
                if not self._ran and not (
                    one.up
                    and job_allowed(self.site, self.request, one, shape, self.limit, user)
                    and bounded_shape(self.site, self.request, one, shape, user)
                ):
                    continue
                all_memory = self._takes_all_memory(self.request, shape.partition)
                found.append((one, replace(shape, all_memory=shape.all_memory or all_memory)))
        return found

    def stretches(self) -> tuple[Obstacle, ...]:
        """Every interval of its waits; adjacent ones with the same obstacle are merged."""
        found: list[Obstacle] = []
        waiting = waits(self.schedule, self.runs)
        mine = np.flatnonzero(waiting.row == self.row)
        spans = [(int(waiting.since[at]), int(waiting.until[at])) for at in mine]
        if not spans and self.schedule.start[self.row] < 0:
            until = int(waited_until(self.schedule, self.workload)[self.row])
            spans = [(int(self.schedule.submit[self.row]), until)]
        for since, until in sorted(spans):
            moments = self._moments(since, until)
            for at, end in zip(moments, [*moments[1:], until], strict=True):
                one = self._at(at, end)
                if found and found[-1].same == one.same and found[-1].until == at:
                    one = replace(one, since=found[-1].since)
                    found.pop()
                found.append(one)
        return tuple(found)

    @property
    def _ran(self) -> bool:
        return bool(self.case.ran[self.row])

    def _moments(self, since: int, until: int) -> list[int]:
        """The times of relevant changes, from ``since`` on."""
        times = {since, int(self.requests.begin[self.row])}
        times |= set(self.runs.since.tolist()) | set(self.runs.until.tolist())
        for out in self.site.outages:
            times |= {self.case.clock(out.begin), self.case.clock(out.end)}
        for one in self.site.reservations:
            begin, end = self.case.clock(one.begin), self.case.clock(one.end)
            known = begin if one.known_at is None else self.case.clock(one.known_at)
            times |= {begin - self.limit, begin, end, known}
        return sorted(time for time in times if since <= time < until)

    def _at(self, now: int, until: int) -> Obstacle:
        """What blocks it after everything that happened at a time."""
        held = self._held_back(now)
        if held is not None:
            return replace(held, since=now, until=until)
        running = self._running(now)
        common = self._throttled(running) or self._amount(running)
        if common is not None:
            return replace(common, since=now, until=until, jobs=self._ids(common.jobs, until))
        best: Obstacle | None = None
        for partition, shape in self.places:
            one = (
                self.bounds.passed(self.row, partition, shape, running, now)
                or self._own_reservation(shape, now)
                or self._no_room(shape, now)
                or self._on_idle_nodes(partition, shape, running, now)
            )
            if one is None:
                ahead = self._ahead(now)
                return Obstacle(kind="order", since=now, until=until, jobs=ahead)
            if best is None or (best.kind == "limit" and one.kind != "limit"):
                best = one
        if best is None:
            best = self._more_than_all() or Obstacle(kind="never", since=now, until=until)
        return replace(best, since=now, until=until, jobs=self._ids(best.jobs, until))

    def _held_back(self, now: int) -> Obstacle | None:
        begin = int(self.requests.begin[self.row])
        waits_for = [one for one in self.requests.dependencies if one.job == self.row]
        for one in waits_for:
            place = {number: at for at, number in enumerate(self.workload.job_id.tolist())}
            rows = [place[n] for n in one.on if n in place]
            open_yet = [
                int(self.workload.job_id[other])
                for other in rows
                if not dependency_met(self.case, one.kind, now, other)
            ]
            if open_yet and not one.any_of:
                return Obstacle(
                    kind="dependency", since=now, until=now, name=one.kind, jobs=tuple(open_yet)
                )
        if now < begin and not self._array_is_open(now):
            return Obstacle(kind="begin", since=now, until=now, name=self._recorded_reason())
        return None

    def _array_is_open(self, now: int) -> bool:
        """Slurm considers an array from the time its first task may start.

        In sacct the times of the other tasks are those of their starts.
        """
        array = int(self.requests.array[self.row])
        if array < 0 or not _is_slurm(self.schedule):
            return False
        same = self.requests.array == array
        return bool((self.requests.begin[same] <= now).any())

    def _recorded_reason(self) -> str:
        """What the job waited for according to sacct, if the log has it."""
        column = self.workload.extra.get("pending_reason")
        if column is None or column[self.row] < 0:
            return ""
        return self.workload.name_of("pending_reason", int(column[self.row]))

    def _running(self, now: int) -> list[int]:
        """Rows that run after a moment, this job aside."""
        alive = (self.runs.since <= now) & (now < self.runs.until)
        return [int(row) for row in np.unique(self.runs.row[alive]) if row != self.row]

    def _ids(self, rows: tuple[int, ...], until: int) -> tuple[int, ...]:
        """Ids, those that end at a moment first."""
        end = self.schedule.end
        order = sorted(rows, key=lambda one: (int(end[one]) != until, one))
        return tuple(int(self.workload.job_id[one]) for one in order)

    def _throttled(self, running: list[int]) -> Obstacle | None:
        array, most = int(self.requests.array[self.row]), int(self.requests.throttle[self.row])
        if array < 0 or most <= 0:
            return None
        never = np.flatnonzero(self.schedule.unstarted[: self.row]).tolist()
        waits = [one for one in never if self.requests.cancel_at[one] < 0]
        same = tuple(one for one in (*waits, *running) if self.requests.array[one] == array)
        if len(same) < most:
            return None
        return Obstacle(kind="throttle", since=0, until=0, bound=most, used=len(same), jobs=same)

    def _amount(self, running: list[int]) -> Obstacle | None:
        """Of what is counted over the whole site too little is free."""
        for name, count in amounts_taken(self.request.amounts, self.site.amounts):
            holders = {one: dict(self.requests[one].amounts).get(name, 0) for one in running}
            used, bound = sum(holders.values()), self.site.amounts.get(name, 0)
            if used + count > bound:
                kind, jobs = kind_of(name), tuple(one for one, held in holders.items() if held)
                return Obstacle(
                    kind=kind.name, since=0, until=0, name=kind.own(name), bound=bound, used=used,
                    asked=count, jobs=jobs,
                )  # fmt: skip
        return None

    def _more_than_all(self) -> Obstacle | None:
        """Of a job that no partition accepts: it takes more than the site has."""
        name = short_of(self.request.amounts, self.site.amounts, self.site.amounts)
        if not name:
            return None
        kind, asked = kind_of(name), dict(self.request.amounts)[name]
        return Obstacle(
            kind=kind.name, since=0, until=0, name=kind.own(name), asked=asked,
            bound=self.site.amounts.get(name, 0),
        )  # fmt: skip

    def _own_reservation(self, shape: Shape, now: int) -> Obstacle | None:
        """Its reservation has not begun, is not known yet or leaves too little time."""
        if shape.reservation < 0:
            return None
        one = self.site.reservations[shape.reservation]
        known = one.known_at is None or self.case.clock(one.known_at) <= now
        begin, end = self.case.clock(one.begin), self.case.clock(one.end)
        if known and begin <= now and now + self.limit <= end:
            return None
        return Obstacle(kind="own-reservation", since=0, until=0, name=one.name)

    def _on_idle_nodes(
        self, partition: Partition, shape: Shape, running: list[int], now: int
    ) -> Obstacle | None:
        """A limit that every place on the nodes that are free now would pass, if whole nodes count.

        Slurm rejects the place that it chose first: a single one that passes is enough.
        """
        if not shape.exclusive:
            return None
        room, _ = self._room(now)
        reserved, _ = self._reserved(now)
        held = room.tasks(shape, reserved | self._down(now))
        nodes = tuple(node for node, tasks in zip(shape.nodes, held, strict=True) if tasks > 0)
        slurm = "slurm" in self.schedule.policy
        return self.bounds.passed(
            self.row, partition, replace(shape, nodes=nodes), running, now, anew=True, most=slurm
        )

    def _no_room(self, shape: Shape, now: int) -> Obstacle | None:
        """A reservation, an outage or the jobs on the nodes."""
        room, holders = self._room(now)
        reserved, names = self._reserved(now)
        down = self._down(now)
        if room.fits(shape, reserved | down):
            return None
        # Closed nodes count only if they alone block it, now or even if nothing ran.
        empty = replace(room, used=np.zeros_like(room.used), jobs=np.zeros_like(room.jobs))
        if down.any() and (room.fits(shape, reserved) or not empty.fits(shape, down)):
            nodes = [node.name for node, out in zip(self.site.nodes, down, strict=True) if out]
            return Obstacle(kind="outage", since=0, until=0, name=compressed(nodes))
        if reserved.any() and (room.fits(shape, down) or not empty.fits(shape, reserved)):
            return Obstacle(kind="reservation", since=0, until=0, name=", ".join(names))
        if not empty.fits(shape):
            return Obstacle(kind="size", since=0, until=0)
        here = set(shape.nodes)
        jobs = tuple(sorted({job for node, job in holders if node in here}))
        short = room.short(shape, self.site.resources, reserved | down)
        return Obstacle(kind="room", since=0, until=0, name=short, jobs=jobs)

    def _room(self, now: int) -> tuple[Room, list[tuple[int, int]]]:
        """What is in use, and (node, row) of the jobs there."""
        used = np.zeros_like(self.capacity)
        jobs = np.zeros(len(self.capacity), np.int64)
        holders = []
        rows, nodes, amounts = self._entries
        schedule = self.schedule
        alive = (schedule.start[rows] <= now) & (now < schedule.end[rows]) & (rows != self.row)
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
            whole_memory = self._takes_all_memory(self.requests[row], self.case.partition[row])
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

    def _takes_all_memory(self, request: Request, partition: int) -> bool:
        """Slurm gives a job that requests no memory all of it, if there is no default."""
        if self.case.shapes.memory < 0 or not _is_slurm(self.schedule) or partition < 0:
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

    def _reserved(self, now: int) -> tuple[AnyArray, list[str]]:
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

    def _down(self, now: int) -> AnyArray:
        """Nodes out of service, failed or drained."""
        out = [
            one.node
            for one in self.site.outages
            if self.case.clock(one.begin) <= now < self.case.clock(one.end)
        ]
        return self._mask(tuple(out))

    def _ahead(self, now: int) -> tuple[int, ...]:
        """Jobs that waited then and had a promise, else those submitted before it."""
        schedule = self.schedule
        begun = np.where(schedule.start >= 0, schedule.start, np.iinfo(np.int64).max)
        waiting = (schedule.submit <= now) & (begun > now)
        waiting[self.row] = False
        if schedule.blocked_at is not None:
            promised = waiting & (schedule.blocked_at >= 0) & (schedule.blocked_at <= now)
            if promised.any():
                return tuple(int(job) for job in schedule.job_id[promised])
        waiting[self.row :] = False
        return tuple(int(job) for job in schedule.job_id[waiting])
