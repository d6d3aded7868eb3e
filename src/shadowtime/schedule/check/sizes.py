"""The sizes at which moldable jobs were started, and the runs that follow from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, proved, such, violated
from shadowtime.workload.moldable import COLUMN, as_started, serial_of

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule.check.rules import Rules
    from shadowtime.schedule.match import Match

NAME = "sizes-allowed"


def sizes_allowed(found: Match, cluster: Cluster) -> Proof | None:
    """Only moldable jobs run on other processors than they asked for, and no more than there are.

    None where no job is moldable. How long each must run at its size is proved with its limit.
    """
    workload, procs = found.workload, found.schedule.procs
    if COLUMN not in workload.extra:
        return None
    moldable = serial_of(workload) >= 0
    other = procs != workload.procs
    most = max(host.capacity[0] for host in cluster.hosts)
    for wrong, what in (
        (other & ~moldable, "has no speed-up in its column serial, and so a fixed size"),
        (moldable & ((procs < 1) | (procs > most)), f"may have 1 to {most}"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = int(rows[0])
            return violated(
                NAME,
                f"job {workload.job_id[row]} runs on {procs[row]} processors and asked for "
                f"{workload.procs[row]}: it {what}{such(len(rows), 'jobs')}",
            )
    count = int((other & moldable).sum())
    return proved(NAME, f"{count} of {int(moldable.sum())} moldable jobs started at another size")


def at_started_sizes(found: Match, rules: Rules | None) -> tuple[Match, Rules | None]:
    """The jobs and the policy's limits at the sizes at which the schedule started them."""
    made = as_started(found.workload, found.schedule)
    if rules is not None and np.array_equal(rules.limit, found.workload.limit):
        rules = replace(rules, limit=made.limit)
    return replace(found, workload=made), rules
