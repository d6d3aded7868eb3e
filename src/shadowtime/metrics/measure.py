"""A schedule in numbers: every metric under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.metrics._job_kernel import BOUNDED, PAPER, RESPONSE
from shadowtime.metrics.contention import contention_metrics
from shadowtime.metrics.jobs import Jobs, sum_of_products
from shadowtime.metrics.load import loss_of_capacity, utilisation, whole_run
from shadowtime.metrics.preemption import attempts_missing, preemption
from shadowtime.metrics.resources import resource_metrics
from shadowtime.metrics.statistics import STATISTICS, statistics_of_rows
from shadowtime.metrics.tally import as_row, tally
from shadowtime.metrics.window import ALL
from shadowtime.schedule.match import match
from shadowtime.schedule.runs import lost_parts, lost_runs, restarts, runs, started
from shadowtime.types import UNKNOWN
from shadowtime.workload.moldable import as_started

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.metrics.tally import Tally
    from shadowtime.metrics.window import Window
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Floats, Ints
    from shadowtime.workload import Workload


def evenness(jobs: Jobs, user: Ints) -> dict[str, float]:
    """Jain's index and the Gini coefficient of the users' mean bounded slowdowns.

    Jobs of unknown users are excluded; nothing if no user is known.

    Examples
    --------
    >>> from shadowtime.metrics.jobs import Jobs
    >>> j = Jobs(wait=np.array([0, 20]), run=np.array([10, 10]), procs=np.array([1, 1]))
    >>> evenness(j, np.array([1, 2]))
    {'user_bsld_jain': 0.8, 'user_bsld_gini': 0.25}
    """
    return evenness_of(jobs.bounded(), user)


def evenness_of(bounded: Floats, user: Ints) -> dict[str, float]:
    """The same from the column of bounded slowdowns."""
    means = user_means(bounded, user)
    if len(means) == 0:
        return {}
    n, total = len(means), float(means.sum())
    ascending = np.sort(means)
    jain = total * total / (n * sum_of_products(means, means))
    gini = sum_of_products(ascending, 2 * np.arange(1, n + 1) - n - 1) / (n * total)
    return {"user_bsld_jain": jain, "user_bsld_gini": gini}


def user_means(values: Floats, user: Ints) -> Floats:
    """Mean of a column for each known user, in order of the user's number."""
    of, known = user, user > UNKNOWN
    if not known.all():
        of, values = user[known], values[known]
    if len(of) and int(of.max()) > 4 * len(of) + 1000:  # numbers too sparse to count directly
        of = np.unique(of, return_inverse=True)[1]
    jobs = np.bincount(of)
    sums = np.bincount(of, weights=values)
    some = jobs > 0
    means: Floats = sums[some] / jobs[some]
    return means


COUNTERS = {
    "clamped_predictions": "clamped_predictions",
    "slipped_promises": "promises_slipped",
    "rates_rounded_down": "rates_rounded_down",
}
"""The engine's counters that are metrics, and under which name."""


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
    Jobs submitted in the window (and in the mask ``only``, where given) are scored; jobs without
    a known start are left out and counted as ``unknown_start``. Utilisation and loss of capacity
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
    workload = as_started(workload, schedule)
    which, unknown = scored(schedule, workload, window=window, only=only)
    rows = slice(None) if which.all() else which  # of all jobs the columns as they are: no copies
    jobs = Jobs.of(schedule, rows)
    result: dict[str, float] = {"jobs": len(jobs), "unknown_start": unknown}
    columns = tally(jobs)
    result |= distributions(columns) | weighted(columns)
    result |= evenness_of(columns.ratios[BOUNDED], workload.user[rows])
    result |= _machine(schedule, workload, cluster, which, window=window)
    result |= counts(schedule, which)
    return result | contention_metrics(schedule, workload, which)


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
    inside = window.mask(workload.submit)
    if only is not None:
        inside &= only
    ran = started(schedule)
    both = inside & ran
    return both, int(np.count_nonzero(inside)) - int(np.count_nonzero(both))


DISTRIBUTED = (("wait", "_s"), ("response", "_s"), ("slowdown", ""), ("bsld", ""), ("ppbsld", ""))
"""What is reported as a distribution, and its unit in the names of metrics."""

NAMES = tuple(
    tuple(f"{stem}_{statistic}{unit}" for statistic in STATISTICS) for stem, unit in DISTRIBUTED
)


def distributions(columns: Tally) -> dict[str, float]:
    """Wait, response and the slowdowns: mean, median, 95th, 99th percentile, maximum of each."""
    found: dict[str, float] = {}
    rows = (*statistics_of_rows(columns.times), *statistics_of_rows(columns.ratios[:PAPER]))
    for names, values in zip(NAMES, rows, strict=False):
        found.update(zip(names, values, strict=True))
    return found


def weighted(columns: Tally) -> dict[str, float]:
    """MBS and MWBS (PV-EASY, equations 1 and 2), AWRT, area-weighted BSLD, expansion factor."""
    if columns.times.shape[1] == 0:
        return {}
    ratios, (procs, area) = columns.ratios, columns.weights
    lasted, wide, worked = columns.sums
    response = columns.times[RESPONSE]
    return {
        "mbs": float(ratios[PAPER].mean()),
        "mwbs": _weighted_mean(ratios[PAPER], procs, wide),
        "awrt_s": columns.weighed / worked if worked else float("nan"),
        "awbsld": _weighted_mean(ratios[BOUNDED], area, worked),
        "expansion": float(response.sum()) / max(float(lasted), 1.0),
    }


def _weighted_mean(values: Floats, weights: Floats, total: int) -> float:
    """As jobs.weighted_mean, for weights whose sum is known."""
    return sum_of_products(values, weights) / total if total else float("nan")


def counts(schedule: Schedule, which: AnyArray) -> dict[str, float]:
    """How many of these jobs were killed, backfilled, blocked, promised, preempted."""
    from shadowtime.metrics import _job_kernel as of

    blocked, promised = schedule.blocked_at, schedule.promised
    found = np.zeros(of.COUNTS, np.int64)
    of.count_jobs(
        which,
        np.ascontiguousarray(schedule.reason, np.int8),
        np.ascontiguousarray(schedule.killed, np.int8),
        as_row(schedule.start),
        as_row(schedule.start if blocked is None else blocked),
        as_row(schedule.start if promised is None else promised),
        found,
    )
    number = found.tolist()
    result: dict[str, float] = {}
    if number[of.SCHEDULED]:
        result["backfilled"] = number[of.BEHIND]
        if "killed" not in schedule.missing:
            result["killed"] = number[of.KILLED]
        if "kills" not in schedule.missing:
            result |= preemption(schedule, which)
    if blocked is not None:
        result["blocked"] = number[of.BLOCKED]
    if promised is not None:
        result["promises"] = number[of.PROMISED]
        result["promises_missed"] = number[of.LATE]
    for counter, name in COUNTERS.items():
        if counter in schedule.counters:
            result[name] = schedule.counters[counter]
    return result


def _machine(
    schedule: Schedule, workload: Workload, cluster: Cluster, which: AnyArray, *, window: Window
) -> dict[str, float]:
    """What the machine did. Nothing if preempted runs are unknown: it would be too little."""
    if attempts_missing(schedule):
        return {}
    known = runs(schedule)  # the last attempts stand first
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
    return result | resource_metrics(schedule, workload, cluster, which, window=window, known=known)
