"""The groups of jobs that experiments on a site are told by: all, partition, account, QOS, size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics import classify
from shadowtime.types import UNKNOWN
from shadowtime.workload.site_requests import counted_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload

Key = tuple[str, str]
"""What a group is by, and its name."""

BY = ("all", "partition", "account", "qos", "size")
"""What results are grouped by, in this order."""
COLUMN = {"partition": "partition", "account": "group", "qos": "queue", "user": "user"}


@dataclass(frozen=True, eq=False)
class Group:
    """Jobs that are told together."""

    by: str
    name: str
    members: AnyArray
    """True for the jobs in it."""

    @property
    def key(self) -> Key:
        """What it is by, and its name."""
        return self.by, self.name


def groups_of(workload: Workload, by: Sequence[str] = BY) -> list[Group]:
    """The groups that have jobs, in the order of ``by``; the largest first within each.

    Rules
    -----
    Names are the log's own; jobs without an account (or QOS) are a group whose name is empty.
    Sizes are classes of cpus, the smallest first. Jobs that never began are in no group.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> named = {"partition": ("", "long", "short")}
    >>> jobs = Workload.build(
    ...     submit=[0, 1, 2], run=[9, 9, 9], procs=[1, 8, 8], partition=[1, 2, 2], names=named,
    ...     recorded_start=[0, 1, 2],
    ... )
    >>> [(one.name, int(one.members.sum())) for one in groups_of(jobs, ("partition", "size"))]
    [('short', 2), ('long', 1), ('1', 1), ('5-16', 2)]
    """
    counted = counted_jobs(workload)
    found: list[Group] = []
    for kind in by:
        if kind == "all":
            found.append(Group("all", "all", counted))
        elif kind in COLUMN:
            found += _by_name(workload, kind, counted)
        else:
            classes = classify(workload, kind)
            for number, label in enumerate(classes.labels):
                members = counted & (classes.of == number)
                if bool(members.any()):
                    found.append(Group(kind, label, members))
    return found


def _by_name(workload: Workload, kind: str, counted: AnyArray) -> list[Group]:
    column = getattr(workload, COLUMN[kind])
    numbers, counts = np.unique(column[counted], return_counts=True)
    order = sorted(zip(-counts, numbers.tolist(), strict=True))
    return [
        Group(
            kind,
            "" if number == UNKNOWN else workload.name_of(COLUMN[kind], number),
            counted & (column == number),
        )
        for _, number in order
    ]
