"""The metrics of every class of jobs: which win and which lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.metrics import energy, statistics
from shadowtime.metrics.classes import TOP, Classes, classify
from shadowtime.metrics.jobs import Jobs, weighted_mean
from shadowtime.metrics.measure import matched, scored
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule import Schedule
from shadowtime.types import UNKNOWN, AnyArray, Reason
from shadowtime.workload import Workload

MINUTE = 60
"""Runs of a few seconds outweigh all others in the mean of a slowdown: count them as a minute."""


@dataclass(frozen=True, kw_only=True)
class ClassRow:
    """One class of jobs: how it was found, its label, its scored jobs and their metrics."""

    kind: str
    label: str
    jobs: int
    metrics: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """A flat row for tables."""
        return {"kind": self.kind, "class": self.label, "jobs": self.jobs, **self.metrics}


def by_class(
    schedule: Schedule,
    workload: Workload,
    kind: str,
    *,
    window: Window = ALL,
    only: AnyArray | None = None,
    top: int = TOP,
) -> list[ClassRow]:
    """A row for every class that has scored jobs, in the classes' order.

    ``kind`` and ``top`` as in :func:`shadowtime.metrics.classes.classify`; ``only`` is
    a further mask (the blocked jobs, say). Each row has wait and bounded slowdown with their
    statistics, the mean slowdown and response, bounded slowdown at a minute, MBS, MWBS, the
    class's share of jobs and of processor-seconds, how many of its jobs were blocked and
    backfilled, and energy, its cost and carbon, and missed deadlines where these are known.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[60, 60], procs=[1, 8], recorded_start=[0, 60])
    >>> for row in by_class(Schedule.recorded(w), w, "size"):
    ...     print(row.label, row.jobs, row.metrics["wait_mean_s"], row.metrics["bsld_mean"])
    1 1 0.0 1.0
    5-16 1 60.0 2.0
    """
    classes = classify(workload, kind, top=top)
    return by_classes(schedule, workload, classes, kind=kind, window=window, only=only)


def by_classes(
    schedule: Schedule,
    workload: Workload,
    classes: Classes,
    *,
    kind: str,
    window: Window = ALL,
    only: AnyArray | None = None,
) -> list[ClassRow]:
    """The same for classes of your own; ``kind`` is what their rows are called."""
    schedule = matched(schedule, workload)
    which, _ = scored(schedule, workload, window=window, only=only)
    rows = np.flatnonzero(which)
    order = rows[np.argsort(classes.of[rows], kind="stable")]
    ends = np.searchsorted(classes.of[order], np.arange(len(classes.labels) + 1))
    all_jobs = Jobs.of(schedule, rows)
    found = []
    for number, label in enumerate(classes.labels):
        members = order[ends[number] : ends[number + 1]]
        if len(members):
            mine = np.zeros(len(schedule), bool)
            mine[members] = True
            metrics = _metrics(schedule, members, all_jobs) | energy.energy_metrics(
                schedule, workload, mine
            )
            found.append(ClassRow(kind=kind, label=label, jobs=len(members), metrics=metrics))
    return found


def _metrics(schedule: Schedule, rows: AnyArray, all_jobs: Jobs) -> dict[str, float]:
    jobs = Jobs.of(schedule, rows)
    paper = jobs.bounded_paper()
    result = {f"wait_{name}_s": value for name, value in statistics.summary(jobs.wait).items()}
    result |= {f"bsld_{name}": value for name, value in statistics.summary(jobs.bounded()).items()}
    result |= {
        "response_mean_s": float(jobs.response.mean()),
        "slowdown_mean": float(jobs.slowdown.mean()),
        "bsld60_mean": float(jobs.bounded(MINUTE).mean()),
        "mbs": float(paper.mean()),
        "mwbs": weighted_mean(paper, jobs.procs),
        "share_of_jobs": len(jobs) / len(all_jobs),
        "share_of_area": float(jobs.area.sum()) / max(float(all_jobs.area.sum()), 1.0),
    }
    if bool((schedule.reason[rows] != Reason.RECORDED).any()):
        result["backfilled"] = int((schedule.reason[rows] == Reason.BACKFILLED).sum())
    if schedule.blocked_at is not None:
        result["blocked"] = int((schedule.blocked_at[rows] != UNKNOWN).sum())
    return result


def by_groups(
    schedule: Schedule,
    workload: Workload,
    by: Sequence[str],
    *,
    window: Window = ALL,
    only: AnyArray | None = None,
) -> list[ClassRow]:
    """The same for the groups of :func:`shadowtime.metrics.groups.groups_of`.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[60, 60], procs=[1, 8], recorded_start=[0, 60])
    >>> [(row.kind, row.label, row.jobs) for row in by_groups(Schedule.recorded(w), w, ("size",))]
    [('size', '1', 1), ('size', '5-16', 1)]
    """
    from shadowtime.metrics.groups import groups_of

    found = []
    for group in groups_of(workload, by, only=only):
        one = Classes(np.where(group.members, 0, -1), (group.name,))
        found += by_classes(
            schedule, workload, one, kind=group.by, window=window, only=group.members
        )
    return found
