"""Figures 4.1, 4.4, 4.7 and 4.9: bandwidth allocated in the system over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.drawn import drawn_over_time
from shadowtime.study.papers.figures import Panel, PaperFigure, Series
from shadowtime.study.papers.hperf.machine import thesis_cluster
from shadowtime.study.papers.hperf.policies import GRACE, UNLIMITED
from shadowtime.study.papers.hperf.runs import PICTURED, label_of

if TYPE_CHECKING:
    from shadowtime.study.papers.hperf.runs import Findings

FIGURES = {
    "Figure 4.1": ("High", "LessC", "ConsRes overloads the nodes by almost the double; LessC keeps "
                   "the allocated bandwidth under the 400,000 MB/s that there are."),
    "Figure 4.4": ("High", "HPerf_preloaded", "HPerf is well below the levels of ConsRes."),
    "Figure 4.7": ("Medium", "LessC", "LessC keeps below the total available, ConsRes is almost "
                   "all the time over it."),
    "Figure 4.9": ("Medium", "HPerf_preloaded", "HPerf is always below the system limit."),
}  # fmt: skip
LINES = {
    ("High", UNLIMITED): ("4.2a", "4.2b", "4.3a", "4.3b"),
    ("High", GRACE): ("4.5a", "4.5b", "4.6a", "4.6b"),
    ("Medium", UNLIMITED): ("4.8a", "4.8b", "4.10a", "4.10b"),
    ("Medium", GRACE): ("4.11a", "4.11b", "4.12a", "4.12b"),
}
"""The pictures with a line per job, in the order of the policies."""
STEP = 100
"""Seconds between the points of a line."""


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """The four figures, of the first draw."""
    return tuple(
        _figure(found, name, workload, other, says)
        for name, (workload, other, says) in FIGURES.items()
    )


def job_lines() -> dict[str, tuple[str, int]]:
    """Names of the thesis' traces, the subject of each and the place of its run.

    Examples
    --------
    >>> job_lines()["Figure 4.3b"]
    ('High, unlimited time', 3)
    """
    return {
        f"Figure {name}": (label_of(*key), place)
        for key, names in LINES.items()
        for place, name in enumerate(names)
    }


def _figure(found: Findings, name: str, workload: str, other: str, says: str) -> PaperFigure:
    policies = ("ConsRes", other)
    runs = {policy: found.schedules[workload, UNLIMITED, policy] for policy in policies}
    last = max(int(schedule.end.max()) for _, schedule in runs.values())
    grid = np.arange(0, last + STEP, STEP)
    series = []
    for policy, (jobs, schedule) in runs.items():
        when, demand = drawn_over_time(schedule, jobs)
        at = np.searchsorted(when, grid, side="right") - 1
        values = np.where(at >= 0, demand[np.maximum(at, 0)], 0)
        series.append(Series(name=policy, y=tuple(float(v) / 1000 for v in values)))
    capacity = thesis_cluster().total["bandwidth"] / 1000
    series.append(Series(name="capacity", y=(capacity,) * len(grid)))
    panel = Panel(
        title=f"Workload {workload}, {UNLIMITED}",
        kind="line",
        x_label="seconds",
        y_label="GB/s allocated",
        x=tuple(float(t) for t in grid),
        series=tuple(series),
    )
    return PaperFigure(
        name=name,
        title="Total bandwidth allocated in the system",
        panels=(panel,),
        says=says,
        note=f"Draw {PICTURED}; true demands of the running jobs, every {STEP} s.",
    )
