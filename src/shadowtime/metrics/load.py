"""How much of the machine was used, wasted, or idle although a job could have used it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.columns import numbers_of
from shadowtime.metrics import _load_kernel as of
from shadowtime.metrics.jobs import sum_of_products
from shadowtime.metrics.tally import MOST, as_row
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule import Schedule, timeline
from shadowtime.schedule.runs import Spans, lost_parts, runs, started, turns
from shadowtime.types import Ints
from shadowtime.workload import Workload, site_requests
from shadowtime.workload.scale import offered_load

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


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
    shares = {}
    for at, (own, capacity) in enumerate(cluster.total.items()):
        name = own if at else "procs"  # a site calls its processors cpus
        if name in workload.resources and capacity and end > begin:
            demand = workload.demand[:, workload.resources.index(name)]
            demand = found.of(demand) if at else found.taken(demand)
            shares[name] = in_use(found, demand, begin, end) / (float(capacity) * (end - begin))
    for name, capacity in getattr(cluster, "amounts", {}).items():
        column = site_requests.column_of(workload, name)
        if column is not None and capacity and end > begin:
            used = in_use(found, found.of(np.maximum(column, 0)), begin, end)
            shares[name] = used / (float(capacity) * (end - begin))
    return shares


def in_use(found: Spans, amount: Ints, begin: int, end: int) -> float:
    """Sum of amount x seconds in [begin, end): exact unless it is huge.

    Examples
    --------
    >>> from shadowtime.schedule.runs import Spans
    >>> two = Spans(row=np.arange(2), since=np.array([0, 5]), until=np.array([9, 20]))
    >>> in_use(two, np.array([2, 10]), 4, 11)
    70.0
    """
    sums = _sums(found, amount, begin, end)
    # A bound on the sum, so that it cannot have passed 63 bits unnoticed.
    if len(found) * sums["largest"] * sums["longest"] <= MOST:
        return float(sums["used"])
    return sum_of_products(
        amount, timeline.within(found.until, begin, end) - timeline.within(found.since, begin, end)
    )


def _sums(found: Spans, amount: Ints, begin: int = 0, end: int = 0) -> dict[str, int]:
    """The sums that are named in _load_kernel.py."""
    sums = np.empty(1, of.SUMS)
    of.add_up(as_row(found.since), as_row(found.until), as_row(amount), begin, end, sums)
    return numbers_of(sums)


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
    lost = idle_though_wanted(schedule, all_runs, cluster.procs, begin, end)
    return lost / (float(cluster.procs) * (end - begin))


def idle_though_wanted(
    schedule: Schedule, all_runs: Spans, procs: int, begin: int, end: int
) -> float:
    """Processor-seconds in [begin, end) that were idle while a waiting job would have fitted.

    A sum of whole numbers, so it is exact in any order of addition.
    """
    from shadowtime.kernel.radix import DIGITS
    from shadowtime.metrics._load_kernel import idle_while_wanted

    turn = turns(schedule, all_runs)
    if len(turn) == 0:
        return 0.0
    columns = turn.ready, turn.since, turn.until, turn.taken(schedule.procs)
    ready, since, until, width = (as_row(column) for column in columns)
    keys, widths = np.empty((2, 3 * len(turn)), np.int64), np.empty(len(turn), np.int64)
    counts = np.empty(DIGITS, np.int64)
    return float(
        idle_while_wanted(ready, since, until, width, keys, widths, counts, procs, begin, end)
    )


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
    found = runs(schedule) if known is None else known
    if len(found) == 0 or (len(schedule.attempts) and not started(schedule).any()):
        return {}
    sums = _sums(found, found.taken(schedule.procs))
    area = float(sums["area"])
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    makespan = sums["last"] - first
    result: dict[str, float] = {"makespan_s": makespan}
    vain = 0.0
    if len(schedule.attempts):
        lost = lost_parts(schedule)
        vain = float((lost.taken(schedule.procs) * (lost.until - lost.since)).sum())
    if last > first:
        work = area
        if len(schedule.attempts):
            work = float((schedule.procs * schedule.worked)[started(schedule)].sum())
        result["offered_load"] = work / (cluster.procs * (last - first))
        if schedule.penalised is not None:  # what neighbours cost is not offered by the log
            result["offered_load"] = offered_load(workload, cluster)["procs"]
    if makespan:
        result["total_load"] = area / (cluster.procs * makespan)
        result["wasted_load"] = vain / (cluster.procs * makespan)
    return result
