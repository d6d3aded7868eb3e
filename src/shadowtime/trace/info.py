"""What a log contains: numbers for a table and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.metrics.statistics import percentile, summary
from shadowtime.trace.header import names, start_moment
from shadowtime.trace.quality import flurries, peak_use, remarks
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.scale import offered_load

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster

DAY = 86400
_RUNTIME_EDGES = (0, 60, 600, 3600, 8 * 3600, DAY)
"""Run times by class: up to a minute, ten minutes, an hour, eight hours, a day, more."""


def describe(workload: Workload, *, cluster: Cluster | None = None) -> dict[str, Any]:
    """Counts, span, load, people, distributions, flurries and remarks on quality.

    Shares are fractions of 1; *work* is processors x run time (cut at the limit). Distributions
    have mean, median, 95th and 99th percentile and maximum, with the quartile and minimum before
    them. Hours and weekdays are local where the header gives a start and a time zone, else they
    count from the first submission's midnight (``arrivals.local`` is then False).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 100], run=[50, 50], procs=[4, 3], user=[7, 7])
    >>> info = describe(w, cluster=Cluster.pool(4))
    >>> info["jobs"], info["load"], info["users"]["count"], info["sizes"]["power_of_two_share"]
    (2, {'procs': 0.875}, 1, 0.5)
    """
    n = len(workload)
    if n == 0:
        return {"name": workload.name, "jobs": 0, "cleaning": dict(workload.cleaning)}
    work = workload.procs * workload.effective_run
    span = int(workload.submit[-1] - workload.submit[0])
    load = offered_load(workload, cluster) if cluster is not None and span > 0 else {}
    bursts = flurries(workload)
    start = start_moment(workload.header)
    return {
        "name": workload.name,
        "jobs": n,
        "span_s": span,
        "span_days": span / DAY,
        "start": None if start is None else start.isoformat(),
        "machine": dict(workload.machine),
        "cluster": None if cluster is None else cluster.total,
        "load": load,
        "peak_recorded_procs": peak_use(workload),
        "work_proc_hours": float(work.sum()) / 3600,
        "users": _people(workload, work, "user"),
        "groups": _people(workload, work, "group"),
        "accounts": _named(workload, "group") if "group" in workload.names else [],
        "queues": _named(workload, "queue"),
        "partitions": _named(workload, "partition"),
        "sizes": _sizes(workload.procs, work),
        "runtimes": _spread(workload.effective_run)
        | {"histogram": _histogram(workload.effective_run, _RUNTIME_EDGES, work)},
        "requests": _requests(workload),
        "waits": _waits(workload),
        "memory": _memory(workload),
        "arrivals": _arrivals(workload),
        "status": _counts(workload.status),
        "cleaning": dict(workload.cleaning),
        "flurries": [asdict(burst) for burst in bursts],
        "remarks": [
            asdict(remark)
            for remark in remarks(workload, cluster=cluster, load=load.get("procs"), bursts=bursts)
        ],
    }


def _spread(values: AnyArray) -> dict[str, Any]:
    if len(values) == 0:
        return {}
    low = {"min": float(values.min()), "p25": percentile(values, 25)}
    return low | summary(values) | {"p75": percentile(values, 75)}


def _histogram(values: Ints, edges: Sequence[int], work: Ints) -> list[dict[str, Any]]:
    """Jobs and work by class: above each edge, up to and including the next."""
    place = np.searchsorted(np.array(edges), values, side="left") - 1
    classes = np.maximum(place, 0)
    jobs = np.bincount(classes, minlength=len(edges))
    worked = np.bincount(classes, weights=work, minlength=len(edges))
    total = max(float(work.sum()), 1.0)
    return [
        {
            "above": int(edge),
            "to": int(edges[i + 1]) if i + 1 < len(edges) else None,
            "jobs": int(jobs[i]),
            "jobs_share": float(jobs[i]) / len(values),
            "work_share": float(worked[i]) / total,
        }
        for i, edge in enumerate(edges)
    ]


def _sizes(procs: Ints, work: Ints) -> dict[str, Any]:
    edges = [0, *(1 << k for k in range(int(procs.max() - 1).bit_length()))]
    n = len(procs)
    return _spread(procs) | {
        "serial_share": float((procs == 1).sum()) / n,
        "power_of_two_share": float(((procs & (procs - 1)) == 0).sum()) / n,
        "histogram": _histogram(procs, edges, work),
    }


def _people(workload: Workload, work: Ints, key: str) -> dict[str, Any]:
    column: Ints = getattr(workload, key)
    known = column >= 0
    who, place, jobs = np.unique(column[known], return_inverse=True, return_counts=True)
    worked = np.bincount(place, weights=work[known], minlength=len(who))
    total = max(float(work.sum()), 1.0)
    top = np.argsort(-jobs, kind="stable")[:5]
    return {
        "count": len(who),
        "unknown_share": float((~known).sum()) / len(column),
        "top": [
            {
                key: int(who[i]),
                **({"name": workload.name_of(key, int(who[i]))} if key in workload.names else {}),
                "jobs": int(jobs[i]),
                "jobs_share": float(jobs[i]) / len(column),
                "work_share": float(worked[i]) / total,
            }
            for i in top
        ],
    }


def _counts(column: Ints) -> dict[str, int]:
    values, counts = np.unique(column, return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def _named(workload: Workload, kind: str) -> list[dict[str, Any]]:
    labels = names(workload.header)[kind]
    values, counts = np.unique(getattr(workload, kind), return_counts=True)
    return [
        {
            "number": int(value),
            "name": workload.name_of(kind, int(value))
            if kind in workload.names
            else labels.get(int(value), ""),
            "jobs": int(count),
            **(
                _wait_of(workload, getattr(workload, kind) == value)
                if kind in workload.names
                else {}
            ),
        }
        for value, count in zip(values, counts, strict=True)
        if value != UNKNOWN
    ]


def _wait_of(workload: Workload, which: AnyArray) -> dict[str, Any]:
    """Mean and median recorded wait of some jobs, if the log records starts."""
    known = which & (workload.recorded_start != UNKNOWN)
    if not bool(known.any()):
        return {}
    wait = (workload.recorded_start - workload.submit)[known]
    return {"wait_mean_s": float(wait.mean()), "wait_median_s": float(np.median(wait))}


def _requests(workload: Workload) -> dict[str, Any]:
    """Requested times, how much of them was used, and the few values that most users choose."""
    values, counts = np.unique(workload.request, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:10]
    n = len(workload)
    return _spread(workload.request) | {
        "different": len(values),
        "popular": [{"seconds": int(values[i]), "jobs_share": float(counts[i]) / n} for i in top],
        "used_share": _spread(workload.effective_run / workload.request),
        "reached_share": float((workload.run >= workload.request).sum()) / n,
    }


def _waits(workload: Workload) -> dict[str, Any]:
    known = workload.recorded_start != UNKNOWN
    wait = (workload.recorded_start - workload.submit)[known]
    return {"known_share": float(known.sum()) / len(workload)} | _spread(wait)


def _memory(workload: Workload) -> dict[str, Any]:
    """Memory in KB per processor, if the log has it."""
    found = {}
    for name in ("requested_memory", "used_memory"):
        column = workload.extra.get(name)
        if column is not None and bool((column > 0).any()):
            known = column > 0
            found[name] = {"known_share": float(known.sum()) / len(workload)}
            found[name] |= _spread(column[known])
    return found


def _arrivals(workload: Workload) -> dict[str, Any]:
    start = start_moment(workload.header)
    # Local clock at the log's start; a change to summer time within it moves hours by one.
    offset = 0
    weekday = 0
    if start is not None:
        offset = start.hour * 3600 + start.minute * 60 + start.second
        weekday = start.weekday()
    local = workload.submit + offset
    gaps = np.diff(workload.submit)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return {
        "local": start is not None,
        "by_hour": np.bincount(local % DAY // 3600, minlength=24).tolist(),
        "by_weekday": np.bincount((local // DAY + weekday) % 7, minlength=7).tolist(),
        "gap_mean_s": mean,
        "gap_cv": float(gaps.std()) / mean if mean > 0 else 0.0,
        "gap_longest_s": int(gaps.max()) if len(gaps) else 0,
    }
