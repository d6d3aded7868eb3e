"""The nodes of one partition as equal hosts, and what jobs request and hold there.

What the loop does not model of Slurm's jobs is handed to Slurm, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from shadowtime.cluster import Cluster, Host
from shadowtime.eta.held import even
from shadowtime.live.port import Ended, Place, RunningJob, Snapshot, WaitingJob
from shadowtime.live.slurm.asks import least_nodes
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.gate import LAST
from shadowtime.policy.snapshot import NO_HOST
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import NONE, NodeRow, QueueRow, Window
from shadowtime.slurmtext.tres import parse_gres

if TYPE_CHECKING:
    from shadowtime.live.slurm.act import Range
    from shadowtime.live.slurm.touched import Touched


STANDS_STILL = {"SUSPENDED", "STOPPED"}
"""States of jobs that an operator has halted: stopping one would free nothing."""
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
        detail = detail or Detail(nodes=row.node_count if row.node_count > 1 else 0)
        scope, usable = self.scope, self.usable
        # For a stopped job scontrol no longer reports a range: the request still contains it.
        hosts = detail.nodes if scope.sized else max(detail.nodes, least_nodes(row.tres))
        if row.per_node > 0:
            hosts = max(hosts, -(-max(1, row.tasks) // row.per_node))
        only: tuple[str, ...] = ()
        barred = set(detail.excluded)
        for window in self.windows:
            if self.now < window.begin < self.now + row.limit:
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
            hosts = max(hosts, 1, -(-cpus // self._largest))
            cpus = hosts * self._largest
        need = self._need(row, cpus, hosts)
        each = self._each(row, detail)
        if each:
            need = (cpus, each[1] * max(hosts, 1, -(-cpus // self._largest)), *need[2:])
        return WaitingJob(
            id=row.id,
            submit=queued_since(row, self.now),
            need=need,
            request=row.limit,
            user=row.user,
            nodes=hosts,
            alone=exclusive,
            only=only,
            chunk=1 if exclusive else max(1, row.per_task),
            bandwidth=parse_gres(row.gres_per_task).get(scope.bandwidth, -1),
            each=each,
            sizes=(hosts, max(hosts, detail.most)) if scope.sized else (0, 0),
        )

    def running(self, row: QueueRow, detail: Detail | None, *, mine: bool) -> RunningJob | None:
        usable, hosts = self.usable, expand(row.nodes)
        held = detail.held if detail is not None else ()
        if sorted(host for host, _ in held) != sorted(hosts) or not all(
            0 < count <= usable[host].cpus for host, count in held if host in usable
        ):  # nothing is reported, or nothing that can be
            held = tuple(even(hosts, row.cpus).items())
        place = tuple((host, count) for host, count in held if host in usable)
        cpus = sum(count for _, count in place)
        if cpus == 0:
            return None
        need = self._need(row, cpus, len(hosts))
        total = sum(count for _, count in held)
        if cpus < total:  # the rest is on nodes that cannot be used
            need = (cpus, *(-(-amount * cpus // total) for amount in need[1:]))
        whole = all(count == usable[host].cpus for host, count in place)
        stays = row.state not in STANDS_STILL and row.priority != LAST
        return RunningJob(
            id=row.id,
            submit=row.submit,
            need=need,
            request=allotted(row),
            start=row.start,
            place=place,
            user=row.user,
            ours=mine and row.requeue > 0 and stays,
            settled=row.state == "RUNNING",
            alone=row.sharing == "NO" and (whole or bool(self.scope.bandwidth)),
            held=self._held(detail, place, need) if len(hosts) > 1 else (),
        )

    def completing(self, row: QueueRow, detail: Detail | None) -> RunningJob | None:
        job = self.running(row, None, mine=False)
        if job is None:
            return None
        place = tuple((host, min(count, self.usable[host].cpus)) for host, count in job.place)
        cpus = sum(count for _, count in place)
        need = (cpus, *(-(-amount * cpus // job.need[0]) for amount in job.need[1:]))
        request = max(1, self.now + 1 - job.start)
        return replace(job, place=place, need=need, request=request, settled=False)

    def about_to_start(self, row: QueueRow, place: Place, detail: Detail | None) -> RunningJob:
        if row.sharing == "NO":
            known = self.usable
            place = tuple((host, known[host].cpus if host in known else 1) for host, _ in place)
        need = self._need(row, sum(count for _, count in place) or row.cpus, len(place))
        each = self._each(row, detail)
        held: tuple[tuple[str, tuple[int, ...]], ...] = ()
        if each and place:
            need = (need[0], each[1] * len(place), *need[2:])
            rest = [[-(-amount * count // need[0]) for amount in need[2:]] for _, count in place]
            held = tuple(
                (host, (count, each[1], *others))
                for (host, count), others in zip(place, rest, strict=True)
            )
        return RunningJob(
            id=row.id,
            submit=row.submit,
            need=need,
            request=row.limit,
            start=self.now,
            place=place,
            user=row.user,
            ours=row.requeue > 0,
            settled=False,
            alone=row.sharing == "NO",
            held=held,
        )

    def state(
        self, waiting: Sequence[WaitingJob], running: Sequence[RunningJob], ended: Sequence[Ended]
    ) -> Snapshot:
        return Snapshot(
            now=self.now,
            cluster=self._cluster(),
            waiting=tuple(waiting),
            running=tuple(running),
            ended=tuple(ended),
        )

    @cached_property
    def _largest(self) -> int:
        """Processors of the largest usable node."""
        return max((node.cpus for node in self.usable.values()), default=1)

    def _need(self, row: QueueRow, cpus: int, hosts: int) -> tuple[int, ...]:
        need = [cpus]
        if self.scope.memory:
            need.append(row.amounts.get("mem", 0))
        if self.scope.gres:
            task, node = parse_gres(row.gres_per_task), parse_gres(row.gres_per_node)
            tasks, hosts = max(1, row.tasks), max(1, hosts)
            need += [task.get(g, 0) * tasks + node.get(g, 0) * hosts for g in self.scope.gres]
        return tuple(need)

    def _each(self, row: QueueRow, detail: Detail | None) -> tuple[int, ...]:
        """What a job uses on each of its nodes: its memory, unless it requests it by processor."""
        if not self.scope.memory or detail is None or detail.memory != "node":
            return ()
        tres = row.amounts
        memory = -(-tres.get("mem", 0) // max(1, tres.get("node", 1)))
        return (0, memory, *(0 for _ in self.scope.gres)) if memory else ()

    def _held(
        self, detail: Detail | None, place: Place, need: Sequence[int]
    ) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """What a job of several nodes holds on each of these, if Slurm reports it.

        Memory that is not reported is distributed by processors, and so are resources other than
        the bandwidth.
        """
        if detail is None:
            return ()
        scope, gres, memory = self.scope, dict(detail.gres), dict(detail.memory_held)
        counted = scope.bandwidth and any(scope.bandwidth in amounts for amounts in gres.values())
        if not counted and not (scope.memory and any(memory.values())):
            return ()

        def amounts(host: str, count: int) -> tuple[int, ...]:
            shares = [-(-amount * count // need[0]) for amount in need[1:]]
            if scope.memory and any(memory.values()):
                shares[0] = memory.get(host, shares[0])
            if counted:
                first = len(shares) - len(scope.gres)
                shares[first:] = [gres.get(host, {}).get(name, 0) for name in scope.gres]
            return (count, *shares)

        return tuple((host, amounts(host, count)) for host, count in place)

    def _cluster(self) -> Cluster:
        scope = self.scope
        hosts = [
            Host(
                node.name,
                (
                    node.cpus,
                    *((node.memory,) if scope.memory else ()),
                    *(node.gres.get(name, 0) for name in scope.gres),
                ),
            )
            for node in self.usable.values()
        ]
        # A cluster needs a host: one processor on which no job fits represents none.
        nothing = Host(NO_HOST, (1, *(0 for _ in scope.resources[1:])))
        shared = hosts and scope.bandwidth
        return Cluster(
            shape="nodes",
            resources=scope.resources,
            hosts=tuple(hosts) or (nothing,),
            name=scope.name,
            options={"contention": {"shared": [scope.bandwidth]}} if shared else {},
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


def allotted(row: QueueRow) -> int:
    """Seconds from the start of a running job to its end: its limit, and what it was suspended.

    The limit of a suspended job stands still. Its end moves when it is resumed.
    """
    return max(row.limit, row.end - row.start) if row.start > 0 else row.limit
