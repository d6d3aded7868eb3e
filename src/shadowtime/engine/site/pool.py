"""A pool as a site of one node: for what only the site's event loop knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cluster.site import Node, Site
from shadowtime.engine.site.simulate import simulate_site
from shadowtime.workload.request import Gres, Request, Requests

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.watch import Watch
    from shadowtime.policy import Policy
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload


def simulate_as_site(
    workload: Workload, pool: Cluster, policy: Policy, *, watch: Watch | None = None
) -> Schedule:
    """Run jobs that may leave the queue unstarted on a pool: the same starts as a pool's passes.

    Examples
    --------
    >>> import numpy as np
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 4, 1],
    ...                       extra={"cancel_at": np.array([-1, 5, -1])})
    >>> simulate_as_site(jobs, Cluster.pool(4), parse_policy("easy")).start.tolist()
    [0, -1, 9]
    """
    resources = ("cpus", *pool.resources[1:])
    site = Site(
        nodes=(Node(name=pool.name or "pool", amounts=pool.hosts[0].capacity),),
        resources=resources,
        name=pool.name,
    )
    columns = {name: k for k, name in enumerate(workload.resources)}
    named = [name for name in pool.resources[1:] if name in columns]
    each = []
    for row in workload.demand.tolist():
        amounts = {name: row[columns[name]] for name in named}
        memory = amounts.pop("memory", 0) or None
        gres = tuple(Gres(name=name, count=count) for name, count in amounts.items() if count)
        each.append(Request(tasks=row[0], max_nodes=1, memory=memory, gres=gres))
    asking = workload.replace(requests=Requests.of_jobs(each))
    made = simulate_site(asking, site, policy, watch=watch)
    return made.replace(place=None)
