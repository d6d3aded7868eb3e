"""The rows of a log as slurmctld's records, and when they enter the queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.engine.priority.factors import default_memory
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.job import Job

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.phase import Phase
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Request, Requests

FIRST_PRIORITY = 4_294_901_759
"""What priority/basic gives the first job; every further one gets one less."""
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
    workload: Workload, requests: Requests, site: Site, machine: Machine, phase: Phase
) -> Submissions:
    """The records of a log; a begin time holds a record back.

    An array waits from the first moment one of its tasks may: the eligible time of a later task
    is that of its own start.
    """
    found = Submissions()
    arrays: dict[int, Job] = {}
    ready_at: dict[int, float] = {}
    asks: dict[int, tuple[tuple[str, ...], Ask]] = {}
    """By the place of the request: logs hold many jobs and few requests."""
    names = workload.names.get("user", ()) if workload.names else ()
    priority = FIRST_PRIORITY
    for row in range(len(workload)):
        array = int(requests.array[row])
        submit = float(workload.submit[row])
        ready = max(submit, float(requests.begin[row]))
        if array >= 0 and array in arrays:
            job = arrays[array]
            task = int(requests.task[row])
            job.tasks.append(task)
            job.tasks.sort()
            found.rows[job.id, task] = row
            ready_at[array] = min(ready_at[array], ready)
            continue
        request = requests[row]
        kind = int(requests.index[row])
        if kind not in asks:
            asks[kind] = _ask(request, site, machine)
        partitions, ask = asks[kind]
        user = int(workload.user[row])
        job = Job(
            id=row + 1,
            ask=ask,
            limit=int(workload.limit[row]),
            record=row,
            user=names[user] if 0 <= user < len(names) else str(user),
            account=request.account,
            qos=request.qos,
            partitions=partitions,
            priority=priority,
            submit=int(submit),
            eligible=int(submit),
            least_time=max(0, int(requests.least_time[row])),
            licences=request.licences,
            nice=int(requests.nice[row]),
            reservation=request.reservation,
            throttle=int(requests.throttle[row]),
            requeues=bool(requests.requeue[row]),
        )
        priority -= 1
        if array >= 0:
            arrays[array] = job
            job.array = job.id
            job.tasks = [int(requests.task[row])]
            found.rows[job.id, job.tasks[0]] = row
            ready_at[array] = ready
        else:
            found.rows[job.id, None] = row
            part = phase.part_of_second(row, SUBMIT_STEP)
            found.arrivals.append((max(submit + part, float(requests.begin[row])), job))
    for array, job in arrays.items():
        part = phase.part_of_second(job.record, SUBMIT_STEP)
        found.arrivals.append((ready_at[array] + part, job))
    return found


def _ask(request: Request, site: Site, machine: Machine) -> tuple[tuple[str, ...], Ask]:
    """Where a request goes and what it asks for there."""
    partitions = tuple(request.partitions)
    if not partitions:
        default = next((one for one in site.partitions if one.default), None)
        partitions = (default.name,) if default else tuple(machine.sections)[:1]
    memory, per_cpu = default_memory(site, partitions[0])
    ask = ask_of(request, machine, default_memory=memory, default_memory_per_cpu=per_cpu)
    return partitions, ask
