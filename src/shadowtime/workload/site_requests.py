"""Requests of a log that knows processors and memory alone, and a job as it is typed.

Also a pool as a site of one node: for what only sites know, such as bounds that change over time.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload.request import Gres, Request, Requests
from shadowtime.workload.series import bounded_amounts, bounds_of
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.workload.series import Series


def requests_of(workload: Workload, site: Site) -> Requests:
    """What the jobs ask of a site: the workload's own requests, or those its columns imply.

    A column ``cancel_at`` beside requests without cancellations counts as theirs.
    """
    if workload.requests is None:
        return default_requests(workload, site)
    cancel = workload.extra.get("cancel_at")
    if cancel is None or bool((workload.requests.cancel_at >= 0).any()):
        return workload.requests
    return replace(workload.requests, cancel_at=np.asarray(cancel, np.int64))


def default_requests(workload: Workload, site: Site) -> Requests:
    """Requests of a log that knows processors and further columns alone: tasks spread freely.

    Memory of the whole job is taken per cpu, rounded up; other columns are amounts of the whole
    site, where it counts those, or a GRES of the job.
    """
    made: dict[tuple[int, ...], int] = {}
    distinct: list[Request] = []
    have = [name for name in workload.resources if name in site.resources and name != "cpus"]
    columns = [workload.demand[:, 0]]
    columns += [workload.demand[:, workload.resources.index(name)] for name in have]
    found = {name: column_of(workload, name) for name in site.amounts}
    counted = {name: np.maximum(column, 0) for name, column in found.items() if column is not None}
    columns += counted.values()
    index = np.empty(len(workload), np.int64)
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if values not in made:
            made[values] = len(distinct)
            memory = None
            gres = []
            for name, amount in zip(have, values[1:], strict=False):
                if name == "memory":
                    memory = math.ceil(amount / values[0]) or None
                elif amount:
                    gres.append((name, amount))
            plain = plain_request(values[0], memory, tuple(gres))
            taken = zip(counted, values[1 + len(have) :], strict=True)
            distinct.append(replace(plain, amounts=tuple(one for one in taken if one[1])))
        index[row] = made[values]
    asked = by_kind(distinct, index)
    cancel = workload.extra.get("cancel_at")
    return asked if cancel is None else replace(asked, cancel_at=np.asarray(cancel, np.int64))


def column_of(workload: Workload, name: str) -> Ints | None:
    """What each job takes of an amount, by the log's own columns or by its requests."""
    if workload.requests is not None:
        each = [dict(one.amounts).get(name, 0) for one in workload.requests.distinct]
        found: Ints = np.array(each, np.int64)[workload.requests.index]
        return found
    if name in workload.resources:
        return workload.demand[:, workload.resources.index(name)]
    return workload.extra.get(name)


def by_kind(distinct: list[Request], index: Ints) -> Requests:
    """Requests of jobs by the place of each one's kind."""
    made = Requests.of_jobs(distinct[:1] * len(index))
    return replace(made, distinct=tuple(distinct), index=index)


def plain_request(procs: int, memory: int | None, gres: tuple[tuple[str, int], ...]) -> Request:
    """Processors as tasks, memory per cpu."""
    asked = tuple(Gres(name=name, count=count, per="job") for name, count in gres)
    return Request(tasks=procs, memory=memory, memory_per="cpu", gres=asked)


def counted_jobs(workload: Workload) -> AnyArray:
    """True for the jobs whose waits count: all but those cancelled while they waited.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 1], run=[9, 9], procs=[1, 1], extra={"cancel_at": np.array([-1, 5])}
    ... )
    >>> counted_jobs(jobs).tolist()
    [True, False]
    """
    return cancelled_at(workload) < 0


def cancelled_at(workload: Workload) -> Ints:
    """When each job was cancelled while it waited, -1 where it was not."""
    cancel = workload.extra.get("cancel_at")
    if workload.requests is not None and bool((workload.requests.cancel_at >= 0).any()):
        cancel = workload.requests.cancel_at
    if cancel is None:
        return np.full(len(workload), UNKNOWN, np.int64)
    return np.asarray(cancel, np.int64)


def array_ids(workload: Workload) -> dict[int, str]:
    """The tasks of arrays by id, as Slurm shows them.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> asked = Requests.of_jobs([Request()] * 2, array=[21, -1], task=[3, -1])
    >>> array_ids(Workload.build(submit=[0, 0], run=[1, 1], procs=[1, 1], requests=asked))
    {1: '21_3'}
    """
    asked = workload.requests
    if asked is None:
        return {}
    columns = zip(workload.job_id.tolist(), asked.array.tolist(), asked.task.tolist(), strict=True)
    return {job: f"{array}_{task}" for job, array, task in columns if array >= 0 and task >= 0}


def row_of_job(workload: Workload, text: str) -> int | None:
    """The row of a job by its number, or of a task by its array and index; None if there is none.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[1, 1], procs=[1, 1])
    >>> row_of_job(jobs, "2"), row_of_job(jobs, "3"), row_of_job(jobs, "2_1")
    (1, None, None)
    """
    wanted = {name: number for number, name in array_ids(workload).items()}.get(text)
    if wanted is None:
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            return None
        wanted = int(text)
    found = np.flatnonzero(workload.job_id == wanted)
    return int(found[0]) if len(found) else None


NEAR = 5
"""Number of nearby job numbers suggested for one that does not exist."""


def job_number(text: str, workload: Workload, folder: str) -> int:
    """The job's number, if there is such a job; a task of an array by its array and index."""
    row = row_of_job(workload, text)
    if row is not None:
        return int(workload.job_id[row])
    array, mark, task = text.partition("_")
    if mark and array.isdigit() and task.isdigit():
        tasks = [name for name in array_ids(workload).values() if name.startswith(f"{array}_")]
        known = f"it has {', '.join(tasks[:NEAR])}" + (" ..." if len(tasks) > NEAR else "")
        raise UsageError(
            f"there is no task {text} in {folder}: "
            + (known if tasks else f"there is no array {array}")
        )
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UsageError(f"{text!r} is not a job number: those of {folder} {_range(workload)}")
    wanted = int(text)
    ordered = np.sort(workload.job_id)
    distance = [abs(int(one) - wanted) for one in ordered]
    near = sorted(int(ordered[i]) for i in np.argsort(distance, kind="stable")[:NEAR])
    raise UsageError(
        f"there is no job {wanted} in {folder}: the nearest are {', '.join(map(str, near))} "
        f"(job numbers {_range(workload)}; jobs dropped by cleaning are excluded)"
    )


def _range(workload: Workload) -> str:
    return f"go from {int(workload.job_id.min())} to {int(workload.job_id.max())}"


def pool_as_site(workload: Workload, pool: Cluster) -> tuple[Workload, Site]:
    """A pool as a site of one node, and its jobs with requests.

    An amount that has a series as its bound belongs to the site, any other resource to the node.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[4, 4])
    >>> asked, site = pool_as_site(jobs, Cluster.pool(4))
    >>> site, asked.requests[0].tasks
    (Site(1 node, 4 cpus), 4)
    """
    from shadowtime.cluster.site import Node, Site  # few pools have what only sites know

    whole = dict(zip(pool.resources, pool.hosts[0].capacity, strict=True))
    bounds = bounds_of(workload, whole)
    own = {name: count for name, count in whole.items() if name not in bounds}
    site = Site(
        nodes=(Node(name=pool.name or "pool", amounts=tuple(own.values())),),
        resources=("cpus", *list(own)[1:]),
        amounts={name: count for name, count in whole.items() if name in bounds},
        name=pool.name,
    )
    columns = {name: column_of(workload, name) for name in (*site.resources[1:], *bounds)}
    known = {name: np.maximum(one, 0) for name, one in columns.items() if one is not None}
    rows = np.column_stack([workload.demand[:, 0], *known.values()])
    unlike, index = np.unique(rows, axis=0, return_inverse=True)
    distinct = []
    for tasks, *taken in unlike.tolist():
        named = {name: count for name, count in zip(known, taken, strict=True) if count}
        memory = named.pop("memory", None)
        of_site = tuple((name, named.pop(name)) for name in bounds if name in named)
        gres = tuple(Gres(name=name, count=count) for name, count in named.items())
        distinct.append(
            Request(tasks=tasks, max_nodes=1, memory=memory, gres=gres, amounts=of_site)
        )
    return workload.replace(requests=by_kind(distinct, index.reshape(-1))), site


class Counted(NamedTuple):
    """A pool that counts bounded amounts as resources, its jobs, and how the bounds change."""

    workload: Workload
    pool: Cluster
    time: Ints
    """When a bound changes; the first step holds before it, too. Empty: none ever changes."""
    missing: Ints
    """How much of each resource is missing from then on."""


def pool_with_bounds(workload: Workload, pool: Cluster) -> Counted | None:
    """The same with bounded amounts as further resources of the pool, which is faster.

    None where a bound is too low for a job, which then waits for ever.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.series import Series
    >>> cap = Series(name="power", time=np.array([0, 60]), value=np.array([900.5, 400]))
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[1], extra={"power": np.array([300])})
    >>> made = pool_with_bounds(jobs.replace(series={"power": cap}), Cluster.pool(4))
    >>> made.pool, made.workload.demand.tolist(), made.time.tolist(), made.missing.tolist()
    (Cluster(pool:4,power=900), [[1, 300]], [0, 60], [[0, 0], [0, 500]])
    """
    whole = dict(zip(pool.resources, pool.hosts[0].capacity, strict=True))
    columns: dict[str, Ints] = dict(zip(workload.resources, workload.demand.T, strict=True))
    bounded = bounded_amounts(workload)
    level = {name: np.floor(workload.series[name].value) for name in bounded}
    moves = [name for name in bounded if (level[name] != level[name][0]).any()]
    changing: dict[str, Series] = {}
    if moves or any(value[0] < 0 for value in level.values()):  # which is refused there
        bounds = bounds_of(workload, whole)
        changing = {name: bounds[name] for name in moves}
    for name in bounded:
        highest = changing[name].value.max() if name in changing else level[name][0]
        whole[name] = int(min(highest, whole.get(name, highest)))
        column = column_of(workload, name)
        if column is None or column.dtype.kind not in "iu":
            return None
        if int(column.max(initial=0)) > whole[name]:
            return None
        columns[name] = column if int(column.min(initial=0)) >= 0 else np.maximum(column, 0)
    demand = np.empty((len(workload), len(columns)), np.int64)
    for k, column in enumerate(columns.values()):
        demand[:, k] = column
    series = {name: one for name, one in workload.series.items() if name not in bounded}
    counts = workload.replace(resources=tuple(columns), demand=demand, series=series)
    host = Host(pool.hosts[0].name, tuple(whole.values()))
    times = [one.time for one in changing.values()] or [np.zeros(0, np.int64)]
    time = times[0] if len(times) == 1 else np.unique(np.concatenate(times))
    missing = np.zeros((len(time), len(whole)), np.int64)
    kept = np.arange(len(time)) == 0
    for name, one in changing.items():
        value = one.value
        if one.time is not time:
            value = value[np.maximum(np.searchsorted(one.time, time, side="right") - 1, 0)]
        missing[:, list(whole).index(name)] = whole[name] - value
        kept[1:] |= value[1:] != value[:-1]
    counted = pool.replace(resources=tuple(whole), hosts=(host,))
    return Counted(counts, counted, time[kept].astype(np.int64), missing[kept])
