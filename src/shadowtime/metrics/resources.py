"""More than one resource: how evenly they are used, and what is idle because another is used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.added import Better, Metric
from shadowtime.metrics.jobs import sum_of_products
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import Spans, runs, waits
from shadowtime.schedule.timeline import instants, least, stretches, totals
from shadowtime.types import AnyArray, Floats, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


HOUR = 3600


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares:
    """The part of each resource in use over time: row i holds from ``at[i]`` to ``at[i + 1]``."""

    names: tuple[str, ...]
    at: Ints
    share: Floats
    """A row per instant, a column per resource."""

    @property
    def fullest(self) -> Floats:
        """The part in use of the resource that is used most."""
        most: Floats = self.share.max(axis=1)
        return most

    @property
    def imbalance(self) -> Floats:
        """The fullest over the average of all: 1 if all are used alike, at most their number.

        It is what BB and IBB weigh (Liu et al. 2016, equations 1 and 2). Of a machine that does
        nothing it has no value (nan).
        """
        mean = self.share.mean(axis=1)
        found: Floats = np.divide(
            self.fullest, mean, out=np.full(len(mean), np.nan), where=mean > 0
        )
        return found


def counted(workload: Workload, cluster: Cluster) -> tuple[str, ...]:
    """Resources that the machine has and the jobs know of.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[1], procs=[1], demand={"memory": [5]})
    >>> counted(jobs, Cluster.pool(2, memory=9, gpus=4))
    ('procs', 'memory')
    """
    total = cluster.total
    return tuple(name for name in workload.resources if total.get(name, 0) > 0)


def shares_over_time(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster,
) -> Shares:
    """What is in use of each resource at every instant, lost runs counted.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10], run=[20, 5], procs=[2, 1], recorded_start=[0, 10],
    ...     demand={"memory": [1, 3]})
    >>> found = shares_over_time(Schedule.recorded(w), w, Cluster.pool(4, memory=4))
    >>> found.at.tolist(), found.share.tolist()
    ([0, 10, 15, 20], [[0.5, 0.25], [0.75, 1.0], [0.5, 0.25], [0.0, 0.0]])
    >>> found.imbalance.round(3).tolist()
    [1.333, 1.143, 1.333, nan]
    """
    found = runs(schedule)
    names = counted(workload, cluster)
    moments = instants(found.since, found.until)
    used = totals(moments, found.since, found.until, found.demand(_demand(workload, names)))
    return Shares(names=names, at=moments, share=used / _capacity(cluster, names))


def resource_metrics(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster,
    which: AnyArray,
    *,
    window: Window = ALL,
    known: Spans | None = None,
) -> dict[str, float]:
    """Balance, stranded capacity, dominant shares and throughput; nothing for a single resource.

    Rules
    -----
    Time is the window's, from its first to its last submission, as for utilisation; ``which`` are
    the scored jobs. With S the part of each resource in use:

    - ``imbalance_mean``: mean over time of max(S) / avg(S), while anything is in use.
    - ``fullest_mean``: mean over time of max(S).
    - ``stranded_R``: mean over time of the free part of R while the first waiting job finds enough
      of R but not of another resource: idle because another resource is full (pools only).
    - ``short_R``: part of the time with a waiting job in which R does not suffice for the first
      one (pools only). Several may be short at once; none is while the first could start.
    - ``dominant_share_mean``: mean over the jobs of the largest part of any resource they ask for,
      and ``dominant_R``: the part of the jobs for which that is R (the first one on a tie).
    - ``throughput_per_h``: jobs that end in the window by its hours.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 20], run=[10, 9, 5], procs=[1, 1, 1],
    ...     recorded_start=[0, 10, 20], demand={"memory": [3, 3, 1]})
    >>> m = resource_metrics(Schedule.recorded(w), w, Cluster.pool(4, memory=4), np.ones(3, bool))
    >>> m["short_memory"], m["short_procs"], m["stranded_procs"], m["stranded_memory"]
    (1.0, 0.0, 0.375, 0.0)
    >>> m["imbalance_mean"], m["dominant_memory"], m["throughput_per_h"]
    (1.5, 0.6666666666666666, 360.0)
    """
    if len(workload.resources) < 2:  # as most logs: nothing to look up
        return {}
    names = counted(workload, cluster)
    begin, end = window.bounds(workload.submit)
    if len(names) < 2 or end <= begin:
        return {}
    found = runs(schedule) if known is None else known
    queue = waits(schedule, found)
    edges = np.array([begin, end], np.int64)
    at = instants(queue.since, found.since, found.until, edges)
    demand, capacity = _demand(workload, names), _capacity(cluster, names)
    used = totals(at, found.since, found.until, found.demand(demand))
    seconds = stretches(at, begin, end).astype(np.float64)
    result = _balance(Shares(names=names, at=at, share=used / capacity), seconds)
    if cluster.shape == "pool":
        head = least(at, queue.since, queue.until, queue.row, nothing=len(workload))
        stranded, short = _short(used, head, seconds, demand, capacity)
        for k, name in enumerate(names):
            result |= {f"stranded_{name}": float(stranded[k]), f"short_{name}": float(short[k])}
    if which.any():
        result |= _dominant(demand[which] / capacity, names)
    ended = (found.until > begin) & (found.until <= end)
    ended[np.count_nonzero(schedule.start >= 0) :] = False  # lost attempts stand behind the others
    result["throughput_per_h"] = float(ended.sum()) * HOUR / (end - begin)
    return result


def _balance(shares: Shares, seconds: Floats) -> dict[str, float]:
    result = {"fullest_mean": sum_of_products(shares.fullest, seconds) / float(seconds.sum())}
    busy = ~np.isnan(shares.imbalance)
    total = float(seconds[busy].sum())
    if total:
        result["imbalance_mean"] = sum_of_products(shares.imbalance[busy], seconds[busy]) / total
    return result


def _short(used: Ints, head: Ints, seconds: Floats, demand: Ints, capacity: Ints) -> list[Floats]:
    """For each resource: the part stranded, and the part of the waiting time it is short."""
    waiting = head < len(demand)
    free = capacity - used
    lacks = (demand[np.where(waiting, head, 0)] > free) & waiting[:, None]
    blocked = lacks.any(axis=1, keepdims=True)
    stranded = np.where(blocked & ~lacks, free, 0)
    held = float(seconds[waiting].sum())
    return [
        (stranded * seconds[:, None]).sum(axis=0) / (capacity * float(seconds.sum())),
        (lacks * seconds[:, None]).sum(axis=0) / held if held else np.zeros(len(capacity)),
    ]


def _dominant(part: Floats, names: tuple[str, ...]) -> dict[str, float]:
    first = part.argmax(axis=1)
    result = {"dominant_share_mean": float(part.max(axis=1).mean())}
    return result | {f"dominant_{n}": float((first == k).mean()) for k, n in enumerate(names)}


def _demand(workload: Workload, names: tuple[str, ...]) -> Ints:
    return workload.demand[:, [workload.resources.index(name) for name in names]]


def _capacity(cluster: Cluster, names: tuple[str, ...]) -> Ints:
    return np.array([cluster.total[name] for name in names], np.int64)


USUAL = ("procs", "memory", "gpus")
"""Resources whose metrics are listed; those of others are described on demand."""

_NOUN = {"procs": "processors", "gpus": "GPUs"}

_PATTERNS: tuple[tuple[str, str, Better, str], ...] = (
    ("utilisation_", "{Noun} in use", "higher", "as utilisation, of {noun}"),
    ("stranded_", "{Noun} stranded", "lower",
     "free {noun} while the first waiting job finds enough of them but not of another resource, "
     "over all {noun} x the window (pools)"),
    ("short_", "Time short of {noun}", "neither",
     "part of the time with a waiting job in which the first one does not find enough {noun} "
     "(pools)"),
    ("dominant_", "Jobs that ask mostly for {noun}", "neither",
     "scored jobs whose largest share of any resource is that of {noun}, over scored jobs"),
)  # fmt: skip


def described(name: str) -> Metric | None:
    """The metric of this name if it is one of those that every resource has.

    Examples
    --------
    >>> described("stranded_license/matlab").label
    'License/matlab stranded'
    >>> described("wait_mean_s") is None
    True
    """
    for stem, label, better, definition in _PATTERNS:
        resource = name.removeprefix(stem)
        if resource == name or not resource or name == "dominant_share_mean":
            continue
        noun = _NOUN.get(resource, resource)
        words = {"noun": noun, "Noun": noun[:1].upper() + noun[1:]}
        return Metric(
            name=name,
            label=label.format(**words),
            unit="share",
            better=better,
            group="" if stem == "utilisation_" else "resources",
            definition=definition.format(**words),
        )
    return None


def usual() -> list[Metric]:
    """Those of processors, memory and GPUs; the utilisation of processors is simply that."""
    names = [stem + name for stem, *_ in _PATTERNS for name in USUAL]
    found = (described(name) for name in names if name != "utilisation_procs")
    return [metric for metric in found if metric is not None]
