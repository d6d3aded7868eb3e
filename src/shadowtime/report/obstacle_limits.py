"""Limits of QOS and accounts in a job's way: which bound, whose, and what was in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cluster.limits import NODES, buckets_of
from shadowtime.report.obstacle import Obstacle
from shadowtime.slurm.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.cluster.limits import Bucket
    from shadowtime.cluster.shape import Shape
    from shadowtime.cluster.site import Partition
    from shadowtime.schedule.check.site_case import SiteCase

TRES = {"cpus": "cpu", "memory": "mem", NODES: "node", "gpu": "gres/gpu"}
"""Slurm's names of resources, for the names of limits."""
PER_JOBS = {"user": "MaxJobsPU", "account": "MaxJobsPA"}
PER_AMOUNT = {"": "GrpTRES", "user": "MaxTRESPU", "account": "MaxTRESPA"}
OF_TIME = {"run_seconds": "GrpTRESRunMins", "seconds": "GrpTRESMins"}


class Bounds:
    """The limits of a site over the jobs of a schedule.

    Minutes and wall time are counted as the schedule's policy does: by requests for what runs
    (docs/decisions/site.md), or under Slurm's own scheduler (``slurm``) by what is left of the
    running jobs' limits, and by what was used. How usage fades is left out.
    """

    def __init__(self, case: SiteCase, *, slurm: bool) -> None:
        self.case, self.slurm = case, slurm
        self.enforced = bool(case.site.enforce & {"limits", "safe"})
        self._buckets_of: dict[tuple[int, str, str], tuple[Bucket, ...]] = {}
        self._amounts_of: dict[int, dict[str, int]] = {}

    def passed(
        self, row: int, partition: Partition, shape: Shape, running: Sequence[int], now: int
    ) -> Obstacle | None:
        """The first limit that a start at a moment would pass; jobs are rows."""
        if not self.enforced:
            return None
        site = self.case.site
        asked = dict(zip(site.resources, shape.asked, strict=True)) | {NODES: shape.least}
        if self.case.ran[row]:
            asked = self._amounts(row)
        elif shape.exclusive:
            whole = [site.nodes[node].amounts for node in shape.nodes[: shape.least]]
            totals = [sum(column) for column in zip(*whole, strict=True)]
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
        """What a job that ran had in all, by resource."""
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
    """Whom a bucket counts, in words."""
    if bucket.who[0] == "qos":
        name, rest = f"QOS {bucket.who[1]}", bucket.who[2:]
    else:
        account, user = bucket.who[1], bucket.who[2]
        name, rest = f"account {account}" + (f", user {user}" if user else ""), bucket.who[3:]
        if user:
            return name
    return name + (f", {rest[0]} {rest[1]}" if rest else "")
