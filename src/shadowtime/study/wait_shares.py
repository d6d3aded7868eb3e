"""What the waits of a user or of any group are due to: shares that add up to all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.cluster import dedicated
from shadowtime.cluster.site import Site
from shadowtime.schedule import Schedule
from shadowtime.schedule.places import shares
from shadowtime.schedule.runs import Spans, runs
from shadowtime.schedule.timeline import instants, least, totals
from shadowtime.study.cause import Cause, every_wait, wide_jobs
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload


@dataclass(frozen=True, eq=False)
class MachineWaits:
    """The waits of a schedule on a machine that is no site.

    Rules
    -----
    A job fits if a host has enough of every resource (a pool is one host; the nodes of a machine
    whose jobs spread count as one); a dedicated job needs an empty host. Runs without a known
    host count in the machine's total only.
    """

    workload: Workload
    cluster: Cluster
    schedule: Schedule

    def of(self, rows: Ints) -> Iterator[tuple[int, Cause, int, int]]:
        """(row, cause, seconds, first time) of these jobs, a cause of a wait at a time."""
        waits = self._waits.at(np.isin(self._waits.row, rows))
        user = self.workload.user[waits.row]
        for one in np.unique(user).tolist():
            own = self._used(self.workload.user == one) if one >= 0 else None
            mine = waits.at(user == one)
            for row, since, until in zip(mine.row, mine.since, mine.until, strict=True):
                yield from self._wait(int(row), int(since), int(until), own)

    def _wait(
        self, row: int, since: int, until: int, own: list[Ints] | None
    ) -> Iterator[tuple[int, Cause, int, int]]:
        first, last = np.searchsorted(self._at, (since, until))
        part = slice(int(first), int(last))
        length = np.diff(np.append(self._at[part], until))
        left = np.ones(len(length), bool)
        for cause, holds in self._tests(row, part, own):
            found = left & holds
            seconds = int(length[found].sum())
            if seconds:
                yield row, cause, seconds, int(self._at[part][found][0])
            left &= ~holds

    def _tests(
        self, row: int, part: slice, own: list[Ints] | None
    ) -> Iterator[tuple[Cause, AnyArray]]:
        """Causes with the instants at which each applies; the first that applies counts."""
        fits = self._fits(row, part, None)
        if len(self._capacity) > 1:
            free = self._capacity.sum(axis=0) - self._in_use[part]
            yield Cause.FRAGMENTATION, ~fits & (free >= self._demand[row]).all(axis=1)
        if own is not None:
            yield Cause.OWN, ~fits & self._fits(row, part, own)
        yield Cause.WIDE, ~fits & self._fits(row, part, self._wide)
        yield Cause.FULL, ~fits
        mine = self._promise_since[row]
        promises = self._promises[part] - ((mine >= 0) & (self._at[part] >= mine))
        yield Cause.PROMISES, promises > 0
        yield Cause.PRIORITIES, self._head[part] < row
        yield Cause.OTHER, np.ones(part.stop - part.start, bool)

    def _fits(self, row: int, part: slice, without: list[Ints] | None) -> AnyArray:
        """Where it fits on some host, ``without`` what some jobs use there."""
        fits = np.zeros(part.stop - part.start, bool)
        for host, used in enumerate(self._everyone):
            there = used[part] if without is None else used[part] - without[host][part]
            if self._alone[row]:
                room = (there == 0).all(axis=1)
                fits |= room & bool((self._demand[row] <= self._capacity[host]).all())
            else:
                fits |= (there + self._demand[row] <= self._capacity[host]).all(axis=1)
        return fits

    def _used(self, rows: AnyArray) -> list[Ints]:
        """What the runs of these jobs use on each host at each instant."""
        return [
            totals(
                self._at,
                self._runs.since[here],
                self._runs.until[here],
                self._held[here],
            )
            for host in range(len(self._capacity))
            for here in [np.flatnonzero((self._host == host) & rows[self._runs.row])]
        ]

    @cached_property
    def _runs(self) -> Spans:
        return runs(self.schedule)

    @cached_property
    def _waits(self) -> Spans:
        return every_wait(self.schedule, self.workload, self._runs)

    @cached_property
    def _at(self) -> Ints:
        waits, all_runs = self._waits, self._runs
        return instants(waits.since, waits.until, all_runs.since, all_runs.until)

    @cached_property
    def _spread(self) -> bool:
        """One host for all: a pool, nodes, or a schedule that does not name hosts."""
        return self.cluster.shape != "hosts" or self.schedule.place is None

    @cached_property
    def _capacity(self) -> Ints:
        each = np.array([host.capacity for host in self.cluster.hosts], np.int64)
        return each.sum(axis=0, keepdims=True) if self._spread else each

    @cached_property
    def _demand(self) -> Ints:
        columns = dict(zip(self.workload.resources, self.workload.demand.T, strict=True))
        silent = np.zeros(len(self.workload), np.int64)
        return np.stack([columns.get(name, silent) for name in self.cluster.resources], axis=1)

    @cached_property
    def _alone(self) -> AnyArray:
        if self._spread:
            return np.zeros(len(self.workload), bool)
        return dedicated(self.workload, self.cluster).astype(bool)

    @cached_property
    def _host(self) -> Ints:
        """The host of every run, -1 where it is not known."""
        if self._spread:
            return np.zeros(len(self._runs), np.int64)
        number = {host.name: place for place, host in enumerate(self.cluster.hosts)}
        places = self.schedule.place or ()
        named = [next(iter(shares(place)), ("", None))[0] for place in places]
        host = np.array([number.get(name, UNKNOWN) for name in named], np.int64)[self._runs.row]
        last = self._runs.since == self.schedule.start[self._runs.row]
        found: Ints = np.where(last, host, UNKNOWN)
        return found

    @cached_property
    def _held(self) -> Ints:
        """What every run takes: all of its host if it is dedicated."""
        taken = self._demand[self._runs.row]
        alone = self._alone[self._runs.row] & (self._host >= 0)
        held: Ints = np.where(alone[:, None], self._capacity[self._host], taken)
        return held

    @cached_property
    def _everyone(self) -> list[Ints]:
        return self._used(np.ones(len(self.workload), bool))

    @cached_property
    def _in_use(self) -> Ints:
        return totals(self._at, self._runs.since, self._runs.until, self._held)

    @cached_property
    def _wide(self) -> list[Ints]:
        return self._used(wide_jobs(self.workload, self.cluster.procs))

    @cached_property
    def _promise_since(self) -> Ints:
        """When each job was promised a start, -1 where it never was."""
        schedule = self.schedule
        if schedule.promised is None:
            return np.full(len(schedule), UNKNOWN, np.int64)
        given = schedule.submit if schedule.blocked_at is None else schedule.blocked_at
        since: Ints = np.where(schedule.promised >= 0, np.maximum(given, schedule.submit), UNKNOWN)
        return since

    @cached_property
    def _promises(self) -> Ints:
        """How many waiting jobs have a promise at each instant."""
        waits = self._waits
        since = np.maximum(waits.since, self._promise_since[waits.row])
        known = (self._promise_since[waits.row] >= 0) & (since < waits.until)
        first, until = np.searchsorted(self._at, since[known]), waits.until[known]
        # a promise may be given between two instants: it counts from the next one on
        at = np.minimum(first, len(self._at) - 1)
        return totals(self._at, self._at[at], until, np.ones(len(until), np.int64))

    @cached_property
    def _head(self) -> Ints:
        """The first waiting job by (submit, id) at each instant."""
        waits = self._waits
        return least(self._at, waits.since, waits.until, waits.row, nothing=len(self.workload))


EXAMPLES = 3
"""Jobs that are named for a cause."""
MOST = 300
"""Waits on a site that are looked at one by one; of more, every so many-th."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A job that a cause kept waiting: how long, and from when."""

    job: int
    seconds: int
    since: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """A cause: its seconds over all jobs, how many jobs, and those it kept longest."""

    cause: Cause
    seconds: int
    share: float
    jobs: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, kw_only=True)
class WaitShares:
    """The causes of the waits of some jobs, the largest first; ``seconds`` is their sum.

    ``looked_at`` of the ``waited`` jobs were examined: all, or on a site every so many-th.
    """

    jobs: int
    waited: int
    looked_at: int
    seconds: int
    shares: tuple[Share, ...]

    def __getitem__(self, cause: str) -> float:
        """The share of a cause, 0 where it never applied."""
        return sum(one.share for one in self.shares if one.cause == cause)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def wait_shares(
    workload: Workload,
    cluster: Cluster | Site,
    schedule: Schedule,
    *,
    only: AnyArray | None = None,
    most: int = MOST,
) -> WaitShares:
    """What the waits of the jobs of a mask are due to.

    Rules
    -----
    Between two events a waiting job has exactly one cause (:class:`shadowtime.study.cause.Cause`),
    and the time between them counts for it: so the shares add up to the time waited. A preempted
    job's waits between its runs count, its lost runs do not. On a site the causes are those of
    ``explain`` (:func:`shadowtime.study.obstacles.obstacles`); if more than ``most`` jobs waited
    there, every n-th of them in the order of submission is looked at.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 10, 20, 30], run=[100, 30, 50, 200], procs=[3, 4, 1, 1])
    >>> pool = Cluster.pool(4)
    >>> found = wait_shares(jobs, pool, simulate(jobs, pool, parse_policy("easy")))
    >>> found.seconds, [(str(one.cause), one.seconds) for one in found.shares]
    (190, [('wide jobs', 110), ('many jobs', 50), ('promises', 30)])
    """
    waits = every_wait(schedule, workload, runs(schedule))
    wanted = np.ones(len(workload), bool) if only is None else only
    rows = np.unique(waits.row[wanted[waits.row]])
    on_site = cluster.shape == "site"
    chosen = rows[:: -(-len(rows) // most)] if on_site and len(rows) > most else rows
    parts = (
        _on_site(workload, cast("Site", cluster), schedule, chosen)
        if on_site
        else MachineWaits(workload, cast("Cluster", cluster), schedule).of(chosen)
    )
    by_cause: dict[Cause, dict[int, Example]] = defaultdict(dict)
    for row, cause, seconds, since in parts:
        known = by_cause[cause].get(row)
        by_cause[cause][row] = Example(
            job=int(workload.job_id[row]),
            seconds=seconds + (known.seconds if known else 0),
            since=min(since, known.since) if known else since,
        )
    sums = {cause: sum(one.seconds for one in each.values()) for cause, each in by_cause.items()}
    total = sum(sums.values())
    return WaitShares(
        jobs=int(wanted.sum()),
        waited=len(rows),
        looked_at=len(chosen),
        seconds=total,
        shares=tuple(
            Share(
                cause=cause,
                seconds=sums[cause],
                share=sums[cause] / total,
                jobs=len(by_cause[cause]),
                examples=tuple(
                    sorted(by_cause[cause].values(), key=lambda one: (-one.seconds, one.job))
                )[:EXAMPLES],
            )
            for cause in sorted(sums, key=lambda one: (-sums[one], one))
        ),
    )


def _on_site(
    workload: Workload, site: Site, schedule: Schedule, rows: Ints
) -> Iterator[tuple[int, Cause, int, int]]:
    from shadowtime.study.obstacle import by_passes, cause_of
    from shadowtime.study.obstacles import pause_of
    from shadowtime.study.way import Way

    way, pause = Way(workload, site, schedule), pause_of(site, schedule)
    for row in rows.tolist():
        found = tuple(way.of(row).intervals())
        for one in by_passes(found, pause, merge=False) if pause else found:
            if one.until > one.since:
                yield row, cause_of(one), one.until - one.since, one.since
