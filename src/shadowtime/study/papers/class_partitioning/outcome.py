"""One run and its measures in the paper: waits and slowdowns of all jobs and of classes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine import simulate
from shadowtime.metrics import Classes, by_classes, classify, measure, times_up_to
from shadowtime.policy import parse_policy
from shadowtime.study.papers.reproduction import SubjectRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.study.papers.class_partitioning.worlds import World
    from shadowtime.types import Ints

ALL, SMALL, MEDIUM, LARGE = "all", "small", "medium", "large"
GROUPS = (ALL, SMALL, MEDIUM, LARGE)

MINUTE, HOUR = 60, 3600
TIMES = (10 * MINUTE, HOUR, 5 * HOUR, 20 * HOUR, 50 * HOUR, 200 * HOUR)
"""Ranges of requested and actual run time end with these; the paper does not give its own."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Ranges of processors, as in Table 4."""

BY_SIZE, BY_REQUEST, BY_RUN = "processors", "requested run time", "actual run time"
MEASURES = ("wait_mean_s", "wait_p95_s", "wait_max_s", "slowdown_mean", "bsld60_mean")


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What is measured of one run, by kind of class and class."""

    groups: Mapping[tuple[str, str], Mapping[str, float]]
    start: Ints | None = None
    run: SubjectRun | None = None
    """The starts and the schedule where they are kept."""


def outcome(world: World, policy: str, *, starts: bool = False, keep: bool = False) -> Outcome:
    """Simulate and measure; ``starts`` keeps the starts, ``keep`` the schedule too."""
    jobs, cluster, window = world.workload, world.cluster, world.window
    parsed = parse_policy(policy)
    schedule = simulate(jobs, cluster, parsed)
    all_jobs = Classes(np.zeros(len(jobs), np.int64), (ALL,))
    kinds = {
        ALL: all_jobs,
        "width": classify(jobs, "width"),
        BY_SIZE: classify(jobs, "size", edges=SIZES),
        BY_REQUEST: times_up_to(jobs.request, TIMES),
        BY_RUN: times_up_to(jobs.effective_run, TIMES),
    }
    groups = {
        (kind, row.label): {name: row.metrics[name] for name in MEASURES}
        for kind, classes in kinds.items()
        for row in by_classes(schedule, jobs, classes, kind=kind, window=window)
    }
    kept = None
    if keep:
        metrics = measure(schedule, jobs, cluster, window=window)
        kept = SubjectRun(
            policy=policy, schedule=schedule, parameters=parsed.parameters, metrics=metrics
        )
    return Outcome(groups=groups, start=schedule.start if starts else None, run=kept)
