"""The nodes of one partition as equal hosts, and what jobs request and hold there.

What the loop does not model of Slurm's jobs is handed to Slurm, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.cluster import Cluster, Host
from shadowtime.live.port import Ended, Place, RunningJob, Snapshot, WaitingJob
from shadowtime.live.slurm.asks import least_nodes
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.holding import (
    about_to_start,
    completing_job,
    each_node,
    need_of,
    running_job,
)
from shadowtime.policy.snapshot import NO_HOST
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import NONE, NodeRow, QueueRow, Window
from shadowtime.slurmtext.tres import parse_gres

if TYPE_CHECKING:
    from shadowtime.live.slurm.act import Range
    from shadowtime.live.slurm.touched import Touched


_FEATURE = r"[\w.:+=-]+"
_FEATURES = re.compile(rf"{_FEATURE}(?:(?:&{_FEATURE})*|(?:\|{_FEATURE})*)")
"""All of them, or one of them; counts and brackets are more than a list of nodes can express."""


def why_beyond(
    row: QueueRow, detail: Detail | None, nodes: Mapping[str, NodeRow], gres: tuple[str, ...]
) -> str:
    """Why the loop cannot decide where and when a job may start; nothing if it can.

    Rules
    -----
    This is the one place that lists what is not modelled: reservations, several partitions,
    licences, heterogeneous jobs, generic resources that are not counted, constraints beyond a plain
    list of features, and node lists that Slurm would add further nodes to.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"JobArrayID": "7", "PriorityLong": "0"}
    >>> row = _queue_row(BETWEEN.join((columns | {"TimeLimit": "1:00"}).values()))
    >>> why_beyond(row._replace(licenses="matlab:1"), None, {}, ())
    'it requests licences (matlab:1)'
    >>> why_beyond(row._replace(features="big|small"), None, {}, ())
    ''
    """
    if "+" in row.id:
        return "it is part of a heterogeneous job"
    if row.reservation not in NONE:
        return f"it belongs to the reservation {row.reservation}"
    if "," in row.partition:
        return f"it may run in several partitions ({row.partition})"
    if row.licenses not in NONE:
        return f"it requests licences ({row.licenses})"
    for asked in (row.gres_per_job, row.gres_per_socket):
        if asked not in NONE:
            return f"it requests resources by job or socket ({asked})"
    uncounted = row.gres_names - {*gres}
    if uncounted:
        names = ", ".join(sorted(uncounted))
        return f"it requests {names}, which is not counted: name it with --gres to have it counted"
    if row.features not in NONE and not _FEATURES.fullmatch(row.features):
        return f"its constraint is more than a list of features ({row.features})"
    return _nodes_beyond(row, detail, nodes)


def _nodes_beyond(row: QueueRow, detail: Detail | None, nodes: Mapping[str, NodeRow]) -> str:
    """Slurm treats a node list as a minimum: it adds nodes if more are requested."""
    wanted = expand(row.wanted)
    if not wanted:
        return ""
    cpus = sum(nodes[name].cpus for name in wanted if name in nodes)
    known = all(name in nodes for name in wanted)
    if (detail is not None and detail.nodes > len(wanted)) or (known and row.cpus > cpus):
        return f"it requests the nodes {row.wanted} and further ones"
    return ""


def has_features(wish: str, node: NodeRow) -> bool:
    """Whether a node has the features that a job requests.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import NodeRow
    >>> node = NodeRow("n1", "idle", 4, 0, {}, (), ("big", "ib"))
    >>> [has_features(wish, node) for wish in ("big|small", "big&gpu", "(null)")]
    [True, False, True]
    """
    if wish in NONE:
        return True
    if "|" in wish:
        return any(one in node.features for one in wish.split("|"))
    return all(one in node.features for one in wish.split("&"))


class EqualNodes:
    """The nodes of one partition as hosts: processors, memory and named resources of each."""

    def __init__(
        self, nodes: Sequence[NodeRow], *, scope: Scope, now: int, windows: Sequence[Window] = ()
    ) -> None:
        closed = {host for w in windows if w.begin <= now < w.end for host in w.nodes}
        self.scope, self.now, self.windows = scope, now, windows
        self.every = {node.name: node for node in nodes}
        self.usable = {
            name: node
            for name, node in self.every.items()
            if node.usable and node.name not in closed
        }
        self.timeless = not windows

    @property
    def machine(self) -> object:
        return [(node.name, node.cpus, node.features) for node in self.usable.values()]

    def why_beyond(self, row: QueueRow, detail: Detail | None) -> str:
        if self.scope.sized and row.sharing != "NO" and not self._fills(row, detail):
            return "it does not request whole nodes (--exclusive), which the policy counts"
        return why_beyond(row, detail, self.every, self.scope.gres)

    def _fills(self, row: QueueRow, detail: Detail | None) -> bool:
        """Whether a job requests all processors of a fixed number of nodes."""
        size = max((node.cpus for node in self.every.values()), default=1)
        nodes = detail.nodes if detail is not None else 0
        fixed = detail is not None and detail.most in (0, nodes)
        return fixed and nodes > 0 and row.cpus == nodes * size

    def waiting(self, row: QueueRow, detail: Detail | None) -> WaitingJob:
        return _waiting(row, self.usable, self.scope, detail, self.windows, self.now)

    def running(self, row: QueueRow, detail: Detail | None, *, mine: bool) -> RunningJob | None:
        return running_job(row, self.usable, self.scope, detail, mine=mine)

    def completing(self, row: QueueRow, detail: Detail | None) -> RunningJob | None:
        return completing_job(row, self.usable, self.scope, self.now)

    def about_to_start(self, row: QueueRow, place: Place, detail: Detail | None) -> RunningJob:
        return about_to_start(row, place, self.usable, self.scope, self.now, detail)

    def state(
        self, waiting: Sequence[WaitingJob], running: Sequence[RunningJob], ended: Sequence[Ended]
    ) -> Snapshot:
        return Snapshot(
            now=self.now,
            cluster=_cluster(self.usable, self.scope),
            waiting=tuple(waiting),
            running=tuple(running),
            ended=tuple(ended),
        )


def _cluster(usable: Mapping[str, NodeRow], scope: Scope) -> Cluster:
    if not usable:
        # A cluster needs a host: one processor on which no job fits represents none.
        nothing = (1, *(0 for _ in scope.resources[1:]))
        return Cluster(
            shape="nodes",
            resources=scope.resources,
            hosts=(Host(NO_HOST, nothing),),
            name=scope.name,
        )
    hosts = []
    for node in usable.values():
        capacity = [node.cpus]
        if scope.memory:
            capacity.append(node.memory)
        capacity += [node.gres.get(name, 0) for name in scope.gres]
        hosts.append(Host(node.name, tuple(capacity)))
    options = {"contention": {"shared": [scope.bandwidth]}} if scope.bandwidth else {}
    return Cluster(
        shape="nodes",
        resources=scope.resources,
        hosts=tuple(hosts),
        name=scope.name,
        options=options,
    )


def permitted(row: QueueRow, detail: Detail | None, mark: Touched | None) -> Range:
    """The fewest and most nodes that the user of a waiting job permits, (0, 0) if unspecified.

    In the range that scontrol prints Slurm writes its own expectation for the fewest: these are in
    the amounts requested, until a start overwrites them and notes the range in the job.
    """
    if mark is not None and mark.nodes[1]:
        return mark.nodes
    if detail is None or not detail.most:
        least = least_nodes(row.tres)
        return least, least
    return min(max(1, least_nodes(row.tres)), detail.most), detail.most


def queued_since(row: QueueRow, now: int) -> int:
    """When a job entered the queue.

    The begin time of a stopped job is that of its requeue: it keeps its place in the queue.
    """
    return row.submit if row.eligible > now or row.restarts else max(row.submit, row.eligible)


def _waiting(
    row: QueueRow,
    usable: Mapping[str, NodeRow],
    scope: Scope,
    detail: Detail | None,
    windows: Sequence[Window],
    now: int,
) -> WaitingJob:
    detail = detail or Detail(nodes=row.node_count if row.node_count > 1 else 0)
    # For a stopped job scontrol no longer reports a range: the request still contains it.
    hosts = detail.nodes if scope.sized else max(detail.nodes, least_nodes(row.tres))
    if row.per_node > 0:
        hosts = max(hosts, -(-max(1, row.tasks) // row.per_node))
    only: tuple[str, ...] = ()
    barred = set(detail.excluded)
    for window in windows:
        if now < window.begin < now + row.limit:
            barred.update(window.nodes)
    wanted = set(expand(row.wanted))
    if barred or wanted or row.features not in ("", "(null)"):
        only = tuple(
            name
            for name, node in usable.items()
            if name not in barred
            and (not wanted or name in wanted)
            and has_features(row.features, node)
        ) or (NO_HOST,)
        hosts = max(hosts, len(wanted))
    if scope.bandwidth and parse_gres(row.gres_per_node).get(scope.bandwidth):
        hosts = max(hosts, 1)  # an amount on each of its nodes: their number must be known
    cpus = row.cpus
    exclusive = row.sharing == "NO"
    if exclusive:
        size = max((node.cpus for node in usable.values()), default=1)
        hosts = max(hosts, 1, -(-cpus // size))
        cpus = hosts * size
    sizes = (hosts, max(hosts, detail.most)) if scope.sized else (0, 0)
    need = need_of(row, cpus, hosts, scope)
    each = each_node(row, detail, scope)
    if each:
        size = max((node.cpus for node in usable.values()), default=1)
        need = (cpus, each[1] * max(hosts, 1, -(-cpus // size)), *need[2:])
    return WaitingJob(
        id=row.id,
        submit=queued_since(row, now),
        need=need,
        request=row.limit,
        user=row.user,
        nodes=hosts,
        alone=exclusive,
        only=only,
        chunk=1 if exclusive else max(1, row.per_task),
        bandwidth=parse_gres(row.gres_per_task).get(scope.bandwidth, -1),
        each=each,
        sizes=sizes,
    )
