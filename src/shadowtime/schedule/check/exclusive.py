"""A dedicated job has its host to itself while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.dedicated import dedicated
from shadowtime.schedule.check.hosts import entries_of
from shadowtime.schedule.check.report import Proof, not_made, proved, violated
from shadowtime.schedule.timeline import instants, totals
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case

NAME = "dedicated-alone"


def dedicated_alone(case: Case) -> Proof | None:
    """Nobody else is on a host while a dedicated job runs there.

    Nothing to say where the machine takes no job for dedicated: it is not one of hosts, has no
    limits, or lets such jobs share.

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 2.1.
    """
    if case.cluster.shape != "hosts" or len(case.workload) == 0:
        return None
    alone = dedicated(case.workload, case.cluster)
    if not alone.any():
        return None
    if case.schedule.place is None:
        return not_made(NAME, "the schedule has no column place")
    entries = entries_of(case)
    known = entries.host != UNKNOWN
    row, host = entries.row[known], entries.host[known]
    if len(row) == 0:
        return not_made(NAME, "no job ran on a host of the cluster")
    start, end = case.schedule.start[row], case.schedule.end[row]
    length = int(end.max()) + 1  # the hosts' time axes end to end, as for their capacity
    since, until = host * length + start, host * length + end
    at = instants(since, until)
    weight = np.stack([np.ones(len(row), np.int64), alone[row].astype(np.int64)], axis=1)
    there = totals(at, since, until, weight)
    crowded = np.flatnonzero((there[:, 1] > 0) & (there[:, 0] > 1))
    if len(crowded) == 0:
        return proved(NAME, f"{int(alone[row].sum())} dedicated jobs, each alone on its host")
    when = int(at[crowded[np.argmin(at[crowded] % length)]])
    both = row[(since <= when) & (when < until)]
    mine = int(both[np.argmax(alone[both])])
    other = int(both[both != mine][0])
    name = case.cluster.hosts[when // length].name
    return violated(
        NAME,
        f"at {when % length} s {case.name(other)} shares {name} with {case.name(mine)}, which "
        f"takes the whole host",
    )
