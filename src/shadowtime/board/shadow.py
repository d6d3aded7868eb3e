"""A policy beside a Slurm that schedules by itself: what it would have done so far.

Every job is the policy's, and nothing is touched: the jobs that Slurm got are simulated under the
policy, from the time at which the board began.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shadowtime.engine import simulate
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.errors import ShadowtimeError
from shadowtime.eta.present import Present, Running
from shadowtime.eta.scores import FEW
from shadowtime.eta.starts import How, Table, open_site
from shadowtime.live.slurm.asks import detail_of, request_of
from shadowtime.live.slurm.forecast import (
    Seen,
    forecast,
    limit_of,
    predictable,
    present_of,
    why_unknown,
)
from shadowtime.live.slurm.state import HOLDS
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import QueueRow
from shadowtime.workload.request import Request

PERIOD = 86400
"""Seconds after which the comparison begins anew from what runs then; its sums are kept."""
DRAWS = 9
"""Futures for what the policy would do next."""
NAMED = 10
"""So many accounts and users are told apart, those with the most jobs."""
NOTE = (
    "Waits up to now: a job that still waits counts with what it has waited so far, under both. "
    "The policy has every job from the time Slurm could start it; a job that has not ended runs as "
    "long as its kind usually does. Jobs that are held, depend on others or were cancelled while "
    "they waited are left out."
)


@dataclass
class Known:
    """A job that Slurm got, and what became of it."""

    id: str
    user: str
    account: str
    partition: str
    limit: int
    request: Request
    came: int
    start: int = -1
    end: int = -1
    gone: bool = False


@dataclass(frozen=True, kw_only=True)
class Waits:
    """The waits of a job so far, in seconds."""

    job: Known
    slurm: int
    policy: int


class Shadow:
    """Follows a Slurm poll by poll; :meth:`step` compares."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.policy: Any = parse_policy(name)
        refuse_on_site(self.policy)
        self.began = -1
        self.since = -1
        self._first: Present | None = None
        self._jobs: dict[str, Known] = {}
        self._running: dict[str, int] = {}
        """When what ran at the beginning ended; -1: not yet."""
        self._sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        """Jobs and waits of the periods that are over, by kind and name of the group."""
        self._left_out = 0

    def step(self, seen: Seen, runs: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
        """The comparison so far, and when the policy would start what waits now."""
        try:
            if self._first is None:
                self._begin(seen)
            self._follow(seen)
            waits = self._compare(seen.now, runs)
            found = self._document(waits, seen.now)
            if seen.now - self.began >= PERIOD:
                self._close(waits)
                self._begin(seen)
            return found, self._next(seen)
        except ShadowtimeError as error:
            return {"policy": self.name, "problem": str(error)}, {}

    def _begin(self, seen: Seen) -> None:
        """What runs now keeps its nodes; what waits is the policy's from now on."""
        self._first = present_of(seen, predictable(seen)[0])
        self.began = seen.now
        self.since = self.since if self.since >= 0 else seen.now
        self._jobs = {}
        self._running = {one.id: -1 for one in self._first.running}

    def _follow(self, seen: Seen) -> None:
        listed = {row.id: row for row in seen.rows}
        for row in seen.rows:
            if row.id in self._running:
                if _over(row):
                    self._running[row.id] = row.end
                continue
            known = self._jobs.get(row.id)
            if known is None:
                if row.state == "PENDING" and why_unknown(row, seen.site):
                    continue
                if row.state != "PENDING" and (row.start < self.began or row.start <= 0):
                    continue
                known = self._jobs[row.id] = Known(
                    id=row.id,
                    user=row.user,
                    account=row.account,
                    partition=row.partition.split(",")[0],
                    limit=limit_of(row),
                    request=request_of(row, detail_of(seen.details, row.id)),
                    came=max(row.submit, row.eligible if row.eligible <= seen.now else seen.now),
                )
            if row.state in HOLDS or row.state == "COMPLETING":
                known.start = row.start
            elif _over(row):
                known.start, known.end = row.start, row.end
            elif row.state != "PENDING":
                known.gone = True
        for job, ended in self._running.items():
            if ended < 0 and job not in listed:
                self._running[job] = seen.now
        for known in self._jobs.values():
            if known.id not in listed and known.end < 0:
                known.gone, known.end = known.start < 0, seen.now

    def _compare(self, now: int, runs: Mapping[str, int]) -> list[Waits]:
        """The jobs simulated under the policy, with their real run times where they have ended."""
        assert self._first is not None
        jobs = [one for one in self._jobs.values() if not one.gone]
        self._left_out = len(self._jobs) - len(jobs)
        if not jobs:
            return []
        zero = min(self.began, min(one.came for one in jobs)) - 1
        table = Table()
        for one in self._first.running:
            rest = self._rest(one, now, runs)
            for piece in one.pieces:
                most = max(rest, one.limit - (self.began - one.start), 1)
                table.add(piece, one.user, 0, self.began - zero + rest, self.began - zero + most)
        first = len(table.requests)
        for job in jobs:
            run = job.end - job.start if job.end >= 0 else runs.get(job.id, job.limit)
            run = max(1, run, now - job.start if job.start >= 0 and job.end < 0 else 1)
            begin = max(job.came, self.began) - zero
            table.add(job.request, job.user, job.came - zero, run, job.limit, begin=begin)
        machine = open_site(self._first.machine)  # type: ignore[arg-type]
        made = simulate(table.workload(epoch=zero, on_site=True), machine, self.policy)
        start = dict(zip(made.job_id.tolist(), made.start.tolist(), strict=True))
        found = []
        for at, job in enumerate(jobs):
            began = start[first + at + 1]
            by_policy = min(now, began + zero) if began >= 0 else now
            by_slurm = job.start if job.start >= 0 else now
            found.append(
                Waits(
                    job=job,
                    slurm=max(0, by_slurm - max(job.came, self.began)),
                    policy=max(0, by_policy - max(job.came, self.began)),
                )
            )
        return found

    def _rest(self, one: Running, now: int, runs: Mapping[str, int]) -> int:
        """How long a job that ran at the beginning went on."""
        ended = self._running[one.id]
        if ended >= 0:
            return max(1, ended - self.began)
        return max(1, now - self.began, one.start + runs.get(one.id, one.limit) - self.began)

    def _next(self, seen: Seen) -> dict[str, int]:
        """When the policy would start what waits now, if it took over."""
        how = How(policy=self.policy, draws=DRAWS, submissions=False)
        return {job: eta.expected for job, eta in forecast(seen, how).etas.items()}

    def _close(self, waits: Sequence[Waits]) -> None:
        for group, rows in _groups(waits).items():
            sums = self._sums[group]
            sums[0] += len(rows)
            sums[1] += sum(one.slurm for one in rows)
            sums[2] += sum(one.policy for one in rows)

    def _document(self, waits: Sequence[Waits], now: int) -> dict[str, Any]:
        sums = {group: [*values] for group, values in self._sums.items()}
        for group, rows in _groups(waits).items():
            values = sums.setdefault(group, [0, 0, 0])
            values[0] += len(rows)
            values[1] += sum(one.slurm for one in rows)
            values[2] += sum(one.policy for one in rows)
        groups = [
            {"kind": kind, "name": name, "jobs": jobs, "few": jobs < FEW,
             "slurm": slurm / jobs, "policy": policy / jobs}
            for (kind, name), (jobs, slurm, policy) in _shown(sums)
        ]  # fmt: skip
        return {
            "policy": self.name,
            "since": self.since,
            "until": now,
            "left_out": self._left_out,
            "groups": groups,
            "words": _words(self.name, groups, self._left_out),
            "note": NOTE,
        }


def _over(row: QueueRow) -> bool:
    """Whether a job ran and has ended."""
    return row.state not in HOLDS | {"PENDING", "COMPLETING"} and row.end > row.start > 0


def _groups(waits: Sequence[Waits]) -> dict[tuple[str, str], list[Waits]]:
    found: dict[tuple[str, str], list[Waits]] = defaultdict(list)
    for one in waits:
        found["all", "all"].append(one)
        found["day", time.strftime("%Y-%m-%d", time.localtime(one.job.came))].append(one)
        for kind in ("partition", "account", "user"):
            found[kind, getattr(one.job, kind)].append(one)
    return found


def _shown(
    sums: Mapping[tuple[str, str], Sequence[int]],
) -> list[tuple[tuple[str, str], Sequence[int]]]:
    """All, then days, partitions, and the accounts and users with the most jobs."""
    made = []
    for kind in ("all", "day", "partition", "account", "user"):
        mine = [(group, values) for group, values in sums.items() if group[0] == kind and group[1]]
        if kind in ("account", "user"):
            mine = sorted(mine, key=lambda one: (-one[1][0], one[0]))[:NAMED]
        made += sorted(mine)
    return made


def _words(name: str, groups: Sequence[Mapping[str, Any]], left_out: int) -> str:
    """The comparison in a sentence or two.

    Examples
    --------
    >>> _words("easy", [{"jobs": 40, "slurm": 90.0, "policy": 60.0, "few": False}], 0)
    'Over 40 jobs, easy would have made the mean wait 30 s shorter (60 s instead of 90 s).'
    """
    if not groups:
        return "No job has come since the board was started: there is nothing to compare."
    one = groups[0]
    gap = round(one["slurm"]) - round(one["policy"])
    waits = f"({round(one['policy']):,} s instead of {round(one['slurm']):,} s)"
    change = (
        f"{abs(gap):,} s {'shorter' if gap > 0 else 'longer'} {waits}" if gap else "no different"
    )
    words = f"Over {one['jobs']:,} jobs, {name} would have made the mean wait {change}."
    if one["few"]:
        words += f" Fewer than {FEW} jobs are compared: that says little yet."
    if left_out:
        words += f" {left_out:,} cancelled jobs are left out."
    return words
