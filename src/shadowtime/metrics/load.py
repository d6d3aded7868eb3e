"""How much of the machine was used, wasted, or left idle though a job could have used it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.window import ALL
from shadowtime.schedule.runs import lost_parts, runs, started, waits
from shadowtime.schedule.timeline import least_between, located, stretches, totals_between, within
from shadowtime.workload.scale import offered_load

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.metrics.window import Window
    from shadowtime.schedule import Schedule
    from shadowtime.schedule.runs import Spans
    from shadowtime.workload import Workload


def utilisation(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster,
    *,
    window: Window = ALL,
    known: Spans | None = None,
) -> dict[str, float]:
    """Share of each resource in use over the window, every run counted, lost ones too.

    The window runs from its first to its last submission, whatever the policy made of the jobs:
    the tail in which the machine drains would reward a policy for leaving less work behind. Only
    where that stretch is empty (all jobs submitted at once) it runs to the last end. ``known``
    are the schedule's runs, for a caller who has them.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10], run=[5, 90], procs=[4, 1], recorded_start=[0, 10])
    >>> utilisation(Schedule.recorded(w), w, Cluster.pool(4))
    {'procs': 0.5}
    """
    found = runs(schedule) if known is None else known
    begin, end = window.bounds(workload.submit)
    if end <= begin:
        end = max(int(found.until.max(initial=begin)), begin)
    length = within(found.until, begin, end) - within(found.since, begin, end)
    shares = {}
    for name, capacity in cluster.total.items():
        if name in workload.resources and capacity and end > begin:
            demand = workload.demand[:, workload.resources.index(name)][found.row]
            used = float(demand.astype(np.float64) @ length.astype(np.float64))
            shares[name] = used / (float(capacity) * (end - begin))
    return shares


def loss_of_capacity(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster,
    *,
    window: Window = ALL,
    known: Spans | None = None,
) -> float:
    """Share of the machine that was idle while some waiting job would have fitted into it.

    Sum of n_i (t_{i+1} - t_i) d_i over N (t_m - t_1): between two events n_i processors are idle
    and d_i = 1 if a waiting job asks for no more than n_i. The first event is the first
    submission and the last one the last end, or the window's ends where it cuts something off.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[5, 5], procs=[3, 1], recorded_start=[0, 5])
    >>> loss_of_capacity(Schedule.recorded(w), w, Cluster.pool(4))
    0.125
    """
    all_runs = runs(schedule) if known is None else known
    if len(all_runs) == 0:
        return float("nan")
    begin, end = window.bounds(workload.submit)
    if not window.closes_early:
        end = int(all_runs.until.max())
    if end <= begin:
        return float("nan")
    bounds = np.array([begin, end], np.int64)
    width = schedule.procs[all_runs.row]
    if len(schedule.attempts) == 0:  # a wait ends where a run begins: fewer times to sort
        at, (asked, since, until, _) = located(
            schedule.submit[all_runs.row], all_runs.since, all_runs.until, bounds
        )
        served, asking = since, width
    else:
        queue = waits(schedule, all_runs)
        asking = schedule.procs[queue.row]
        at, (asked, served, since, until, _) = located(
            queue.since, queue.until, all_runs.since, all_runs.until, bounds
        )
    idle = cluster.procs - totals_between(len(at), since, until, width)
    nothing = cluster.procs + 1
    narrowest = least_between(len(at), asked, served, asking, nothing=nothing)
    seconds = stretches(at, begin, end)
    lost = np.where(narrowest <= idle, idle, 0)
    return float(lost @ seconds) / (float(cluster.procs) * (end - begin))


def whole_run(
    schedule: Schedule, workload: Workload, cluster: Cluster, *, known: Spans | None = None
) -> dict[str, float]:
    """Makespan, offered, total and wasted load of all jobs, whatever the window.

    makespan = last end - first submission. Total load = processor-seconds of all runs over
    processors x makespan, wasted load the part of it that was lost; offered load = the work done
    over processors x (last - first submission); where jobs slow each other down,
    that of the log.

    References
    ----------
    Yuan et al. 2010, tables 3 and 5.
    """
    ran = started(schedule)
    if not ran.any():
        return {}
    found = runs(schedule) if known is None else known
    area = schedule.procs[found.row] * (found.until - found.since)
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    makespan = int(found.until.max()) - first
    result: dict[str, float] = {"makespan_s": makespan}
    vain = 0.0
    if len(schedule.attempts):
        lost = lost_parts(schedule)
        vain = float((schedule.procs[lost.row] * (lost.until - lost.since)).sum())
    if last > first:
        work = float((schedule.procs * schedule.worked)[ran].sum())
        result["offered_load"] = work / (cluster.procs * (last - first))
        if schedule.penalised is not None:  # what neighbours cost is not offered by the log
            result["offered_load"] = offered_load(workload, cluster)["procs"]
    if makespan:
        result["total_load"] = float(area.sum()) / (cluster.procs * makespan)
        result["wasted_load"] = vain / (cluster.procs * makespan)
    return result
