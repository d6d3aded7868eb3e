"""A pool as a site of one node: for what only the site's event loop knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.site.simulate import simulate_site
from shadowtime.workload.pool_site import pool_as_site

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.watch import Watch
    from shadowtime.policy import Policy
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload


def simulate_as_site(
    workload: Workload, pool: Cluster, policy: Policy, *, watch: Watch | None = None
) -> Schedule:
    """Run jobs on a pool as on a site of one node: the same starts as a pool's passes.

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
    asked, site = pool_as_site(workload, pool)
    return simulate_site(asked, site, policy, watch=watch).replace(place=None)
