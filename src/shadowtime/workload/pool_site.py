"""A pool as a site of one node: for what only sites know, such as bounds that change over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.site import Node, Site
from shadowtime.workload.bounds import bounded_amounts, bounds_of
from shadowtime.workload.request import Gres, Request
from shadowtime.workload.site_requests import by_kind, column_of

if TYPE_CHECKING:
    from shadowtime.types import Ints
    from shadowtime.workload.workload import Workload


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


def pool_with_bounds(workload: Workload, pool: Cluster) -> tuple[Workload, Cluster] | None:
    """The same with bounds that never change as further resources of the pool, which is faster.

    None where a bound changes, or is too low for a job: it then waits for ever.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.series import Series
    >>> cap = Series(name="power", time=np.array([0]), value=np.array([900.5]))
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[1], extra={"power": np.array([300])})
    >>> asked, counted = pool_with_bounds(jobs.replace(series={"power": cap}), Cluster.pool(4))
    >>> counted, asked.demand.tolist()
    (Cluster(pool:4,power=900), [[1, 300]])
    """
    whole = dict(zip(pool.resources, pool.hosts[0].capacity, strict=True))
    columns: dict[str, Ints] = dict(zip(workload.resources, workload.demand.T, strict=True))
    bounded = bounded_amounts(workload)
    for name in bounded:
        value, column = np.floor(workload.series[name].value), column_of(workload, name)
        if column is None or column.dtype.kind not in "iu" or bool((value != value[0]).any()):
            return None
        whole[name] = int(min(value[0], whole.get(name, value[0])))
        columns[name] = np.maximum(column, 0)
        if columns[name].max(initial=0) > whole[name] or whole[name] < 0:
            return None
    demand = np.ascontiguousarray(np.column_stack(list(columns.values())))
    series = {name: one for name, one in workload.series.items() if name not in bounded}
    made = workload.replace(resources=tuple(columns), demand=demand, series=series)
    host = Host(pool.hosts[0].name, tuple(whole.values()))
    return made, pool.replace(resources=tuple(whole), hosts=(host,))
