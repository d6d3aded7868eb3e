"""The rows of a log as slurmctld's records, and when they enter the queue.

A begin time holds a record back; so do the jobs that it waits for (spec: slurm 12.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.cluster.amounts import amounts_taken
from shadowtime.cluster.memory_bound import bounded
from shadowtime.engine.priority.factors import default_memory
from shadowtime.slurm.ask import Ask, ask_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.limits import Submitter
from shadowtime.slurm.machine import UNBOUNDED
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Request, Requests

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.slurm.phase import Phase
    from shadowtime.slurm.state import SlurmState

FIRST_PRIORITY = 4_294_901_759
"""The priority of the first job under priority/basic; every further one gets one less."""
SUBMIT_STEP = 0.4142
"""Parts of seconds of submissions, from row to row."""


@dataclass(slots=True)
class Submissions:
    """Records in the order of the log; the tasks of an array are one record until they start."""

    arrivals: list[tuple[float, Job]] = field(default_factory=list)
    """When each record enters the queue."""
    rows: dict[tuple[int, int | None], int] = field(default_factory=dict)
    """(record, task) to row."""


def submissions(
    workload: Workload, requests: Requests, site: Site, state: SlurmState, phase: Phase
) -> Submissions:
    """The records of a log; a begin time holds a record back.

    An array waits from the first moment one of its tasks may: the eligible time of a later task
    is that of its own start. A task that the log holds twice is a job of its own the second time.
    A row of an array without a task is one of its tasks that runs already: a job of its own that
    the throttle counts.
    """
    found = Submissions()
    arrays: dict[int, Job] = {}
    begun: list[tuple[int, Job]] = []
    """Tasks that run already, with the numbers of their arrays."""
    ready_at: dict[int, float] = {}
    asks: dict[tuple[int, str], tuple[tuple[str, ...], Ask]] = {}
    """By the place of the request: logs hold many jobs and few requests. And by the user, where
    limits on nodes may be a user's own."""
    same: dict[tuple[Ask, tuple[tuple[str, Ask], ...]], Ask] = {}
    """Requests that differ in account or QOS alone ask for the same, as one object."""
    names = workload.names.get("user", ()) if workload.names else ()
    priority = FIRST_PRIORITY
    for row in range(len(workload)):
        array = int(requests.array[row])
        submit = float(workload.submit[row])
        ready = max(submit, float(requests.begin[row]))
        task = int(requests.task[row])
        if array >= 0 and array in arrays and task not in arrays[array].tasks:
            job = arrays[array]
            job.tasks.append(task)
            job.tasks.sort()
            found.rows[job.id, task] = row
            ready_at[array] = min(ready_at[array], ready)
            continue
        request = requests[row]
        number = int(workload.user[row])
        user = names[number] if 0 <= number < len(names) else str(number)
        kind = int(requests.index[row]), user if "node" in state.accounts.bounded else ""
        if kind not in asks:
            where, made = asked_on_site(request, site, state, user)
            asks[kind] = where, same.setdefault((made, made.elsewhere), made)
        partitions, ask = asks[kind]
        job = Job(
            id=row + 1,
            ask=ask,
            limit=int(workload.limit[row]),
            record=row,
            user=user,
            account=request.account,
            qos=request.qos,
            partitions=partitions,
            priority=priority,
            submit=int(submit),
            eligible=int(submit),
            least_time=max(0, int(requests.least_time[row])),
            licences=amounts_taken(request.amounts, site.amounts),
            nice=int(requests.nice[row]),
            reservation=request.reservation,
            throttle=int(requests.throttle[row]),
            requeues=bool(requests.requeue[row]),
        )
        priority -= 1
        if array >= 0 and task >= 0 and array not in arrays:
            arrays[array] = job
            job.array = job.id
            job.tasks = [task]
            found.rows[job.id, job.tasks[0]] = row
            ready_at[array] = ready
        else:
            found.rows[job.id, None] = row
            if array >= 0 and task < 0:
                begun.append((array, job))
            part = phase.part_of_second(row, SUBMIT_STEP)
            found.arrivals.append((max(submit + part, float(requests.begin[row])), job))
    for array, job in arrays.items():
        part = phase.part_of_second(job.record, SUBMIT_STEP)
        found.arrivals.append((ready_at[array] + part, job))
    for array, job in begun:
        job.array = arrays[array].id if array in arrays else 0
    return found


def asked_on_site(
    request: Request, site: Site, state: SlurmState, user: str = ""
) -> tuple[tuple[str, ...], Ask]:
    """Where a request goes, and what it asks for before a partition's rules add to it.

    Up to 23.11.5 the test at its submission, in the first of them, makes it a job on whole nodes
    for good where that partition is exclusive (spec: slurm 4.15).
    """
    machine = state.machine
    partitions = tuple(request.partitions)
    if not partitions:
        default = next((one for one in site.partitions if one.default), None)
        partitions = (default.name,) if default else tuple(machine.sections)[:1]
    memory, per_cpu = default_memory(site, partitions[0])
    first = machine.first_section(partitions)
    for_good = None if state.parameters.rules.sharing_restored else first

    def asked(request: Request) -> Ask:
        ask = ask_of(request, machine, default_memory=memory, default_memory_per_cpu=per_cpu)
        if for_good is not None and for_good.exclusive:
            return replace(ask.on(for_good), least_loaded=ask.least_loaded, cpu_pool=-1)
        return ask

    who = Submitter(request.qos, request.account, user)
    named = [machine.sections[name] for name in partitions if name in machine.sections]
    least = min((one.min_nodes for one in named), default=0)
    if request.max_nodes and max(request.max_nodes, request.nodes) < least:
        least = 0
    ask = asked(request).between(least, UNBOUNDED)
    for one in site.partitions:
        if one.name not in partitions:
            continue
        other = ask
        if one.cpus_per_gpu(request) != request.cpus_per_gpu:
            per_gpu = one.cpus_per_gpu(request)
            other = asked(replace(request, cpus_per_gpu=per_gpu)).between(least, UNBOUNDED)
        if one.max_memory is not None:
            other = replace(ask, suits=0)
            found = bounded(
                request, one, site.nodes_by_name, in_tasks=state.parameters.rules.memory_in_tasks
            )
            if found is not None:
                made = asked(found.of(request))
                other = replace(made, min_cpus=max(found.cpus, made.min_nodes))
                if found.memory_per == "cpu" and not request.least_cpus:
                    # A node's least stays what it was before tasks got more cpus.
                    other = replace(other, least_cpus=ask.least_cpus)
        lifted = ask.fixed_nodes and state.accounts.flagged(who, "partitionmaxnodes")
        most = UNBOUNDED if lifted else one.max_nodes or UNBOUNDED
        limit = state.accounts.most_nodes(who, machine.sections[one.name])
        if limit is not None and limit >= other.min_nodes:
            most = min(most, limit)
        other = other.between(0, most)
        if other is not ask:
            ask.instead(machine.sections[one.name], other)
    return partitions, ask


FAILED, CANCELLED = 0, 5
"""The Standard Workload Format's numbers for how a job ended."""


class Held(NamedTuple):
    """A job that waits for others, its rows or those of its tasks, and its place among all."""

    job: Job
    rows: list[int]
    place: int


class Dependencies:
    """Which rows wait for which, and the state of those.

    Rules
    -----
    An array has ended when all its tasks have. Jobs that the log lacks delay no other.
    ``afterok`` and ``aftercorr`` require success, ``afternotok`` failure, ``afterany`` any end,
    ``after`` a start; a job that left the queue without a start has failed. ``singleton`` waits for
    all earlier jobs of the same user and name.
    """

    def __init__(self, workload: Workload, requests: Requests) -> None:
        self.workload, self.requests = workload, requests
        self.wishes: dict[int, list[tuple[Dependency, list[int]]]] = {}
        status = workload.status
        good = (workload.run <= workload.limit) & (status != FAILED) & (status != CANCELLED)
        self.good = good.tolist()
        self.held: dict[int, Held] = {}
        """Submitted jobs whose dependencies are not met, by id: in no pass."""
        self.dependents: dict[int, list[int]] = {}
        """Rows that wait for a row."""
        self._holder: dict[int, Held] = {}
        """The held job that a row belongs to."""
        self._news: set[int] = set()
        """Places of held jobs for which something has changed since the last check."""
        self._places: dict[int, Held] = {}
        self._count = 0
        self.started: set[int] = set()
        self.ended: dict[int, bool] = {}
        """Rows that have ended, and whether they ended well."""
        place = {number: row for row, number in enumerate(workload.job_id.tolist())}
        for one in requests.dependencies:
            others = self._singles(one.job) if one.kind == "singleton" else []
            for number in one.on:
                if number in place:
                    others += self._tasks(place[number])
            self.wishes.setdefault(one.job, []).append((one, others))
            for other in others:
                self.dependents.setdefault(other, []).append(one.job)

    def _singles(self, row: int) -> list[int]:
        work = self.workload
        same = (work.user == work.user[row]) & (work.executable == work.executable[row])
        return [int(other) for other in np.flatnonzero(same[:row])]

    def _tasks(self, row: int) -> list[int]:
        array = int(self.requests.array[row])
        if array < 0:
            return [row]
        return [int(other) for other in np.flatnonzero(self.requests.array == array)]

    def start(self, row: int) -> None:
        """A row has started."""
        self.started.add(row)
        self._note(row)

    def end(self, row: int, *, cancelled: bool = False) -> None:
        """A row has ended, or left the queue."""
        self.ended[row] = self.good[row] and not cancelled
        self._note(row)

    def _note(self, row: int) -> None:
        """A row has changed: held jobs that wait for it are checked again."""
        for other in self.dependents.get(row, ()):
            if other in self._holder:
                self._news.add(self._holder[other].place)

    def hold(self, job: Job, rows: list[int]) -> None:
        """Hold a job that waits for others; ``rows`` are its own, or those of its tasks."""
        self._count += 1
        held = self.held[job.id] = self._places[self._count] = Held(job, rows, self._count)
        self._holder |= dict.fromkeys(rows, held)
        self._news.add(held.place)

    def leave(self, row: int) -> None:
        """A row left the queue before it began."""
        self.end(row, cancelled=True)
        held = self._holder.pop(row, None)
        if held is None:
            return
        job, rows, place = held
        if job.tasks:
            del job.tasks[rows.index(row)]
        rows.remove(row)
        self._news.add(place)
        if not rows:
            self._let_go(held)

    def released(self, *, kill_invalid: bool) -> list[Job]:
        """Held jobs whose dependencies are met by now; they are held no longer.

        With ``kill_invalid`` a job whose dependency can no longer be met is cancelled, which
        others may have waited for. Jobs are checked in the order of their arrival, repeatedly until
        none is cancelled; only those for which something has changed.
        """
        found = []
        while self._news:
            turn, self._news = sorted(self._news), set()
            while turn:
                held = self._places[heappop(turn)]
                if self.met(held.rows):
                    self._let_go(held)
                    found.append(held.job)
                elif kill_invalid and self.hopeless(held.rows):
                    self._let_go(held)
                    for row in held.rows:
                        self.end(row, cancelled=True)
                    later = {place for place in self._news if place > held.place}
                    self._news -= later
                    for place in later.difference(turn):
                        heappush(turn, place)
        return found

    def _let_go(self, held: Held) -> None:
        """A job is held no longer."""
        del self.held[held.job.id], self._places[held.place]
        self._news.discard(held.place)
        for row in held.rows:
            del self._holder[row]

    def met(self, rows: Iterable[int]) -> bool:
        """True if jobs of these rows may be considered."""
        return all(self._met(row) for row in rows if row in self.wishes)

    def _met(self, row: int) -> bool:
        answers = [self._holds(one.kind, others) for one, others in self.wishes[row]]
        either = [a for a, (one, _) in zip(answers, self.wishes[row], strict=True) if one.any_of]
        rest = [a for a, (one, _) in zip(answers, self.wishes[row], strict=True) if not one.any_of]
        return all(rest) and (any(either) or not either)

    def _holds(self, kind: str, others: list[int]) -> bool:
        if kind == "after":
            return all(other in self.started or other in self.ended for other in others)
        if any(other not in self.ended for other in others):
            return False
        ends = [self.ended[other] for other in others]
        if kind in ("afterok", "aftercorr"):
            return all(ends)
        return kind != "afternotok" or not ends or not all(ends)

    def hopeless(self, rows: Iterable[int]) -> bool:
        """True where a dependency of these rows can no longer be met (DependencyNeverSatisfied)."""
        return any(
            not one.any_of
            and one.kind in ("afterok", "aftercorr", "afternotok")
            and bool(others)
            and all(other in self.ended for other in others)
            and not self._holds(one.kind, others)
            for row in rows
            for one, others in self.wishes.get(row, ())
        )
