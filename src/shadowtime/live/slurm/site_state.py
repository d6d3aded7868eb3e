"""Slurm's jobs and nodes on the model of a site: what each job requests and holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.shape import Shapes
from shadowtime.cluster.site import Site
from shadowtime.engine.live_pass import Held
from shadowtime.engine.live_pass.site_rows import ELSEWHERE
from shadowtime.eta.held import even
from shadowtime.live.port import Ended, Place, RunningJob, Snapshot, WaitingJob
from shadowtime.live.slurm.asks import licences_of, request_of, why_beyond_site
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.equal_nodes import STANDS_STILL, allotted, queued_since
from shadowtime.live.slurm.gate import LAST
from shadowtime.policy.snapshot import NO_HOST
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import NONE, NodeRow, QueueRow
from shadowtime.workload.request import Request


class OnSite:
    """A :class:`shadowtime.live.slurm.state.Model`: everything that Slurm's site model knows.

    ``sent`` is what released jobs use on their nodes, according to the pass that started them;
    ``shared`` returns one object for all equal requests.
    Every job on a node of the site holds its share of it, in whatever partition. A reserved node is
    open to the users of its reservation: the site has the reservations.
    """

    timeless = True

    def __init__(
        self,
        site: Site,
        nodes: Sequence[NodeRow],
        *,
        scope: Scope,
        now: int,
        sent: Mapping[str, Held] | None = None,
        shared: Callable[[Request], Request] = lambda request: request,
    ) -> None:
        self.site, self.scope, self.now, self.shared = site, scope, now, shared
        self.sent = sent or {}
        open_now = {node.name for node in nodes if node.open}
        self.shut = tuple(node.name for node in site.nodes if node.name not in open_now)
        self.capacity = {node.name: node.amounts for node in site.nodes}
        driven = {name for one in site.partitions if one.name in scope.driven for name in one.nodes}
        self.usable = [node for node in site.nodes if node.name in driven and node.name in open_now]
        self.nodes_in = {one.name: frozenset(one.nodes) for one in site.partitions}
        self._shapes: Shapes | None = None

    @property
    def machine(self) -> object:
        return self.site

    @property
    def shapes(self) -> Shapes:
        """The shapes of the site's requests, created when they are first needed."""
        self._shapes = self._shapes or Shapes(self.site)
        return self._shapes

    def why_beyond(self, row: QueueRow, detail: Detail | None) -> str:
        return why_beyond_site(row, self.site, self.scope.driven)

    def waiting(self, row: QueueRow, detail: Detail | None) -> WaitingJob:
        ask = self.shared(request_of(row, detail))
        return WaitingJob(
            id=row.id,
            submit=queued_since(row, self.now),
            need=self._need((ask.cpus, *(0 for _ in self.site.resources[1:]))),
            request=row.limit,
            user=row.user,
            nodes=ask.nodes,
            ask=ask,
        )

    def running(self, row: QueueRow, detail: Detail | None, *, mine: bool) -> RunningJob | None:
        held = self._held(row, detail)
        if not held:
            return None
        stays = row.state not in STANDS_STILL and row.priority != LAST
        return self._run(
            row,
            held,
            start=row.start,
            ours=mine and row.requeue > 0 and stays,
            settled=row.state == "RUNNING",
        )

    def completing(self, row: QueueRow, detail: Detail | None) -> RunningJob | None:
        held = self._held(row, detail)
        if not held:
            return None
        run = self._run(row, held, start=row.start, ours=False, settled=False)
        return replace(run, request=max(1, self.now + 1 - run.start))

    def about_to_start(self, row: QueueRow, place: Place, detail: Detail | None) -> RunningJob:
        held = self.sent.get(row.id) or self._taken(row, place, detail)
        return self._run(row, held, start=self.now, ours=row.requeue > 0, settled=False)

    def state(
        self, waiting: Sequence[WaitingJob], running: Sequence[RunningJob], ended: Sequence[Ended]
    ) -> Snapshot:
        resources = ("procs", *self.site.resources[1:])
        hosts = tuple(Host(node.name, node.amounts) for node in self.usable)
        nothing = (1, *(0 for _ in resources[1:]))
        cluster = Cluster(
            shape="nodes",
            resources=resources,
            hosts=hosts or (Host(NO_HOST, nothing),),
            name=self.scope.name,
        )
        return Snapshot(
            now=self.now,
            cluster=cluster,
            waiting=tuple(waiting),
            running=tuple(running),
            ended=tuple(ended),
            site=self.site,
            shut=self.shut,
        )

    def _need(self, amounts: Sequence[int]) -> tuple[int, ...]:
        return (max(1, amounts[0]), *amounts[1:])

    def _run(
        self, row: QueueRow, held: Held, *, start: int, ours: bool, settled: bool
    ) -> RunningJob:
        none = [(0,) * len(self.site.resources)]
        columns = zip(*([amounts for _, amounts in held] or none), strict=True)
        partition = row.partition.split(",")[0]
        if not self.nodes_in.get(partition, frozenset()) >= {host for host, _ in held}:
            partition = ELSEWHERE
        return RunningJob(
            id=row.id,
            submit=row.submit,
            need=self._need([sum(column) for column in columns]),
            request=allotted(row) if start == row.start else row.limit,
            start=start,
            place=tuple((host, amounts[0]) for host, amounts in held),
            user=row.user,
            ours=ours,
            settled=settled,
            held=held,
            ask=self.shared(
                Request(
                    partitions=(partition,),
                    qos="" if row.qos in NONE else row.qos,
                    account="" if row.account in NONE else row.account,
                    amounts=licences_of(row.licenses),
                )
            ),
        )

    def _held(self, row: QueueRow, detail: Detail | None) -> Held:
        """What a job holds on each node of the site, from scontrol or else distributed."""
        hosts = expand(row.nodes)
        cpus = dict(detail.held) if detail is not None else {}
        if set(cpus) != set(hosts):
            cpus, detail = even(hosts, row.cpus), None
        tres = row.amounts
        total = max(1, sum(cpus.values()))
        memory = dict(detail.memory_held) if detail is not None else {}
        gres = dict(detail.gres) if detail is not None else {}

        def amount(host: str, count: int, name: str) -> int:
            if name == "memory":
                return memory[host] if host in memory else -(-tres.get("mem", 0) * count // total)
            if detail is not None:
                return gres.get(host, {}).get(name, 0)
            return -(-tres.get(f"gres/{name}", 0) * count // total)

        held = []
        for host, count in cpus.items():
            has = self.capacity.get(host)
            if has is not None:
                each = [count, *(amount(host, count, name) for name in self.site.resources[1:])]
                held.append((host, tuple(map(min, each, has))))
        return tuple(held)

    def _taken(self, row: QueueRow, place: Place, detail: Detail | None) -> Held:
        """What a released job will use on its nodes, for a loop that has lost its memory."""
        ask = request_of(row, detail)
        names = [host for host, _ in place if host in self.capacity]
        partition = self.shapes.number.get(row.partition.split(",")[0])
        shape = None
        if partition is not None and names:
            shapes = self.shapes.all_of(ask, self.shapes.partitions[partition])
            shape = shapes[0] if shapes else None
        found = []
        for host, tasks in even(names, shape.tasks if shape is not None else row.cpus).items():
            has = self.capacity[host]
            each = (tasks, *(0 for _ in has[1:]))
            if shape is not None:
                each = shape.amounts(has, tasks, self.shapes.memory)
            found.append((host, tuple(map(min, each, has))))
        return tuple(found)
