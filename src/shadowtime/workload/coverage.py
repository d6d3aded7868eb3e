"""What jobs were submitted with that no model of a site knows, and how much of a log that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from shadowtime.types import AnyArray
    from shadowtime.workload.workload import Workload


@dataclass(frozen=True, kw_only=True)
class NotModelled:
    """An option of submissions that is left out, with the jobs that have it."""

    option: str
    jobs: int
    jobs_share: float
    core_share: float
    """Of the core-hours of all jobs."""

    def __str__(self) -> str:
        return f"--{self.option} ({self.jobs:,} jobs, {self.core_share:.1%} of the core-hours)"

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "option": self.option,
            "jobs": self.jobs,
            "jobs_share": self.jobs_share,
            "core_share": self.core_share,
        }


def not_modelled(workload: Workload) -> tuple[NotModelled, ...]:
    """Every option that is not modelled, that of the most core-hours first.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> asked = Requests.of_jobs([Request(beyond=("switches",)), Request()])
    >>> jobs = Workload.build(submit=[0, 1], run=[30, 10], procs=[1, 1], requests=asked)
    >>> [str(one) for one in not_modelled(jobs)], core_share(jobs)
    (['--switches (1 jobs, 75.0% of the core-hours)'], 0.75)
    """
    asked = workload.requests
    names = {name for one in asked.distinct for name in one.beyond} if asked is not None else set()
    found = []
    for name in sorted(names):
        which = _which(workload, name)
        found.append(
            NotModelled(
                option=name,
                jobs=int(which.sum()),
                jobs_share=float(which.mean()),
                core_share=_share(workload, which),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.core_share, one.option)))


def core_share(workload: Workload) -> float:
    """The share of the core-hours by jobs with any such option."""
    return _share(workload, _which(workload, ""))


def _which(workload: Workload, name: str) -> AnyArray:
    """The jobs with this option, or with any."""
    asked = workload.requests
    if asked is None or not asked.distinct:
        return np.zeros(len(workload), bool)
    has = [name in one.beyond if name else bool(one.beyond) for one in asked.distinct]
    found: AnyArray = np.array(has, bool)[asked.index]
    return found


def _share(workload: Workload, which: AnyArray) -> float:
    work = (workload.effective_run * workload.procs).astype(float)
    return float(work[which].sum() / max(work.sum(), 1.0))
