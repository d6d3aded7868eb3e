"""Whether a job fits anywhere at all: on the usable hosts if they were empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shadowtime.live.placing import portion, room
from shadowtime.policy.snapshot import NO_HOST

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.engine.live_pass import WaitingJob
    from shadowtime.engine.live_pass.outcome import Shape

NOWHERE = "no usable host has what it asks for"
TOO_BIG = "the hosts that can be used now could not hold it even if they were empty"
CLOSED = "no host can be used now"
NOWHERE_ON_SITE = (
    "no usable nodes of its partitions could hold it even if they were empty, or the bounds of "
    "its partitions, QOS or account forbid it"
)
FITS_NOWHERE = (NOWHERE, TOO_BIG, CLOSED, NOWHERE_ON_SITE)


class Empty:
    """The usable hosts as if they were empty, counted by what they have: few kinds of many hosts.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import WaitingJob
    >>> two = Empty(Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,)))))
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(8,), request=9))
    ''
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(8,), request=9, nodes=4))
    'the hosts that can be used now could not hold it even if they were empty'
    >>> two.why_nowhere(WaitingJob(id="1", submit=0, need=(1,), request=9, only=("n3",)))
    'no usable host has what it asks for'
    """

    def __init__(self, cluster: Cluster, *, shape: Shape = "pool") -> None:
        self._one_host = shape == "hosts"  # a job without a number of nodes has one
        self._has = {host.name: host.capacity for host in cluster.hosts if host.name != NO_HOST}
        self._kinds: dict[tuple[str, ...], Mapping[tuple[int, ...], int]] = {}
        self._known: dict[object, str] = {}

    def why_nowhere(self, job: WaitingJob) -> str:
        """Why a job fits on no set of hosts; nothing if it fits."""
        asked = (job.need, job.nodes, job.alone, job.only, job.chunk, job.each)
        if asked not in self._known:
            self._known[asked] = self._why(job)
        return self._known[asked]

    def _why(self, job: WaitingJob) -> str:
        if not self._has:
            return CLOSED
        if job.only not in self._kinds:
            self._kinds[job.only] = self._count(job.only or self._has)
        kinds = self._kinds[job.only]
        if not kinds:
            return NOWHERE
        nodes = max(job.nodes, 1) if self._one_host else job.nodes
        return "" if _fits(job, nodes, kinds) else TOO_BIG

    def _count(self, names: Iterable[str]) -> dict[tuple[int, ...], int]:
        kinds: dict[tuple[int, ...], int] = {}
        for name in names:
            if name in self._has:
                kinds[self._has[name]] = kinds.get(self._has[name], 0) + 1
        return kinds


def _fits(job: WaitingJob, nodes: int, kinds: Mapping[tuple[int, ...], int]) -> bool:
    """As :func:`shadowtime.live.placing.first_fit` would find room."""
    procs = job.need[0]
    if nodes > 0:
        share = -(-procs // (nodes * job.chunk)) * job.chunk
        most = (share, *portion(job, min(share, procs))[1:])
        return sum(count for has, count in kinds.items() if room(has, most)) >= nodes
    held = 0
    for has, count in kinds.items():
        each = min(procs, has[0]) // job.chunk * job.chunk
        while each > 0 and not room(has, portion(job, each)):
            each -= job.chunk
        held += each * count
    return held >= procs
