"""From Slurm's rows to a State: jobs at the gate, what each job holds, which are not touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from shadowtime.cluster import Cluster, Host
from shadowtime.live.port import Ended, PortError, RunningJob, Snapshot, WaitingJob
from shadowtime.live.slurm.asks import least_nodes
from shadowtime.live.slurm.beyond import has_features, limited, why_beyond
from shadowtime.live.slurm.dependency import Ends
from shadowtime.live.slurm.details import detail_of
from shadowtime.live.slurm.gate import leased
from shadowtime.live.slurm.holding import (
    LAST,
    Scope,
    about_to_start,
    completing_job,
    each_node,
    need_of,
    running_job,
    spread,
)
from shadowtime.live.slurm.ownership import RELEASED, SLURMS, why_not_ours
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.policy.snapshot import NO_HOST
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.tres import parse_gres

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from shadowtime.live.port import Place
    from shadowtime.live.slurm.touched import Touched
    from shadowtime.slurmtext.squeue import NodeRow, QueueRow, Window

__all__ = ["HOLDS", "Scope", "Sorted", "sort_jobs"]

HOLDS = {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
"""States of jobs that hold resources."""
CLEANS_UP = 10
"""Seconds for which a node may clean up after a job and still counts as free: Slurm starts the next
job there shortly after. A node whose epilog takes longer is not free."""
SOON = 20
"""Seconds before a begin time that is not the gate's at which a job is brought to the gate."""


@dataclass(frozen=True)
class Sorted:
    """Slurm's jobs, grouped by what the loop may do with them."""

    state: Snapshot
    ineligible: Mapping[str, str] = field(default_factory=dict)
    """Pending jobs the loop does not touch, with the reason."""
    released: Mapping[str, str] = field(default_factory=dict)
    """Released jobs that have not started, with Slurm's reason."""
    beyond: Mapping[str, str] = field(default_factory=dict)
    """Jobs at the gate, or released without a start, to be handed to Slurm, with the reason."""
    slipped: tuple[str, ...] = ()
    """Jobs of the partition that have bypassed the gate, or whose leases have ended."""
    stopped: tuple[str, ...] = ()
    """Jobs that the loop has stopped and that are not at the gate again."""
    delayed: tuple[str, ...] = ()
    """Jobs with a begin time that is not the gate's and that it has to replace: Slurm has put them
    back into the queue with a delay, or their users' begin time is near."""
    mislabelled: tuple[str, ...] = ()
    """Jobs at the gate that Slurm has held because it took them for impossible."""


class Model(Protocol):
    """How jobs and nodes are interpreted: on equal nodes, or on a site."""

    timeless: bool
    """Whether the interpretation of a waiting job does not depend on the time."""

    @property
    def machine(self) -> object:
        """What the interpretation of a waiting job depends on besides the job."""

    def why_beyond(self, row: QueueRow, detail: Detail | None) -> str:
        """Why the model cannot express a job; nothing if it can."""

    def waiting(self, row: QueueRow, detail: Detail | None) -> WaitingJob:
        """A job at the gate."""

    def running(self, row: QueueRow, detail: Detail | None, *, mine: bool) -> RunningJob | None:
        """A job that holds something; None if that is not part of the machine."""

    def completing(self, row: QueueRow, detail: Detail | None) -> RunningJob | None:
        """A job that has ended and whose nodes still clean up."""

    def about_to_start(self, row: QueueRow, place: Place, detail: Detail | None) -> RunningJob:
        """A job that was released."""

    def state(
        self, waiting: Sequence[WaitingJob], running: Sequence[RunningJob], ended: Sequence[Ended]
    ) -> Snapshot:
        """Everything together."""


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
        return why_beyond(row, detail, self.every, self.scope.gres)

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


def nodes_of(nodes: Sequence[NodeRow], scope: Scope) -> list[NodeRow]:
    """The nodes of the partitions that the loop drives; PortError if there are none."""
    ours = [node for node in nodes if not scope.driven.isdisjoint(node.partitions)]
    if not ours:
        raise PortError(f"Slurm has no partition {scope.partition} with nodes")
    return ours


def sort_jobs(
    rows: Sequence[QueueRow],
    nodes: Sequence[NodeRow],
    *,
    scope: Scope,
    now: int,
    windows: Sequence[Window] = (),
    model: Model | None = None,
    details: Mapping[str, Detail] | None = None,
    placed: Mapping[str, Place] | None = None,
    stopped: Callable[[str], bool] = lambda job: False,
    let_go: Collection[str] = (),
    remembered: Remembered | None = None,
    touched: Mapping[str, Touched] | None = None,
    begins: Mapping[str, int] | None = None,
) -> Sorted:
    """The State in Slurm's rows.

    Rules
    -----
    A job waits if it is at the gate: pending, not held, its begin time that of a lease, the one
    that the lease has replaced (``begins``) reached, its dependencies met; or if the loop has
    stopped it. Jobs that users or operators hold, and those that an operator has ``let_go``, are
    not touched; any other that Slurm could start has bypassed the gate, or its lease has ended.
    Jobs beyond the model, and those that Slurm does not start for reasons beyond it, are to be
    handed to Slurm. A job that Slurm itself has requeued neither waits nor holds nodes before the
    end of the delay that Slurm gives it. Tasks of an array beyond its throttle do not wait yet.
    Nodes that are drained, down or reserved are not part of the cluster; jobs on the others that
    are not of the partition, are suspended or were handed to Slurm count, but are not ours. So do
    ended jobs on nodes that still clean up after a few seconds.
    """
    details, placed, touched, begins = details or {}, placed or {}, touched or {}, begins or {}
    ours = nodes_of(nodes, scope)
    model = model or EqualNodes(ours, scope=scope, now=now, windows=windows)
    remembered = remembered or Remembered()
    remembered.begin(model.machine)
    waiting: list[WaitingJob] = []
    running: list[RunningJob] = []
    ended: list[Ended] = []
    alone: dict[str, str] = {}
    released: dict[str, str] = {}
    beyond: dict[str, str] = {}
    slipped: list[str] = []
    back: list[str] = []
    wrong: list[str] = []
    delayed: list[str] = []
    ends = Ends((row.id, row.state) for row in rows)
    driven = scope.driven
    ours_in: dict[str, bool] = {}  # by list of partitions: of thousands of jobs few differ
    for row in rows:
        mine = ours_in.get(row.partition)
        if mine is None:
            mine = ours_in[row.partition] = not driven.isdisjoint(row.partition.split(","))
        if row.state in HOLDS or (row.state == "COMPLETING" and row.end > now):  # or requeued
            job = model.running(row, detail_of(details, row.id), mine=mine)
            if job is not None:
                running.append(job)
        elif row.state == "PENDING":
            if not mine:
                continue
            mark = touched.get(row.id)
            named = mark is not None and mark.ours(row)
            begin = begins.get(row.id, 0)
            why = why_not_ours(row, now, stopped, named=named, ends=ends, begin=begin)
            wish = mark.before(row) if mark is not None else row
            detail = detail_of(details, row.id)
            if not why:
                found = remembered.get(row, detail, named) if model.timeless else None
                if found is None:
                    why = model.why_beyond(wish, detail)
                    if why:
                        beyond[row.id] = why
                        alone[row.id] = f"it is Slurm's to start: {why}"
                        continue
                    # The lease is not what its user asked for.
                    found = model.waiting(wish._replace(eligible=begin), detail)
                    if model.timeless:
                        remembered.put(row, detail, named, found)
                waiting.append(found)
                if row.priority == 0:
                    wrong.append(row.id)
                if not leased(row.eligible, now):
                    back.append(row.id)
            elif why == RELEASED and named and limited(row):
                beyond[row.id] = f"Slurm does not start it where it was sent ({row.reason})"
                alone[row.id] = f"it is Slurm's to start: {row.reason}"
            elif why in (RELEASED, SLURMS) and not (named or row.priority <= LAST):
                if row.id in let_go:
                    alone[row.id] = SLURMS
                    continue
                slipped.append(row.id)
                alone[row.id] = "it has come past the gate"
            elif why == RELEASED:
                place = placed.get(row.id) or spread(expand(row.wanted), row.cpus)
                if named:
                    released[row.id] = row.reason
                running.append(model.about_to_start(row, place, detail))
            else:
                alone[row.id] = why
                ahead = row.eligible - now if row.priority > LAST else 0
                if not leased(row.eligible, now) and (0 < ahead <= SOON or (ahead > 0 and named)):
                    delayed.append(row.id)
        elif row.state == "COMPLETING" and now - row.end > CLEANS_UP:
            job = model.completing(row, detail_of(details, row.id))
            if job is not None:
                running.append(job)
        elif mine and row.nodes and row.end >= row.start > 0:
            ended.append(
                Ended(id=row.id, start=row.start, end=row.end, request=row.limit, user=row.user)
            )
    state = model.state(_throttled(waiting, running, details, alone), running, ended)
    return Sorted(
        state,
        alone,
        released,
        beyond,
        tuple(slipped),
        tuple(back),
        tuple(delayed),
        tuple(wrong),
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
    hosts = max(detail.nodes, least_nodes(row.tres))
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
    )


def _throttled(
    waiting: Sequence[WaitingJob],
    running: Sequence[RunningJob],
    details: Mapping[str, Detail],
    alone: dict[str, str],
) -> list[WaitingJob]:
    """Without the tasks of arrays that may not run at the same time yet."""
    active: dict[str, int] = {}
    for run in running:
        array, _, task = run.id.partition("_")
        if task:
            active[array] = active.get(array, 0) + 1
    kept = []
    for job in waiting:
        array, _, task = job.id.partition("_")
        detail = detail_of(details, job.id) if task else None
        if detail is not None and detail.throttle:
            if active.get(array, 0) >= detail.throttle:
                alone[job.id] = "its array may not run more tasks at once"
                continue
            active[array] = active.get(array, 0) + 1
        kept.append(job)
    return kept
