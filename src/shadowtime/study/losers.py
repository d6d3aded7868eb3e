"""Which jobs pay: the classes that wait longer under one policy than under another.

One metric (mean wait), one set of classes and one rule of which lose, for the terminal, the page,
the figure and the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.metrics import ClassRow, by_class, intervals
from shadowtime.metrics.classes import classify
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule import Schedule, runs
from shadowtime.types import UNKNOWN, AnyArray
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
LEAST = 30
"""Nor does one with fewer jobs."""
BATCHES = 10
"""Consecutive parts of a class, equal in jobs, whose mean differences say whether it is chance."""


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
    clear: bool | None = None
    """False if the difference may be chance (:func:`clear_changes`), None if that is not known."""

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
            self.clear is not False
            and self.change > WORSE
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
    window: Window = ALL,
    only: AnyArray | None = None,
    kinds: Sequence[str] = KINDS,
) -> tuple[ClassRow, ...]:
    """The classes of a schedule of some kinds, as far as the log knows them.

    Users are looked at if any is known; accounts, partitions and QOS where the log names at least
    two of them.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> named = {"partition": ("", "batch", "gpu")}
    >>> w = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 1], partition=[1, 2], names=named,
    ...                    recorded_start=[0, 5])
    >>> for row in class_rows(w, Schedule.recorded(w), kinds=NAMED):
    ...     print(row.label, row.metrics["wait_mean_s"])
    partition batch 0.0
    partition gpu 5.0
    """
    return tuple(
        row
        for kind in (kinds if len(workload) else ())
        if _known(workload, kind)
        for row in by_class(schedule, workload, kind, window=window, only=only, top=TOP_USERS)
    )


def _known(workload: Workload, kind: str) -> bool:
    if kind == "user":
        return bool((workload.user != UNKNOWN).any())
    several = kind in workload.names and len(set(getattr(workload, kind).tolist())) > 1
    return several or kind not in NAMED


Key = tuple[str, str]
"""A class by its kind and label."""


def clear_changes(
    workload: Workload,
    schedule: Schedule,
    before: Schedule,
    *,
    only: AnyArray | None = None,
) -> dict[Key, bool]:
    """Whether each class of at least ``LEAST`` jobs clearly waits longer or shorter than before.

    Rules
    -----
    Batch means: the class's jobs in the order of submission make ``BATCHES`` parts of equal size,
    each with the mean difference of its jobs' waits. The change is clear if Student's 95 % interval
    of these means excludes zero. Neighbouring jobs wait in the same queue, so they say less than
    their number suggests; parts that follow each other in time hardly depend on one another.

    Examples
    --------
    >>> import numpy as np
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=range(40), run=[9] * 40, procs=[1] * 40,
    ...                    recorded_start=range(40))
    >>> old = Schedule.recorded(w)
    >>> longer = np.arange(40) % 3 + 1
    >>> new = old.replace(start=old.start + longer, end=old.end + longer)
    >>> clear_changes(w, new, old)["size", "1"]
    True
    """
    both = runs.started(schedule) & runs.started(before)
    if only is not None:
        both &= only
    differences = (schedule.wait - before.wait).astype(np.float64)
    found: dict[Key, bool] = {}
    for kind in (*KINDS, *NAMED):
        classes = classify(workload, kind, top=TOP_USERS)
        for number, label in enumerate(classes.labels):
            members = differences[both & (classes.of == number)]
            if len(members) >= LEAST:
                parts = [float(part.mean()) for part in np.array_split(members, BATCHES)]
                means = intervals.interval(parts)
                found[kind, label] = means is not None and means.excludes_zero
    return found


def changes(
    rows: Sequence[ClassRow],
    before: Sequence[ClassRow],
    clear: Mapping[Key, bool] | None = None,
) -> list[Change]:
    """Every class that both have, in the classes' order; ``clear`` as of :func:`clear_changes`.

    A class too small to be in it may always differ by chance.
    """
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
            clear=None if clear is None else clear.get((row.kind, row.label), False),
        )
        for row in rows
        if (row.kind, row.label) in known
    ]


def losers(found: Sequence[Change]) -> list[Change]:
    """The classes that lose, the largest losses first."""
    lost = [change for change in found if change.loses]
    return sorted(lost, key=lambda change: (-change.change, change.kind, change.label))
