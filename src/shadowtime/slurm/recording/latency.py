"""How long nodes take to answer after an end, from slurmctld's log to the millisecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.hostlist import expand
from shadowtime.slurm.latency import WAITED, Latency, latency_of
from shadowtime.slurm.recording.log import job_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.slurm.recording.log import Event


def latency_of_log(events: Iterable[Event], *, batch_sched_delay: int = 0) -> Latency | None:
    """As :func:`shadowtime.slurm.latency.measure`, from ends and starts to the millisecond.

    Examples
    --------
    >>> from shadowtime.slurm.recording.log import Event
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
