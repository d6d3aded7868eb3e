"""How long nodes take to answer after an end, measured where one job follows another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.log import Event, job_number
from shadowtime.types import UNKNOWN, AnyArray

if TYPE_CHECKING:
    from shadowtime.workload import Workload

DEFAULT = 100
"""Milliseconds if nothing could be measured: nodes without an epilog answer within this time."""
BY_MAIN = 1
"""The column ``started_by`` of a start by the main pass."""
WAITED = 3
"""Seconds that a job has waited before its start counts as one that waited for nodes."""
FEWEST = 10
"""A mean over fewer starts than this is not meaningful."""
TICK = 1.0
"""Seconds between two turns of slurmctld's loop: on average a main pass is half of them away."""
GRAIN = 10
"""Milliseconds to which a measured latency is rounded."""


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Milliseconds from an end to the moment its nodes can be used, and the evidence for it."""

    milliseconds: int
    handovers: int
    """Starts that followed an end on the same node."""
    mean_gap: float
    """Seconds from those ends to those starts."""

    @property
    def early(self) -> float:
        """The share of starts recorded a second early, where passes run at whole seconds.

        An end is cut to the second before such a pass, so that the gap is 1 second, or 0.
        """
        return min(max(1 - self.mean_gap, 0.0), 1.0)

    def __str__(self) -> str:
        return (
            f"start latency {self.milliseconds} ms ({self.handovers} starts followed an end on "
            f"their nodes after {self.mean_gap:.2f} s on average)"
        )


def estimate(gaps: AnyArray, *, spacing: float = TICK) -> Latency | None:
    """The latency behind gaps (seconds) between an end and the start that waited for it.

    Rules
    -----
    Passes come ``spacing`` seconds apart and an end falls anywhere between two of them, so that
    the mean gap is the latency and half the spacing. Starts that waited for something else too
    (a limit, a dependency) have longer gaps: those farther from the median than two seconds and a
    quarter of it are left out. None where fewer than 10 are left, or less than half of all.

    Examples
    --------
    >>> estimate(np.array([20, 21] * 10 + [400])).milliseconds
    20000
    >>> estimate(np.array([0, 1] * 10)).milliseconds, estimate(np.array([0, 1]))
    (0, None)
    """
    if not len(gaps):
        return None
    middle = float(np.median(gaps))
    kept = gaps[np.abs(gaps - middle) <= 2 + middle / 4]
    if len(kept) < max(FEWEST, len(gaps) / 2):
        return None
    mean = float(kept.mean())
    seconds = max(0.0, mean - spacing / 2)
    return Latency(
        milliseconds=round(seconds * 1000 / GRAIN) * GRAIN, handovers=len(kept), mean_gap=mean
    )


def measure(
    workload: Workload, *, batch_sched_delay: int = 0, whole_seconds: bool = False
) -> Latency | None:
    """The latency that a log from sacct shows; None where it does not.

    Rules
    -----
    The log must contain where jobs ran (NodeList) and which pass started them (Flags). Counted are
    starts by the main pass of jobs that had waited for three seconds, from the last end on one of
    their nodes, if they waited by then. sacct cuts starts and ends to whole seconds alike, which
    makes no difference to a mean of gaps.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> rows = np.arange(12)
    >>> log = Workload.build(
    ...     submit=rows, run=[50] * 12, procs=[1] * 12, recorded_start=rows * 53,
    ...     extra={"node_list": rows * 0, "started_by": rows * 0 + 1},
    ...     names={"node_list": ("n1",)},
    ... )
    >>> print(measure(log))
    start latency 2500 ms (11 starts followed an end on their nodes after 3.00 s on average)
    """
    by = workload.extra.get("started_by")
    places = workload.extra.get("node_list")
    start = workload.recorded_start
    if by is None or places is None or not len(start):
        return None
    end = start + workload.run
    since = np.maximum(workload.submit, workload.extra.get("eligible", workload.submit))
    waited = (by == BY_MAIN) & (start != UNKNOWN) & (start - since >= WAITED)
    trigger = _last_ends(workload, places, start, end, waited)
    found = waited & (trigger >= since)
    return latency_of(
        (start - trigger)[found],
        trigger[found],
        submits=workload.submit,
        ends=end[start != UNKNOWN],
        batch_sched_delay=batch_sched_delay,
        whole_seconds=whole_seconds,
    )


def latency_of(
    gaps: AnyArray,
    since: AnyArray,
    *,
    submits: AnyArray,
    ends: AnyArray,
    batch_sched_delay: int,
    whole_seconds: bool = False,
) -> Latency | None:
    """The latency behind gaps that began at ``since``, among all submissions and ends of a log.

    ``batch_sched_delay`` keeps main passes apart: nodes that answer with nothing else in the
    seconds before are not delayed by it. Where there are too few of those, passes come that many
    seconds apart.
    """
    if batch_sched_delay <= TICK or not len(gaps):
        return estimate(gaps, spacing=TICK * (1 + whole_seconds))
    typical = float(np.median(gaps))
    events = np.sort(np.concatenate([submits, ends + typical]))
    answers = since + typical
    alone = np.searchsorted(events, answers) == np.searchsorted(
        events, answers - batch_sched_delay - TICK
    )
    if int(alone.sum()) >= FEWEST:
        return estimate(gaps[alone], spacing=TICK * (1 + whole_seconds))
    return estimate(gaps, spacing=float(batch_sched_delay))


def _last_ends(
    workload: Workload, places: AnyArray, start: AnyArray, end: AnyArray, wanted: AnyArray
) -> AnyArray:
    """The last end on a job's nodes up to its start, by row; -1 where there is none."""
    numbers: dict[str, int] = {}
    hosts = [
        np.array([numbers.setdefault(name, len(numbers)) for name in _names(text)], np.int64)
        for text in workload.names.get("node_list", ())
    ]
    sizes = np.array([len(one) for one in hosts], np.int64)
    known = (start != UNKNOWN) & (places >= 0) & (places < len(hosts))
    rows = np.flatnonzero(known)
    last = np.full(len(start), -1, np.int64)
    if not len(rows):
        return last
    owner = np.repeat(rows, sizes[places[rows]])
    node = np.concatenate([hosts[place] for place in places[rows].tolist()])
    span = int(end[rows].max()) + 2
    ends = np.sort(node * span + end[owner])
    asked = wanted[owner]
    owner, node = owner[asked], node[asked]
    if not len(owner):
        return last
    at = np.searchsorted(ends, node * span + start[owner], side="right") - 1
    found = np.where((at >= 0) & (ends[at] // span == node), ends[at] % span, -1)
    np.maximum.at(last, owner, found)
    return last


def _names(text: str) -> list[str]:
    try:
        return expand(text)
    except ClusterError:
        return []


def latency_of_log(events: Iterable[Event], *, batch_sched_delay: int = 0) -> Latency | None:
    """As :func:`measure`, from ends and starts to the millisecond.

    Examples
    --------
    >>> from shadowtime.slurmtext.log import Event
    >>> events = [Event(0.0, "main", ("1", "n1", "4", "batch"))]
    >>> for k in range(2, 14):
    ...     events += [
    ...         Event(k * 100 - 99.0, "submit", (str(k), "1")),
    ...         Event(k * 100.0, "done", (str(k - 1),)),
    ...         Event(k * 100 + 2.6, "main", (str(k), "n1", "4", "batch")),
    ...     ]
    >>> latency_of_log(events).milliseconds
    2100
    """
    submitted: dict[int, float] = {}
    ends: list[float] = []
    nodes: dict[int, list[str]] = {}
    last: dict[str, float] = {}
    """When a job last ended on a node."""
    found: list[tuple[float, float]] = []
    for event in events:
        if event.kind not in ("submit", "done", "main", "backfill"):
            continue
        job = job_number(event.fields[0])[0]
        if event.kind == "submit":
            submitted[job] = event.time
        elif event.kind == "done":
            ends.append(event.time)
            for name in nodes.pop(job, ()):
                last[name] = event.time
        else:
            nodes[job] = expand(event.fields[1 if event.kind == "main" else 2])
            since = submitted.get(job, event.time)
            end = max((last[name] for name in nodes[job] if name in last), default=-1.0)
            if event.kind == "main" and event.time - since >= WAITED and end >= since:
                found.append((event.time - end, end))
    gaps, begun = np.array(found).reshape(-1, 2).T
    return latency_of(
        gaps,
        begun,
        submits=np.array(list(submitted.values())),
        ends=np.array(ends),
        batch_sched_delay=batch_sched_delay,
    )
