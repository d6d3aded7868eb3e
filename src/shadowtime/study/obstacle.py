"""What may block a waiting job on a site.

An ``Obstacle`` is one interval of the wait and its cause; ``Room`` is what is free at a time on the
nodes a job may use; ``Bounds`` are the limits of QOS and accounts: which one, of which user or
account, and what was in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import COUNTED
from shadowtime.cluster.limits import NODES, Bucket, buckets_of
from shadowtime.cluster.shape import Shape, hold_counted
from shadowtime.cluster.site import Partition
from shadowtime.slurm.reasons import reason_of
from shadowtime.study.cause import Cause
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.schedule.check.site_case import SiteCase


KINDS = {
    "begin": "not eligible",
    "cancelled": "cancelled while it waited",
    "dependency": "dependencies",
    "throttle": "its array's throttle",
    **{kind.name: kind.entry for kind in COUNTED},
    "limit": "limits",
    "outage": "nodes out of service",
    "reservation": "reservations",
    "own-reservation": "its own reservation",
    "size": "fits on no nodes of its partitions",
    "room": "no room",
    "order": "jobs ahead",
    "pass": "no pass yet",
    "never": "no partition accepts it",
}
"""Each kind in short; ``pass`` is Slurm's next one."""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """What kept a job from starting during [since, until).

    ``kind`` is one of ``KINDS``; ``name`` the limit, licence, reservation, nodes or short resource;
    ``who`` the user or account that a limit counts; ``jobs`` the blocking ones, those that ended at
    ``until`` first.
    """

    kind: str
    since: int
    until: int
    name: str = ""
    who: str = ""
    bound: int = 0
    used: int = 0
    asked: int = 0
    jobs: tuple[int, ...] = ()
    cause: Cause = Cause.OTHER
    """Of ``room`` and ``order``: the cause that it counts for (:func:`cause_of`)."""

    @property
    def same(self) -> tuple[str, str, str]:
        """What two intervals must share to be shown as one."""
        return self.kind, self.name, self.who


BY_KIND = {
    "begin": Cause.NOT_ELIGIBLE,
    "dependency": Cause.NOT_ELIGIBLE,
    "throttle": Cause.LIMITS,
    **{kind.name: Cause.LIMITS for kind in COUNTED},
    "limit": Cause.LIMITS,
    "outage": Cause.OUTAGES,
    "reservation": Cause.RESERVATIONS,
    "own-reservation": Cause.RESERVATIONS,
    "pass": Cause.PASS,
}
"""The cause that a kind of obstacle counts for; ``room`` and ``order`` have their own."""


def cause_of(one: Obstacle) -> Cause:
    """The cause that an interval counts for."""
    return BY_KIND.get(one.kind, one.cause)


def by_passes(way: Sequence[Obstacle], pause: int, *, merge: bool = True) -> tuple[Obstacle, ...]:
    """Intervals of a scheduler that runs a pass every ``pause`` seconds.

    If a job fitted for less than that, that is no evidence about the jobs ahead: such an interval
    is merged with the one before it, or reported at the end as waiting for a pass. ``merge``: so
    are neighbours with the same obstacle.

    Examples
    --------
    >>> room = Obstacle(kind="room", since=0, until=9)
    >>> order = Obstacle(kind="order", since=9, until=11)
    >>> [one.kind for one in by_passes([room, order], 30)]
    ['room', 'pass']
    >>> again = Obstacle(kind="room", since=11, until=40)
    >>> [(one.kind, one.since, one.until) for one in by_passes([room, order, again], 30)]
    [('room', 0, 40)]
    """
    found: list[Obstacle] = []
    for place, one in enumerate(way):
        brief = one.kind == "order" and one.until - one.since <= pause
        if brief and place == len(way) - 1:
            found.append(replace(one, kind="pass", jobs=()))
        elif brief and found:
            found[-1] = replace(found[-1], until=one.until)
        elif merge and found and found[-1].same == one.same and found[-1].until == one.since:
            found[-1] = replace(one, since=found[-1].since)
        else:
            found.append(one)
    return tuple(found)


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
    """Index of memory among the resources, -1 if it is not counted."""

    def tasks(self, shape: Shape, without: AnyArray | None = None) -> Ints:
        """Tasks that each of the job's nodes could take, ``without`` (a mask) closed ones."""
        held = self._tasks(shape)
        if without is not None:
            held = np.where(without[list(shape.nodes)], 0, held)
        return held

    def fits(self, shape: Shape, without: AnyArray | None = None) -> bool:
        """Could the job start now on its nodes, ``without`` (a mask) those closed to it?"""
        held = self.tasks(shape, without)
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
    """Can the tasks be distributed over the number of nodes that the job requests?"""
    able = np.sort(held[held > 0])[::-1]
    return len(able) >= shape.least and int(able[: shape.most].sum()) >= shape.tasks


def _runs(nodes: Ints, held: Ints) -> list[Ints]:
    """What adjacent nodes could take: one array for each gapless row of usable nodes."""
    usable = np.flatnonzero(held > 0)
    gaps = np.flatnonzero(np.diff(nodes[usable]) != 1) + 1
    return [held[part] for part in np.split(usable, gaps) if len(part)]


TRES = {"cpus": "cpu", "memory": "mem", NODES: "node", "gpu": "gres/gpu"}
"""Slurm's names of resources, for the names of limits."""
PER_JOBS = {"user": "MaxJobsPU", "account": "MaxJobsPA"}
PER_AMOUNT = {"": "GrpTRES", "user": "MaxTRESPU", "account": "MaxTRESPA"}
OF_TIME = {"run_seconds": "GrpTRESRunMins", "seconds": "GrpTRESMins"}


class Bounds:
    """The limits of a site over the jobs of a schedule.

    Minutes and wall time are counted as the schedule's policy does: by requests for what runs
    (docs/decisions/site.md), or under Slurm's own scheduler (``slurm``) by what is left of the
    running jobs' limits, and by what was used. The decay of usage is ignored.
    """

    def __init__(self, case: SiteCase, *, slurm: bool) -> None:
        self.case, self.slurm = case, slurm
        self.enforced = bool(case.site.enforce & {"limits", "safe"})
        self._buckets_of: dict[tuple[int, str, str], tuple[Bucket, ...]] = {}
        self._amounts_of: dict[int, dict[str, int]] = {}

    def passed(
        self,
        row: int,
        partition: Partition,
        shape: Shape,
        running: Sequence[int],
        now: int,
        *,
        anew: bool = False,
        most: bool = False,
    ) -> Obstacle | None:
        """The first limit that a start at a given time would exceed; jobs are rows.

        A job that ran counts with what it held, unless ``anew``; whole nodes with the least that a
        place can take, or with the ``most``.
        """
        if not self.enforced:
            return None
        site = self.case.site
        asked = dict(zip(site.resources, shape.asked, strict=True)) | {NODES: shape.least}
        if self.case.ran[row] and not anew:
            asked = self._amounts(row)
        elif shape.exclusive:
            whole = zip(*(site.nodes[node].amounts for node in shape.nodes), strict=True)
            totals = [sum(sorted(each, reverse=most)[: shape.least]) for each in whole]
            asked |= dict(zip(site.resources, totals, strict=True))
        for bucket in self._buckets(row, partition):
            same = self._members(bucket, running, partition)
            for kind, name, bound, used, wish in self._bounds(bucket, row, same, asked, now):
                if used + wish > bound:
                    return Obstacle(
                        kind="limit", since=now, until=now,
                        name=_limit_name(bucket, kind, name), who=_who(bucket),
                        bound=bound, used=used, asked=wish, jobs=tuple(same),
                    )  # fmt: skip
        return None

    def _members(self, bucket: Bucket, rows: Sequence[int], otherwise: Partition) -> list[int]:
        """Those of the rows that count in a bucket, in the partitions where they ran."""
        partitions = self.case.shapes.partitions
        found = []
        for one in rows:
            there = self.case.partition[one]
            where = partitions[there] if there >= 0 else otherwise
            if any(each.who == bucket.who for each in self._buckets(one, where)):
                found.append(one)
        return found

    def _buckets(self, row: int, partition: Partition) -> tuple[Bucket, ...]:
        case = self.case
        key = (int(case.requests.index[row]), partition.name, case.user(row))
        if key not in self._buckets_of:
            made = buckets_of(case.site, case.requests[row], partition, case.user(row))
            self._buckets_of[key] = made
        return self._buckets_of[key]

    def _amounts(self, row: int) -> dict[str, int]:
        """What a job that ran held in total, by resource."""
        if row not in self._amounts_of:
            taken = self.case.amounts(row)
            totals = [sum(column) for column in zip(*(one for _, one in taken), strict=True)]
            found = dict(zip(self.case.site.resources, totals, strict=False))
            self._amounts_of[row] = found | {NODES: len(taken)}
        return self._amounts_of[row]

    def _bounds(
        self, bucket: Bucket, row: int, same: list[int], asked: dict[str, int], now: int
    ) -> Iterator[tuple[str, str, int, int, int]]:
        """(kind, resource, bound, in use, asked) of what a bucket bounds."""
        limit = self._limit(row)
        if bucket.jobs is not None:
            yield "jobs", "", bucket.jobs, len(same), 1
        for name, bound in bucket.amounts:
            used = sum(self._amounts(one).get(name, 0) for one in same)
            yield "amounts", name, bound, used, asked.get(name, 0)
        for name, bound in bucket.run_seconds:
            left = sum(self._amounts(one).get(name, 0) * self._left(one, now) for one in same)
            yield "run_seconds", name, bound, left, asked.get(name, 0) * limit
        for name, bound in bucket.seconds:
            used = self._spent(bucket, same, now, name)
            yield "seconds", name, bound, used, 0 if self.slurm else asked.get(name, 0) * limit
        if bucket.wall is not None and not self.slurm:
            yield "wall", "", bucket.wall, self._spent(bucket, same, now, ""), limit

    def _limit(self, row: int) -> int:
        return max(1, int(self.case.workload.request[row]))

    def _left(self, row: int, now: int) -> int:
        """Seconds that a running job is counted with ahead."""
        if not self.slurm:
            return self._limit(row)
        return max(0, int(self.case.case.schedule.start[row]) + self._limit(row) - now)

    def _spent(self, bucket: Bucket, running: list[int], now: int, name: str) -> int:
        """Resource seconds (seconds without a name) of what ended, and of what runs so far or, but
        under Slurm, may still use."""
        schedule, case = self.case.case.schedule, self.case
        everything = case.shapes.partitions[0]
        ended = [int(one) for one in case.ran.nonzero()[0] if schedule.end[one] <= now]
        total = 0
        for one in self._members(bucket, ended, everything):
            ran = int(schedule.end[one] - schedule.start[one])
            total += ran * (self._amounts(one).get(name, 0) if name else 1)
        for one in running:
            ran = now - int(schedule.start[one]) if self.slurm else self._limit(one)
            total += ran * (self._amounts(one).get(name, 0) if name else 1)
        return total


def _limit_name(bucket: Bucket, kind: str, resource: str) -> str:
    """Slurm's reason for a bound of a bucket."""
    name = TRES.get(resource, resource)
    qos = bucket.who[0] == "qos"
    each = bucket.who[2] if qos and len(bucket.who) > 2 else ""
    if not qos and len(bucket.who) > 3:
        each = "user"
    who = "QOS" if qos else "Assoc"
    if kind == "wall":
        return reason_of(who, "GrpWall")
    if kind in OF_TIME:
        return reason_of(who, OF_TIME[kind], name)
    if kind == "jobs":
        if not each:
            return reason_of(who, "GrpJobs")
        return reason_of(who, PER_JOBS[each] if qos else "MaxJobs")
    return reason_of(who, PER_AMOUNT[each], name)


def _who(bucket: Bucket) -> str:
    """The user or account that a bucket counts, in words."""
    if bucket.who[0] == "qos":
        name, rest = f"QOS {bucket.who[1]}", bucket.who[2:]
    else:
        account, user = bucket.who[1], bucket.who[2]
        name, rest = f"account {account}" + (f", user {user}" if user else ""), bucket.who[3:]
        if user:
            return name
    return name + (f", {rest[0]} {rest[1]}" if rest else "")
