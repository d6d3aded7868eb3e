"""Load: what a workload demands of a machine, and the same jobs submitted at other times."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


INSTANTS = ("cancel_at", "eligible", "deadline")
"""Further columns that are instants on the workload's clock, -1 where there is none."""


def resubmitted(
    workload: Workload, submit: Ints, *, run: Ints | None = None, recorded: bool = False
) -> Workload:
    """The jobs submitted at these times, in (submit, id) order.

    What depends on the submission moves with it: the moments at which a job may begin, became
    eligible or is cancelled in the queue keep their distance. Recorded starts move along with
    ``recorded`` (all jobs shifted equally); else they are dropped, as they belong to the old load.
    ``run`` are other run times, in the order of the given workload.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 5], run=[1, 1], procs=[1, 1], recorded_start=[2, 9])
    >>> late = resubmitted(w, w.submit + 100, recorded=True)
    >>> late.submit.tolist(), late.recorded_start.tolist()
    ([100, 105], [102, 109])
    """
    start, series = workload.recorded_start, workload.series
    if recorded:
        if series and len(submit):
            moved_by = int(submit[0] - workload.submit[0])
            series = {name: one.shifted(moved_by) for name, one in series.items()}
        start = np.where(start == UNKNOWN, UNKNOWN, start + (submit - workload.submit))
    else:
        start = np.full(len(workload), UNKNOWN, np.int64)
    extra: dict[str, AnyArray] = dict(workload.extra)
    for name in INSTANTS:
        if name in extra:
            at = extra[name]
            extra[name] = np.where(at == UNKNOWN, UNKNOWN, at + (submit - workload.submit))
    requests = workload.requests
    if requests is not None:
        by = submit - workload.submit
        requests = replace(
            requests,
            begin=np.where(requests.begin < 0, requests.begin, np.maximum(requests.begin + by, 0)),
            cancel_at=np.where(
                requests.cancel_at < 0,
                requests.cancel_at,
                np.maximum(requests.cancel_at + by, 0),
            ),
        )
    return workload.replace(
        submit=submit,
        run=workload.run if run is None else run,
        recorded_start=start,
        extra=extra,
        requests=requests,
        series=series,
    ).sorted()


def from_zero(workload: Workload) -> Workload:
    """The same workload with its first submission at 0.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> from_zero(Workload.build(submit=[7, 9], run=[1, 1], procs=[1, 1])).submit.tolist()
    [0, 2]
    """
    if len(workload) == 0:
        return workload
    return resubmitted(workload, workload.submit - workload.submit[0], recorded=True)


def offered_load(workload: Workload, cluster: Cluster) -> dict[str, float]:
    """The demand for each resource as a share of the machine's capacity.

    The demand area, sum of demand x run (cut at the limit), over capacity x (last submission -
    first submission), for every resource that both the workload and the machine count. At 1 and
    above the queue grows as long as jobs arrive: say so wherever such a load is used.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 100], run=[50, 50], procs=[4, 2])
    >>> offered_load(w, Cluster.pool(4))
    {'procs': 0.75}
    """
    span = _span(workload)
    run = workload.effective_run.astype(np.float64)  # KB-seconds of a year may pass 63 bits
    total = {"procs": cluster.procs, **cluster.total}  # a site calls them cpus
    return {
        name: float(workload.demand[:, column].astype(np.float64) @ run) / (total[name] * span)
        for column, name in enumerate(workload.resources)
        if total.get(name, 0) > 0
    }


def scale_load(workload: Workload, factor: float) -> Workload:
    """The same jobs arriving ``factor`` times as fast; run times stay.

    submit' = first + floor((submit - first) * 1000 / k) with k = 1000 * factor rounded to a whole
    number, in whole-number arithmetic. Stretching the gaps stretches days and weeks too: the
    daily cycle is no longer one of 24 hours. Recorded starts are forgotten.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[10, 20, 31], run=[1, 1, 1], procs=[1, 1, 1])
    >>> scale_load(w, 2).submit.tolist()
    [10, 15, 20]
    >>> scale_load(w, 0.5).submit.tolist()
    [10, 30, 52]
    """
    if not (math.isfinite(factor) and factor >= 0.001):
        raise UsageError(f"the load factor is {factor}; give a number from 0.001")
    if len(workload) == 0:
        return workload
    first = workload.submit[0]
    return resubmitted(workload, first + (workload.submit - first) * 1000 // round(1000 * factor))


def to_load(workload: Workload, cluster_procs: int, target: float) -> Workload:
    """The same jobs arriving so that the offered load of processors is ``target``.

    ``scale_load`` by target / offered load, so the result is as near as a factor in thousandths
    and whole seconds allow: measure it with ``offered_load`` where it matters.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 100], run=[50, 50], procs=[4, 2])
    >>> offered_load(to_load(w, 4, 1.5), Cluster.pool(4))
    {'procs': 1.5}
    """
    if cluster_procs < 1:
        raise UsageError(f"a machine of {cluster_procs} processors has no load; give at least 1")
    if not (math.isfinite(target) and target > 0):
        raise UsageError(f"the load asked for is {target}; give a number above 0")
    area = int((workload.procs * workload.effective_run).sum())
    return scale_load(workload, target * cluster_procs * _span(workload) / area)


def _span(workload: Workload) -> int:
    span = int(workload.submit[-1] - workload.submit[0]) if len(workload) else 0
    if span == 0:
        raise UsageError(
            f"{workload.name}: all jobs arrive in the same second, so their load is undefined"
        )
    return span
