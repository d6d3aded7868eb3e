"""A cluster at one instant as a value, and what a pass decides on it.

This is what the live loop hands to the engine: the same facts that the simulator's state holds,
without any true run time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shadowtime.types import Reason

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.workload.request import Request

Held = tuple[tuple[str, tuple[int, ...]], ...]
"""What a job holds on each host: (host, amounts per resource)."""
Place = tuple[tuple[str, int], ...]
"""Where a job lies: (host, processors there), in the cluster's order of hosts."""

NO_HOST = "none"
"""Name of the host that stands for none: a cluster needs one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingJob:
    """A job that may start now.

    ``need`` has an entry per resource of the cluster, processors first. ``nodes`` is the number
    of hosts it wants to lie on (0: any), ``alone`` whether it shares none of them. ``only`` names
    the hosts it may use, all where empty; ``chunk`` processors must lie on one host together.
    ``bandwidth`` is what a process draws in MB/s, to a thousandth, -1 where unknown. ``each`` is
    what it takes on every host it lies on, however many of its processors lie there: an entry per
    resource, 0 where ``need`` is shared out by processors; empty where all of it is. On a site
    ``ask`` is all it asks for, and the fields above but id, submit, request and user say nothing.
    """

    id: str
    submit: int
    need: tuple[int, ...]
    request: int
    user: str = ""
    nodes: int = 0
    alone: bool = False
    only: tuple[str, ...] = ()
    chunk: int = 1
    tag: str = ""
    bandwidth: float = -1
    each: tuple[int, ...] = ()
    ask: Request | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningJob:
    """A job that holds resources: it runs, or has been released and is about to.

    ``need`` counts what it holds of the hosts in the cluster. Where ``ours`` is False it counts,
    but no policy may stop it; where ``settled`` is False it is on its way in or out and cannot be
    stopped at this moment. ``held`` is what it holds per host beyond the processors in
    ``place``, where a port knows it: (host, amounts per resource). On a site ``held`` tells of
    every host, and ``ask`` what it counts in: partition, QOS, account, licences.
    """

    id: str
    submit: int
    need: tuple[int, ...]
    request: int
    start: int
    place: Place = ()
    user: str = ""
    ours: bool = True
    settled: bool = True
    alone: bool = False
    held: Held = ()
    tag: str = ""
    bandwidth: float = -1
    ask: Request | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A job that ended by itself or at its limit; preempted ones are waiting again."""

    id: str
    start: int
    end: int
    request: int
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A cluster at one instant: who waits, who runs, who ended lately.

    ``cluster`` lists the hosts that jobs may be started on now, one entry each (shape nodes).
    ``ended`` may hold jobs that were reported before; memory knows which are news. ``site`` is the
    whole machine with its rules where the policy sees it so; ``shut`` are nodes of it on which no
    job may be started now, whatever runs there.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> job = WaitingJob(id="7", submit=3, need=(2,), request=60)
    >>> Snapshot(now=9, cluster=two, waiting=(job,)).now
    9
    """

    now: int
    cluster: Cluster
    waiting: tuple[WaitingJob, ...] = ()
    running: tuple[RunningJob, ...] = ()
    ended: tuple[Ended, ...] = ()
    site: Site | None = None
    shut: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """True if there is no host that jobs may be started on."""
        return self.cluster.hosts[0].name == NO_HOST

    def replace(self, **changes: Any) -> Snapshot:
        """A variant of this state."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Start a waiting job now; an empty place leaves the hosts to the port that carries it out."""

    job: str
    place: Place = ()
    reason: Reason = Reason.HEAD
    limit: int = 0
    """A new wall time limit in seconds, 0: as it is."""
    alone: bool = False
    """On hosts of its own, whether it asks for them or not."""
    bandwidth: int = 0
    """MB/s that a process is counted with, 0: none."""
    partition: str = ""
    """On a site, the one of its partitions that it starts in."""
    held: Held = ()
    """On a site, what it takes on each of its hosts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Preempt a running job: it waits again, its work is lost."""

    job: str


Decision = Start | Stop

_NUMBER = re.compile(r"\d{1,18}")  # Python reads no number of more than 4,300 digits


@lru_cache(maxsize=1 << 17)
def natural(job: str) -> tuple[int, ...]:
    """The numbers in a job's name, which order jobs submitted in the same second.

    Examples
    --------
    >>> sorted(["12_10", "9", "12_9"], key=natural)
    ['9', '12_9', '12_10']
    """
    return tuple(map(int, _NUMBER.findall(job)))
