"""A schedule in numbers: every metric under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.kernel.columns import numbers_of
from shadowtime.metrics import _count_kernel as of
from shadowtime.metrics import added, contention, energy, jobs, preemption, resources, statistics
from shadowtime.metrics._job_kernel import BOUNDED
from shadowtime.metrics.load import loss_of_capacity, utilisation, whole_run
from shadowtime.metrics.tally import Tally, as_row, room_for_sums, tally
from shadowtime.metrics.unstarted import unstarted_metrics
from shadowtime.metrics.window import ALL, Window
from shadowtime.metrics.workflow import workflow_metrics
from shadowtime.schedule import Schedule
from shadowtime.schedule.match import match, take
from shadowtime.schedule.runs import lost_parts, lost_runs, restarts, runs
from shadowtime.types import UNKNOWN, AnyArray, Floats, Ints
from shadowtime.workload import Workload, follows, speedup

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


def measure(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster,
    *,
    window: Window = ALL,
    only: AnyArray | None = None,
) -> dict[str, float]:
    """Every metric of a schedule that its columns allow, simulated or recorded.

    Rules
    -----
    Jobs submitted in the window (and in the mask ``only``, where given) are scored. Those that the
    policy never started are counted as ``unstarted``, with a lower bound of their waits, and those
    whose start a log does not give as ``unknown_start``; both are left out of everything else, but
    a promise to a job that never started is a missed one. Utilisation and loss of capacity
    are those of the whole machine over the window; makespan and loads are of the whole run. What
    a schedule has no column for is left out, and so are balance and stranded capacity where there
    is one resource. Names and definitions: ``REGISTRY``.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[60, 30], procs=[1, 1], recorded_start=[0, 60])
    >>> m = measure(Schedule.recorded(w), w, Cluster.pool(1))
    >>> m["wait_mean_s"], m["bsld_max"], m["makespan_s"], m["mbs"]
    (30.0, 3.0, 90, 2.0)
    """
    schedule = matched(schedule, workload)
    workload = speedup.as_started(workload, schedule)
    given = workload, schedule
    if len(workload.follows):
        workload, rows = follows.as_submitted(workload, schedule.submit)
        schedule, only = take(schedule, rows), None if only is None else only[rows]
    inside = _inside(workload, window, only)
    counts = count(schedule, inside)
    never, missed = unstarted_metrics(schedule, workload, inside)
    unknown = counts.unknown - int(never["unstarted"])
    result: dict[str, float] = {"jobs": counts.scored, "unknown_start": unknown} | never
    result |= _per_job(schedule, workload, counts)
    result |= _machine(schedule, workload, cluster, counts, window=window)
    result |= count_metrics(schedule, counts, missed)
    result |= contention.contention_metrics(schedule, workload, counts.which)
    result |= energy.energy_metrics(schedule, workload, counts.which)
    if len(given[0].follows):
        result |= workflow_metrics(*given, workload.job_id[counts.which])
    return result | added.measure_added(schedule, workload, cluster, counts.which, known=result)


def matched(schedule: Schedule, workload: Workload) -> Schedule:
    """The schedule's rows in the workload's order; rejected if they belong to other jobs."""
    if schedule.job_id is workload.job_id:  # as every simulation leaves it
        return schedule
    pair = match(schedule, workload)
    if not pair.exact:
        numbers = (len(pair.missing), len(pair.unknown), len(pair.repeated))
        raise UsageError(
            "the schedule and the trace hold different jobs ({} of the trace missing, {} unknown, "
            "{} repeated): run shadowtime check to see which".format(*numbers)
        )
    return pair.schedule


def scored(
    schedule: Schedule, workload: Workload, *, window: Window = ALL, only: AnyArray | None = None
) -> tuple[AnyArray, int]:
    """Mask of the scored jobs, and how many were excluded because they have no start."""
    counts = count(schedule, _inside(workload, window, only))
    return counts.which, counts.unknown


def _inside(workload: Workload, window: Window, only: AnyArray | None) -> AnyArray:
    """Mask of the jobs that are asked for, whether they have run or not."""
    inside = window.mask(workload.submit)
    if only is not None:
        inside &= only
    return inside


COUNTERS = {
    "clamped_predictions": "clamped_predictions",
    "slipped_promises": "promises_slipped",
    "rates_rounded_down": "rates_rounded_down",
}
"""The engine's counters that are metrics, and under which name."""


class Counts(NamedTuple):
    """Mask of the scored jobs, and what was counted; the names are those of _count_kernel.py."""

    which: AnyArray
    number: dict[str, int]

    @property
    def scored(self) -> int:
        """How many jobs are scored."""
        return self.number["scored"]

    @property
    def unknown(self) -> int:
        """How many jobs are left out because they have no start."""
        return self.number["inside"] - self.number["scored"]

    @property
    def all_ran(self) -> bool:
        """Every job of the schedule has a start and an end, scored or not."""
        return self.number["started"] == len(self.which)

    @property
    def ever_stopped(self) -> bool:
        """Some job that has run was preempted, scored or not."""
        return self.number["ever"] > 0


def count(schedule: Schedule, inside: AnyArray) -> Counts:
    """Count the jobs at these rows that have run.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 9], run=[60, 60, 1], procs=[1, 8, 1],
    ...                    recorded_start=[0, -1, 9])
    >>> found = count(Schedule.recorded(w), np.array([True, True, False]))
    >>> found.which.tolist(), found.scored, found.unknown, found.all_ran
    ([True, False, False], 1, 1, False)
    """
    start = as_row(schedule.start)
    blocked, promised = schedule.blocked_at, schedule.promised
    which, found = np.empty(len(schedule), np.bool_), np.zeros(1, of.COUNTS)
    of.count_jobs(
        np.ascontiguousarray(inside, np.bool_),
        start,
        as_row(schedule.end),
        np.ascontiguousarray(schedule.reason, np.int8),
        np.ascontiguousarray(schedule.killed, np.int8),
        as_row(schedule.kills),
        start if blocked is None else as_row(blocked),
        start if promised is None else as_row(promised),
        which,
        found,
    )
    return Counts(which, numbers_of(found))


def count_metrics(schedule: Schedule, counts: Counts, missed: int = 0) -> dict[str, float]:
    """How many of the scored jobs were killed, backfilled, blocked, promised, preempted.

    ``missed``: promises to jobs that never started.
    """
    which, number = counts
    result: dict[str, float] = {}
    if number["scheduled"]:
        result["backfilled"] = number["behind"]
        if "killed" not in schedule.missing:
            result["killed"] = number["killed"]
        if "kills" not in schedule.missing:
            result |= preemption.preemption_of(
                schedule, which, jobs=number["stopped"], kills=number["stops"],
                scored=number["scored"],
            )  # fmt: skip
    if schedule.blocked_at is not None:
        result["blocked"] = number["blocked"]
    if schedule.promised is not None:
        result["promises"] = number["promised"] + missed
        result["promises_missed"] = number["late"] + missed
    for counter, name in COUNTERS.items():
        if counter in schedule.counters:
            result[name] = schedule.counters[counter]
    return result


def _per_job(schedule: Schedule, workload: Workload, counts: Counts) -> dict[str, float]:
    """The metrics computed from the columns of the scored jobs."""
    every = counts.scored == len(schedule)
    rows = slice(None) if every else counts.which  # of all jobs the columns as they are: no copies
    columns = tally(jobs.Jobs.of(schedule, rows))
    if columns is None:
        return {}
    fair = user_fairness_of(columns.table[BOUNDED], workload.user[rows])
    return distributions(columns) | weighted(columns) | fair


DISTRIBUTED = (("wait", "_s"), ("response", "_s"), ("slowdown", ""), ("bsld", ""), ("ppbsld", ""))
"""What is reported as a distribution, and its unit in the names of metrics."""

NAMES = tuple(
    tuple(f"{stem}_{statistic}{unit}" for statistic in statistics.STATISTICS)
    for stem, unit in DISTRIBUTED
)


def distributions(columns: Tally) -> dict[str, float]:
    """Wait, response and the slowdowns: mean, median, 95th, 99th percentile, maximum of each."""
    found: dict[str, float] = {}
    for names, values in zip(NAMES, columns.statistics, strict=True):
        found.update(zip(names, values, strict=True))
    return found


def weighted(columns: Tally) -> dict[str, float]:
    """MBS and MWBS (PV-EASY, equations 1 and 2), AWRT, area-weighted BSLD, expansion factor."""
    sums = columns.sums
    wide, area = sums["procs"], sums["area"]
    return {
        "mbs": columns.paper / columns.table.shape[1],
        "mwbs": columns.by_procs / wide if wide else float("nan"),
        "awrt_s": columns.response / area if area else float("nan"),
        "awbsld": columns.bounded / area if area else float("nan"),
        "expansion": float(sums["responded"]) / max(float(sums["lasted"]), 1.0),
    }


def user_fairness_of(bounded: Floats, user: Ints) -> dict[str, float]:
    """Jain's index and the Gini coefficient of the users' mean bounded slowdowns.

    Jobs of unknown users are excluded; nothing if no user is known.

    Examples
    --------
    >>> user_fairness_of(np.array([1.0, 3.0]), np.array([1, 2]))
    {'user_bsld_jain': 0.8, 'user_bsld_gini': 0.25}
    """
    values, number = np.ascontiguousarray(bounded, np.float64), as_row(user)
    found, room = np.empty(of.RESULTS), room_for_sums()
    places = 4 * len(number) + 1000
    users = of.fairness_indexes(
        values,
        number,
        np.empty((of.TABLES, places)),
        np.empty(places, np.int64),
        found,
        *room,
    )
    if users == of.SPARSE:  # numbers too sparse to count directly
        known = number > UNKNOWN
        return user_fairness_of(values[known], np.unique(number[known], return_inverse=True)[1])
    if users == 0:
        return {}
    jain, gini = found.tolist()
    return {"user_bsld_jain": jain, "user_bsld_gini": gini}


def _machine(
    schedule: Schedule, workload: Workload, cluster: Cluster, counts: Counts, *, window: Window
) -> dict[str, float]:
    """Use of the machine; nothing if preempted runs are unknown, as sums would be too small."""
    if counts.ever_stopped and not len(schedule.attempts):
        return {}
    known = runs(schedule, all_ran=counts.all_ran)  # the last attempts stand first
    final = len(known) - len(lost_runs(schedule)) if len(schedule.attempts) else len(known)
    if final == 0:
        return {}
    result: dict[str, float] = {}
    shares = utilisation(schedule, workload, cluster, window=window, known=known)
    for name, share in shares.items():
        result["utilisation" if name == "procs" else f"utilisation_{name}"] = share
    if "procs" in shares and schedule.attempts.kept is None:
        useful = shares
        if final < len(known):
            useful = utilisation(
                schedule, workload, cluster, window=window, known=known.at(np.arange(final))
            )
        result["goodput"] = useful["procs"]
        result["lost_work"] = shares["procs"] - useful["procs"] if final < len(known) else 0.0
    elif "procs" in shares:
        parts = lost_parts(schedule), restarts(schedule)
        lost, again = (
            utilisation(schedule, workload, cluster, window=window, known=part)["procs"]
            for part in parts
        )
        result["goodput"] = shares["procs"] - lost - again
        result["lost_work"], result["restart_work"] = lost, again
    if cluster.shape == "pool":
        idle = loss_of_capacity(schedule, workload, cluster, window=window, known=known)
        result["loss_of_capacity"] = idle
    result |= whole_run(schedule, workload, cluster, known=known)
    return result | resources.resource_metrics(
        schedule, workload, cluster, counts.which, window=window, known=known
    )
