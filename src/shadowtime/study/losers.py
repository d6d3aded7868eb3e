"""Which jobs pay: the classes that wait longer under one policy than under another.

One metric (mean wait), one set of classes and one rule of which lose, for the terminal, the page,
the figure and the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.metrics import Window, by_class
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.metrics import ClassRow
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload

KINDS = ("size", "runtime", "user")
"""The classes that are compared."""

NAMED = ("group", "partition", "queue")
"""Accounts, partitions and QOS: shown beside the others, where the log has their names."""

TOP_USERS = 8
"""The number of users with the most work that are separate classes; the others are one class."""

METRIC = "wait_mean_s"
WORSE = 0.05
"""A class that waits up to this share longer does not count as losing."""
OF_RUN = 0.01
"""Nor is one that waits longer by less than this share of its mean run time."""
SHARE = 0.005
"""Nor does one with a smaller share of the jobs: its mean is a matter of chance."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """How one class of jobs fares under a policy against another; mean waits in seconds."""

    kind: str
    label: str
    jobs: int
    share_of_jobs: float
    wait_s: float
    before_s: float
    run_s: float
    """Mean run time of the class."""

    @property
    def change(self) -> float:
        """Relative change of the mean wait; infinite where no job waited before."""
        if self.wait_s == self.before_s:
            return 0.0
        return (self.wait_s - self.before_s) / self.before_s if self.before_s else float("inf")

    @property
    def loses(self) -> bool:
        """Worse by more than chance explains."""
        return (
            self.change > WORSE
            and self.wait_s - self.before_s >= OF_RUN * self.run_s
            and self.share_of_jobs >= SHARE
        )

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "kind": self.kind,
            "class": self.label,
            "jobs": self.jobs,
            "wait_mean_s": self.wait_s,
            "before_s": self.before_s,
            "change": self.change,
        }


def class_rows(
    workload: Workload,
    schedule: Schedule,
    *,
    window: Window | None = None,
    only: AnyArray | None = None,
) -> tuple[ClassRow, ...]:
    """The classes of a schedule that are looked at: by size, run time and, if known, user."""
    if len(workload) == 0:
        return ()
    known = bool((workload.user != UNKNOWN).any())
    scored = Window.all() if window is None else window
    return tuple(
        row
        for kind in KINDS
        if kind != "user" or known
        for row in by_class(
            schedule,
            workload,
            kind,
            window=scored,
            only=only,
            top=TOP_USERS,
        )
    )


def named_rows(
    workload: Workload,
    schedule: Schedule,
    *,
    window: Window | None = None,
    only: AnyArray | None = None,
) -> tuple[ClassRow, ...]:
    """The classes by account, partition and QOS, where the log names at least two of them.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> named = {"partition": ("", "batch", "gpu")}
    >>> w = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 1], partition=[1, 2], names=named,
    ...                    recorded_start=[0, 5])
    >>> for row in named_rows(w, Schedule.recorded(w)):
    ...     print(row.label, row.metrics["wait_mean_s"])
    partition batch 0.0
    partition gpu 5.0
    """
    scored = Window.all() if window is None else window
    return tuple(
        row
        for kind in NAMED
        if kind in workload.names and len(set(getattr(workload, kind).tolist())) > 1
        for row in by_class(schedule, workload, kind, window=scored, only=only, top=TOP_USERS)
    )


def changes(rows: Sequence[ClassRow], before: Sequence[ClassRow]) -> list[Change]:
    """Every class that both have, in the classes' order."""
    known = {(row.kind, row.label): row for row in before}
    return [
        Change(
            kind=row.kind,
            label=row.label,
            jobs=row.jobs,
            share_of_jobs=row.metrics["share_of_jobs"],
            wait_s=row.metrics[METRIC],
            before_s=known[row.kind, row.label].metrics[METRIC],
            run_s=row.metrics["response_mean_s"] - row.metrics[METRIC],
        )
        for row in rows
        if (row.kind, row.label) in known
    ]


def losers(rows: Sequence[ClassRow], before: Sequence[ClassRow]) -> list[Change]:
    """The classes that lose, the largest losses first."""
    lost = [change for change in changes(rows, before) if change.loses]
    return sorted(lost, key=lambda change: (-change.change, change.kind, change.label))
