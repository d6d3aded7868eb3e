"""Groups of jobs by name or number: all, partition, account, QOS, user, GPUs, nodes, size, ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.metrics.classes import KINDS, classify
from shadowtime.metrics.where import number_of
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload, site_requests

Key = tuple[str, str]
"""What a group is by, and its name."""

BY = ("all", "partition", "account", "qos", "size")
"""What results are grouped by, in this order."""
COLUMN = {"partition": "partition", "account": "group", "qos": "queue", "user": "user"}
NUMBERED = ("gpus", "nodes")
KNOWN = ("all", *COLUMN, *NUMBERED, *(kind for kind in KINDS if kind not in COLUMN))
"""What jobs can be grouped by."""


@dataclass(frozen=True, eq=False)
class Group:
    """Jobs that are reported together."""

    by: str
    name: str
    members: AnyArray
    """True for the jobs in it."""

    @property
    def key(self) -> Key:
        """What it is by, and its name."""
        return self.by, self.name


def parse_by(text: str) -> tuple[str, ...]:
    """What ``--by`` takes, all jobs first.

    Examples
    --------
    >>> parse_by("account,gpus")
    ('all', 'account', 'gpus')
    """
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in KNOWN:
            raise UsageError(f"--by {word}: there are {', '.join(KNOWN)}")
    return tuple(dict.fromkeys(["all", *words]))


def groups_of(
    workload: Workload, by: Sequence[str] = BY, *, only: AnyArray | None = None
) -> list[Group]:
    """The groups that have jobs, in the order of ``by``; the largest first within each.

    Rules
    -----
    Names are the log's own; jobs without an account (or QOS) are a group whose name is empty.
    Sizes are classes of cpus, the smallest first. Jobs cancelled in the queue are in no group;
    ``only`` is a further mask.

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
    counted = site_requests.counted_jobs(workload)
    if only is not None:
        counted = counted & only
    found: list[Group] = []
    for kind in by:
        if kind == "all":
            found.append(Group("all", "all", counted))
        elif kind in COLUMN:
            found += _by_name(workload, kind, counted)
        elif kind in NUMBERED:
            found += _by_number(workload, kind, counted)
        else:
            classes = classify(workload, kind)
            for number, label in enumerate(classes.labels):
                members = counted & (classes.of == number)
                if bool(members.any()):
                    found.append(Group(kind, label, members))
    return found


def _by_number(workload: Workload, kind: str, counted: AnyArray) -> list[Group]:
    column = number_of(workload, kind)
    return [
        Group(kind, "" if number == UNKNOWN else str(number), counted & (column == number))
        for number in np.unique(column[counted]).tolist()
    ]


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
