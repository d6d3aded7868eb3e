"""Jobs that take a whole host while they run (spec: algorithms 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.cluster.cluster import Cluster
    from shadowtime.types import SmallInts
    from shadowtime.workload import Workload


def dedicated(workload: Workload, cluster: Cluster) -> SmallInts:
    """1 for every job above one of the cluster's dedicated limits, 0 for the rest.

    The limits are the cluster's option ``dedicated``: a most by resource. The option
    ``dedicated_exclusive`` set to no leaves such jobs space-shared.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> machine = Cluster.pool(128).replace(options={"dedicated": {"procs": 64}})
    >>> dedicated(Workload.build(submit=[0, 0], run=[1, 1], procs=[64, 65]), machine).tolist()
    [0, 1]
    """
    marks = np.zeros(len(workload), np.int8)
    if not cluster.options.get("dedicated_exclusive", True):
        return marks
    for name, most in cluster.options.get("dedicated", {}).items():
        if name in workload.resources:
            marks |= workload.demand[:, workload.resources.index(name)] > most
    return marks
