"""The table of what users' own functions see of a job and what never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.record import (
    ACCOUNT,
    EXECUTABLE,
    FACTS,
    GPUS,
    MEMORY,
    NODES,
    PARTITION,
    QOS,
    ROW,
    UNKNOWN,
    USER,
)

if TYPE_CHECKING:
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


def no_facts() -> Ints:
    """Where no function asks for them."""
    return np.zeros((1, FACTS), np.int64)


def facts_of(workload: Workload, whose: tuple[int, ...] = ()) -> Ints:
    """The table for a workload; ``whose`` rows of a memory are wanted: written.KEYS by number.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4], user=[7, 2])
    >>> facts_of(jobs, (0,))[:, [ROW, USER, GPUS]].tolist()
    [[1, 7, -1], [0, 2, -1]]
    """
    made = np.full((len(workload), FACTS), UNKNOWN, np.int64)
    keys = (workload.user, workload.group, workload.executable)
    made[:, USER], made[:, ACCOUNT], made[:, EXECUTABLE] = keys
    made[:, ROW : ROW + len(keys)] = 0
    for column in whose:
        made[:, ROW + column] = np.unique(keys[column], return_inverse=True)[1]
    made[:, PARTITION], made[:, QOS] = workload.partition, workload.queue
    for column, name in ((MEMORY, "memory"), (GPUS, "gpus")):
        if name in workload.resources:
            made[:, column] = workload.demand[:, workload.resources.index(name)]
    if workload.requests is not None:
        nodes = np.array([asked.nodes for asked in workload.requests.distinct], np.int64)
        made[:, NODES] = nodes[workload.requests.index]
    return made
