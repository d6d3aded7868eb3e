"""A cluster at one moment: what runs and what waits, from a log or from a live scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.eta.held import as_known, even, held_by, memory_on, pieces_on, unusable
from shadowtime.eta.shares import Observed
from shadowtime.schedule import Schedule
from shadowtime.slurm.from_site import requeue_delay
from shadowtime.slurm.standing import Queue, has_factors
from shadowtime.types import Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import NEVER, Request, Requests
from shadowtime.workload.site_requests import requests_of

LONGEST = 365 * 86400
"""Seconds: a limit beyond is none; shares of it would mean nothing."""


class Array(NamedTuple):
    """The array that a task belongs to, by the number of its record."""

    number: int
    task: int = NEVER
    """Its index; -1 for one that runs."""
    throttle: int = 0
    """How many of its tasks may run at once; 0: all."""


NO_ARRAY = Array(NEVER)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A job that waits. Times are seconds since 1970; ``begin`` -1: it may start at once."""

    id: str
    user: str
    limit: int
    request: Request
    begin: int = NEVER
    priority: int | None = None
    """Under priority/multifactor, as it is now."""
    array: Array = NO_ARRAY

    @property
    def cpus(self) -> int:
        """What it requests, as jobs are told apart by it."""
        return self.request.cpus


@dataclass(frozen=True, kw_only=True)
class Running:
    """A job that runs since ``start``; ``pieces`` are what it holds, a request for each node."""

    id: str
    user: str
    limit: int
    cpus: int
    start: int
    pieces: tuple[Request, ...]
    array: Array = NO_ARRAY


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """A job that was submitted earlier; ``run`` -1: it has not ended."""

    user: str
    limit: int
    request: Request
    submit: int
    run: int = NEVER
    nice: int = 0


@dataclass(frozen=True, kw_only=True)
class Present:
    """What is known at ``now``; ``waiting`` in the order of their priorities.

    ``machine`` has the usage of its accounts at this moment. ``ended`` is what ended jobs used of
    their limits, the oldest first, and ``past`` what was submitted, by time.
    """

    now: int
    machine: Cluster | Site
    running: tuple[Running, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    ended: tuple[Observed, ...] = ()
    past: tuple[Arrived, ...] = ()
    until: int | None = None
    """Nothing is submitted after it: the end of a log, which a real site does not have."""

    def observed(self) -> list[Observed]:
        """What ended jobs used, then how far the running ones are."""
        now = [
            Observed(
                one.user,
                one.limit,
                one.cpus,
                min(1.0, (self.now - one.start) / one.limit),
                ended=False,
                start=one.start,
            )
            for one in self.running
        ]
        return [*self.ended, *now]


class LogAt:
    """A log with recorded starts, as it looked at any moment.

    Rules
    -----
    A job waits from its submission, or the time at which it became eligible, to its recorded start,
    and runs until its recorded end. One that was requeued waits again, as soon as Slurm lets it.
    The tasks of an array wait together, from the moment at which the first of them may start.
    Jobs that are cancelled later wait among the others; of those that never started without having
    been cancelled nothing is known, and they are left out. Nothing of a
    job that has not ended is known but that it runs, of a node that is out only that it is.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 5, 6], run=[10, 9, 3], procs=[4, 4, 2],
    ...     request=[20, 20, 20], recorded_start=[0, 10, 19])
    >>> at = LogAt(jobs, Cluster.pool(4)).present(12)
    >>> [one.id for one in at.running], [one.id for one in at.waiting], len(at.ended)
    (['2'], ['3'], 1)
    """

    def __init__(self, workload: Workload, machine: Cluster | Site) -> None:
        if workload.requests is not None:
            workload = workload.replace(requests=_arrays_at_once(workload))
        self.workload, self.machine = workload, machine
        self.requests = requests_of(workload, machine) if isinstance(machine, Site) else None
        self.ready: Ints = workload.submit
        """When a job enters the queue: before that nobody sees when it will."""
        if self.requests is not None:
            self.ready = np.maximum(workload.submit, self.requests.begin)
        self.limit: Ints = np.clip(workload.limit, 1, LONGEST)
        gone = self._gone()
        self.start: Ints = np.where(gone >= 0, NEVER, workload.recorded_start)
        self.end: Ints = self.start + workload.effective_run
        self.began = self.start >= 0
        self.gone: Ints = np.where(self.began, self.start, gone)
        """When a job leaves the queue; -1: it is left out."""
        self.recorded = Schedule.recorded(workload.replace(recorded_start=self.start))
        self.cpus = (
            {node.name: node.amounts[0] for node in machine.nodes}
            if isinstance(machine, Site)
            else {}
        )
        self.held: list[dict[str, int]] = []
        """Cpus of each job by node, where the log names nodes."""
        if isinstance(machine, Site) and self.requests is not None:
            runs = np.stack((self.start, self.end), axis=1)
            self.held = held_by(workload, self.requests, machine, runs)
        self.lost = self._lost()
        self.again = requeue_delay(machine) if isinstance(machine, Site) else 0
        self.by_ready = np.argsort(self.ready, kind="stable")
        self.by_end = np.flatnonzero(self.began)[np.argsort(self.end[self.began], kind="stable")]
        self.users = [workload.name_of("user", one) for one in workload.user.tolist()]

    @property
    def epoch(self) -> int:
        """Seconds since 1970 at the log's zero."""
        return self.workload.epoch or 0

    def _gone(self) -> Ints:
        """When jobs left the queue without a start; their recorded ones say when that was."""
        return (
            np.full(len(self.workload), NEVER) if self.requests is None else self.requests.cancel_at
        )

    def request(self, row: int) -> Request:
        """What a job requests; on a pool its processors."""
        if self.requests is None:
            return Request(tasks=int(self.workload.procs[row]))
        return self.requests[row]

    def _lost(self) -> dict[int, list[tuple[int, int]]]:
        """Starts and ends of the runs before the last one, of the jobs that were requeued."""
        known = self.workload.lost_runs
        return {
            row: [(came + start, came + end) for start, end in known[job]]
            for row, (job, came) in enumerate(
                zip(self.workload.job_id.tolist(), self.workload.submit.tolist(), strict=True)
            )
            if job in known and self.began[row]
        }

    def run_at(self, row: int, when: int) -> tuple[int, int]:
        """(start, end) of a job's first run that ends after a time: it is in it, or waits for it.

        Its last one if all have ended.
        """
        last = int(self.start[row]), int(self.end[row])
        runs: list[tuple[int, int]] = [*self.lost.get(row, ()), last]
        return next((one for one in runs if one[1] > when), runs[-1])

    def present(self, when: int) -> Present:
        """The state at ``when``, on the log's clock."""
        known = self.ready <= when
        ended = self.by_end[self.end[self.by_end] <= when]
        start = self.start.copy()
        gone = self.gone.copy()
        for row in self.lost:
            start[row] = gone[row] = self.run_at(row, when)[0]
        runs = np.flatnonzero(self.began & (start <= when) & (self.end > when))
        waits = np.flatnonzero(known & (gone > when))
        machine, queue = self.machine, None
        if isinstance(machine, Site) and has_factors(machine):
            queue = Queue(self.workload, machine)
            queue.count(self.recorded, when)
            machine = queue.usage()
        nodes = self.cpus
        if isinstance(machine, Site):
            machine = as_known(machine, self.epoch + when)
            out = unusable(machine, self.epoch + when)
            nodes = {name: cpus for name, cpus in nodes.items() if name not in out}
        return Present(
            now=self.epoch + when,
            machine=machine,
            running=tuple(self._running(row, int(start[row]), nodes) for row in runs.tolist()),
            waiting=tuple(self._waiting(row, queue, when) for row in waits.tolist()),
            ended=tuple(self._observed(row) for row in ended.tolist()),
            past=tuple(self._arrived(row, when) for row in self.by_ready.tolist() if known[row]),
            until=self.epoch + int(self.workload.submit[-1]),
        )

    def _observed(self, row: int) -> Observed:
        limit, start = int(self.limit[row]), int(self.start[row])
        share = min(1.0, (int(self.end[row]) - start) / limit)
        cpus = self.request(row).cpus
        return Observed(self.users[row], limit, cpus, share, start=self.epoch + start)

    def _running(self, row: int, start: int, nodes: Mapping[str, int]) -> Running:
        request = self.request(row)
        return Running(
            id=str(self.workload.job_id[row]),
            user=self.users[row],
            limit=int(self.limit[row]),
            cpus=request.cpus,
            start=self.epoch + start,
            pieces=(request,) if self.requests is None else self._pieces(row, request, nodes),
            array=self._array(row)._replace(task=NEVER),
        )

    def _array(self, row: int) -> Array:
        if self.requests is None or self.requests.task[row] < 0:
            return NO_ARRAY
        asked = self.requests
        return Array(int(asked.array[row]), int(asked.task[row]), int(asked.throttle[row]))

    def _pieces(self, row: int, request: Request, nodes: Mapping[str, int]) -> tuple[Request, ...]:
        """What a job holds on the nodes that the log names; else as it asked."""
        machine = self.machine
        assert isinstance(machine, Site)
        names = list(self.held[row])
        if not any(name in self.cpus for name in names):
            return (request,)
        held = self.held[row]
        times = {"job": 1, "node": len(names), "task": request.tasks}
        gpus = sum(
            one.count * times[one.per]
            for one in request.gres
            if one.name.partition(":")[0] == "gpu"
        )
        return pieces_on(
            held,
            nodes=nodes,
            like=request,
            memory=memory_on(machine, request, held),
            gpus=even(names, gpus) if gpus else {},
        )

    def _waiting(self, row: int, queue: Queue | None, when: int) -> Waiting:
        ends = [end for _, end in self.lost.get(row, ()) if end <= when]
        begin = ends[-1] + self.again if ends else NEVER
        return Waiting(
            id=str(self.workload.job_id[row]),
            user=self.users[row],
            limit=int(self.limit[row]),
            request=self.request(row),
            begin=self.epoch + begin if begin > when else NEVER,
            priority=None if queue is None else queue.priority(row),
            array=NO_ARRAY if ends else self._array(row),
        )

    def _arrived(self, row: int, when: int) -> Arrived:
        over = self.began[row] and self.end[row] <= when
        return Arrived(
            user=self.users[row],
            limit=int(self.limit[row]),
            request=self.request(row),
            submit=self.epoch + int(self.ready[row]),
            run=int(self.end[row] - self.start[row]) if over else NEVER,
            nice=int(self.requests.nice[row]) if self.requests is not None else 0,
        )


def _arrays_at_once(workload: Workload) -> Requests:
    """The requests with one begin for each array, as its waiting tasks are one record.

    What accounting tells of a task is when its turn in the array came.
    """
    asked = workload.requests
    assert asked is not None
    inside = np.flatnonzero((asked.array >= 0) & (asked.task >= 0))
    if not len(inside):
        return asked
    _, which = np.unique(asked.array[inside], return_inverse=True)
    first = np.full(int(which.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, which, np.maximum(workload.submit, asked.begin)[inside])
    begin = asked.begin.copy()
    begin[inside] = first[which]
    return replace(asked, begin=begin)
