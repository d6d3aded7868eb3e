"""What a store knows of a workload's tags, for a simulation to begin with.

In a simulation the store is two numbers a tag, sum and count; the database only loads them before
and takes the records of a run afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.hperf import open_store
from shadowtime.hperf.record import Record
from shadowtime.types import Floats
from shadowtime.workload import Workload
from shadowtime.workload.hperf_jobs import tag_name

if TYPE_CHECKING:
    from shadowtime.hperf.store import Average
    from shadowtime.schedule import Schedule


def load(where: str, workload: Workload) -> dict[int, Average]:
    """The averages of a workload's tags, by the tags' numbers; unknown tags are not among them."""
    known = open_store(where, must_exist=True).averages()
    column = workload.extra.get("tag", workload.executable)
    names = {tag: tag_name(workload, tag) for tag in np.unique(column).tolist() if tag >= 0}
    return {tag: known[name] for tag, name in names.items() if name in known}


def records_of(schedule: Schedule, workload: Workload, measured: Floats) -> list[Record]:
    """The records that a simulated run leaves, given what was measured of each job (MB/s)."""
    column = workload.extra.get("tag", workload.executable).tolist()
    return [
        Record(
            tag=tag_name(workload, column[i]),
            bandwidth=float(measured[i]),
            elapsed=float(schedule.end[i] - schedule.start[i]),
            width=int(workload.procs[i]),
            key=f"{schedule.policy[:60]}/{workload.name[:60]}/{int(schedule.job_id[i])}",
            finished=int(schedule.end[i]),
            source="simulated",
        )
        for i in range(len(workload))
        if column[i] >= 0
    ]
