"""The wait of a job of a site: what blocks it from each time to the next."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from shadowtime.cluster.amounts import amounts_taken, kind_of, short_of
from shadowtime.cluster.limits import bounded_shape, job_allowed
from shadowtime.cluster.shape import Shape
from shadowtime.cluster.site import Partition, Site
from shadowtime.schedule import Schedule
from shadowtime.schedule.check.case import Case
from shadowtime.schedule.check.site import dependency_met
from shadowtime.schedule.check.site_case import SiteCase
from shadowtime.schedule.match import match
from shadowtime.schedule.places import compressed
from shadowtime.schedule.runs import runs
from shadowtime.study.cause import Cause, every_wait, wide_jobs
from shadowtime.study.obstacle import Bounds, Obstacle, Room
from shadowtime.study.occupied import Occupied
from shadowtime.types import AnyArray
from shadowtime.workload import Workload, series, site_requests
from shadowtime.workload.request import Request


def is_slurm(schedule: Schedule) -> bool:
    """Is it a schedule of Slurm's own scheduler?"""
    return schedule.policy.partition("(")[0] == "slurm"


class Way:
    """The jobs' waits, and one of them: ``of`` a row."""

    def __init__(self, workload: Workload, site: Site, schedule: Schedule) -> None:
        self.series = series.bounds_of(workload, site.amounts)
        site = series.with_bounds(site, workload)
        self.workload, self.site, self.schedule = workload, site, schedule
        self.requests = site_requests.requests_of(workload, site)
        self.slurm = is_slurm(schedule)
        case = Case(match(schedule, workload), site, frozenset())  # type: ignore[arg-type]
        self.case = SiteCase(case, site, self.requests)
        self.bounds = Bounds(self.case, slurm=self.slurm)
        self.runs = runs(schedule)
        self.waits = every_wait(schedule, workload, self.runs)

    def of(self, row: int) -> Way:
        """The wait of the job at a row."""
        made = copy(self)
        made.__dict__.pop("places", None)
        made.row, made.request = row, self.requests[row]
        made.limit = max(1, int(self.workload.request[row]))
        made.occupied = self._occupied(row, int(self.schedule.submit[row]))
        return made

    def _occupied(self, row: int, since: int) -> Occupied:
        return Occupied(self.case, self.schedule, row, since=since, slurm=self.slurm)

    row: int
    request: Request
    limit: int
    occupied: Occupied

    def at_the_end(self, until: int) -> Obstacle:
        """What blocks it when nothing happens any more."""
        self.occupied = self._occupied(self.row, until)
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
                if not self.case.ran[self.row] and not (
                    one.up
                    and job_allowed(self.site, self.request, one, shape, self.limit, user)
                    and bounded_shape(self.site, self.request, one, shape, user)
                ):
                    continue
                all_memory = self.occupied.takes_all_memory(self.request, shape.partition)
                found.append((one, replace(shape, all_memory=shape.all_memory or all_memory)))
        return found

    def stretches(self) -> tuple[Obstacle, ...]:
        """Every interval of its waits; adjacent ones with the same obstacle are merged."""
        found: list[Obstacle] = []
        for one in self.intervals():
            if found and found[-1].same == one.same and found[-1].until == one.since:
                one = replace(one, since=found.pop().since)
            found.append(one)
        return tuple(found)

    def intervals(self) -> Iterator[Obstacle]:
        """What blocks it from each time to the next."""
        mine = self.waits.at(self.waits.row == self.row)
        for since, until in sorted(zip(mine.since.tolist(), mine.until.tolist(), strict=True)):
            moments = self._moments(since, until)
            for at, end in zip(moments, [*moments[1:], until], strict=True):
                yield self._at(at, end)

    def _moments(self, since: int, until: int) -> list[int]:
        """The times of relevant changes, from ``since`` on."""
        times = {since, int(self.requests.begin[self.row])}
        times |= set(self.runs.since.tolist()) | set(self.runs.until.tolist())
        for out in self.site.outages:
            times |= {self.case.clock(out.begin), self.case.clock(out.end)}
        for bound in self.series.values():
            times |= {*bound.time.tolist(), *(bound.time - self.limit).tolist()}
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
        common = self._throttled(running) or self._amount(running, now)
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
                ahead, cause = self._ahead(now)
                return Obstacle(kind="order", since=now, until=until, jobs=ahead, cause=cause)
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
        if array < 0 or not self.slurm:
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

    def _amount(self, running: list[int], now: int) -> Obstacle | None:
        """Of what is counted over the whole site too little is free, now or before it would end."""
        for name, count in amounts_taken(self.request.amounts, self.site.amounts):
            for at, bound in self._bounds_ahead(name, now):
                still = [one for one in running if at == now or self._expected_end(one) > at]
                holders = {one: dict(self.requests[one].amounts).get(name, 0) for one in still}
                used = sum(holders.values())
                if used + count > bound:
                    kind, jobs = kind_of(name), tuple(one for one, held in holders.items() if held)
                    return Obstacle(
                        kind=kind.name, since=0, until=0, name=kind.own(name), bound=bound,
                        used=used, asked=count, jobs=jobs,
                    )  # fmt: skip
        return None

    def _bounds_ahead(self, name: str, now: int) -> list[tuple[int, int]]:
        """The bound of an amount now, and from each change on during the job's limit."""
        series = self.series.get(name)
        if series is None:
            return [(now, self.site.amounts.get(name, 0))]
        changes = series.time[(series.time > now) & (series.time < now + self.limit)]
        instants = [now, *changes.tolist()]
        return list(zip(instants, series.at(instants).astype(int).tolist(), strict=True))

    def _expected_end(self, row: int) -> int:
        return int(self.schedule.start[row] + max(1, self.workload.request[row]))

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
        room, _ = self.occupied.room(now)
        reserved, _ = self.occupied.reserved(now)
        held = room.tasks(shape, reserved | self.occupied.down(now))
        nodes = tuple(node for node, tasks in zip(shape.nodes, held, strict=True) if tasks > 0)
        as_slurm = "slurm" in self.schedule.policy  # also of a policy that places as Slurm does
        idle = replace(shape, nodes=nodes)
        return self.bounds.passed(self.row, partition, idle, running, now, anew=True, most=as_slurm)

    def _no_room(self, shape: Shape, now: int) -> Obstacle | None:
        """A reservation, an outage or the jobs on the nodes."""
        room, holders = self.occupied.room(now)
        reserved, names = self.occupied.reserved(now)
        down = self.occupied.down(now)
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
        closed = reserved | down
        short = room.short(shape, self.site.resources, closed)
        cause = self._cause(shape, room, closed, now)
        return Obstacle(kind="room", since=0, until=0, name=short, jobs=jobs, cause=cause)

    def _cause(self, shape: Shape, room: Room, closed: AnyArray, now: int) -> Cause:
        """Why there is no room (:class:`Cause`): scattered, own jobs, wide jobs, or all of them."""
        nodes = [node for node in shape.nodes if not closed[node]]
        free = (room.capacity - room.used)[nodes].sum(axis=0)
        if bool((free >= np.array(shape.asked)).all()):
            return Cause.FRAGMENTATION
        for cause, which in ((Cause.OWN, self._own), (Cause.WIDE, self.wide)):
            if self.occupied.room(now, which)[0].fits(shape, closed):
                return cause
        return Cause.FULL

    @cached_property
    def wide(self) -> AnyArray:
        """The rows of wide jobs."""
        return wide_jobs(self.workload, sum(node.amounts[0] for node in self.site.nodes))

    @property
    def _own(self) -> AnyArray:
        """The rows of the same user's jobs."""
        user = self.workload.user
        same: AnyArray = (user == user[self.row]) & (user[self.row] >= 0)
        return same

    def _ahead(self, now: int) -> tuple[tuple[int, ...], Cause]:
        """Jobs that waited then and had a promise, else those submitted before it."""
        schedule = self.schedule
        begun = np.where(schedule.start >= 0, schedule.start, np.iinfo(np.int64).max)
        waiting = (schedule.submit <= now) & (begun > now)
        waiting[self.row] = False
        if schedule.blocked_at is not None:
            promised = waiting & (schedule.blocked_at >= 0) & (schedule.blocked_at <= now)
            if promised.any():
                known = schedule.promised is not None and (schedule.promised[promised] >= 0).any()
                cause = Cause.PROMISES if known else Cause.PRIORITIES
                return tuple(int(job) for job in schedule.job_id[promised]), cause
        waiting[self.row :] = False
        ahead = tuple(int(job) for job in schedule.job_id[waiting])
        return ahead, Cause.PRIORITIES if ahead else Cause.OTHER
