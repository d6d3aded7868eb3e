"""A pool as a site of one node: for what only sites know, such as bounds that change over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.site import Node, Site
from shadowtime.types import Ints
from shadowtime.workload.bounds import bounded_amounts, bounds_of
from shadowtime.workload.request import Gres, Request
from shadowtime.workload.site_requests import by_kind, column_of
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.workload.series import Series


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
