"""Which jobs were delayed by which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.frozen import dataclass
from shadowtime.metrics.fair_start import fair_starts
from shadowtime.metrics.measure import matched
from shadowtime.schedule.active import running_at
from shadowtime.schedule.runs import runs

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class Delays:
    """Pairs of rows: a delayed job and a later job that held processors at its fair start."""

    delayed: Ints
    by: Ints
    fair_start: Ints
    until: Ints
    """When the later job's run ended."""

    def __len__(self) -> int:
        return len(self.delayed)


def delayed_by(schedule: Schedule, workload: Workload, cluster: Cluster) -> Delays:
    """For every job that started after its strictly fair start (FST): the later jobs running then.

    Without them the job could have started at that moment. Pairs are sorted by the delayed job,
    then by the later one.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 0, 0], run=[3, 4, 5], procs=[3, 4, 1], recorded_start=[0, 5, 0])
    >>> s = Schedule.recorded(w).replace(
    ...     blocked_at=np.array([-1, 0, -1]), reason=np.array([1, 2, 3], np.int8))
    >>> found = delayed_by(s, w, Cluster.pool(4))
    >>> found.delayed.tolist(), found.by.tolist(), found.fair_start.tolist()
    ([1], [2], [3])
    """
    schedule = matched(schedule, workload)
    fair = fair_starts(schedule, workload, cluster)
    late = np.flatnonzero(fair.delay > 0)
    going = runs(schedule)
    jobs, culprits = [fair.row[:0]], [fair.row[:0]]
    for k, found in running_at(going, fair.fst[late]):
        later = found[going.row[found] > fair.row[late[k]]]
        jobs.append(np.full(len(later), late[k]))
        culprits.append(later)
    of, run = np.concatenate(jobs), np.concatenate(culprits)
    order = np.lexsort((going.row[run], fair.row[of]))
    of, run = of[order], run[order]
    return Delays(
        delayed=fair.row[of], by=going.row[run], fair_start=fair.fst[of], until=going.until[run]
    )
