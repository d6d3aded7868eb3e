"""From Slurm's rows to a State: who waits at the gate, who holds what, what is left alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.hostlist import expand
from shadowtime.engine.once.moment import NO_HOST
from shadowtime.live.port import Ended, PortError, Running, State, Waiting
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.live.slurm.text import Detail, parse_gres, parse_tres

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shadowtime.live.port import Place
    from shadowtime.live.slurm.text import NodeRow, QueueRow, Window

HOLDS = {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
"""States of jobs that hold resources."""
STANDS_STILL = {"SUSPENDED", "STOPPED"}
"""States of jobs that an operator halts: whoever stopped one would get nothing for it."""
GATE = "JobHeldUser"
"""The reason of jobs that wait at the gate."""
REQUEUED = "requeued in held state"
"""Part of the reason of jobs that were stopped."""


@dataclass(frozen=True, kw_only=True)
class View:
    """What of the cluster the loop is responsible for."""

    partition: str
    gres: tuple[str, ...] = ()
    memory: bool = False
    """Whether Slurm counts memory."""
    name: str = "slurm"
    bandwidth: str = ""
    """The generic resource that is memory bandwidth, where the policy limits it."""

    @property
    def resources(self) -> tuple[str, ...]:
        return ("procs", *(("memory",) if self.memory else ()), *self.gres)


@dataclass(frozen=True)
class Sorted:
    """Slurm's jobs by what the loop may do with them."""

    state: State
    left_alone: Mapping[str, str] = field(default_factory=dict)
    """Pending jobs the loop does not touch, with the reason."""
    released: Mapping[str, int] = field(default_factory=dict)
    """Jobs that were let through the gate and have not started, with their submission."""


def sort_jobs(
    rows: Sequence[QueueRow],
    nodes: Sequence[NodeRow],
    *,
    view: View,
    now: int,
    windows: Sequence[Window] = (),
    details: Mapping[str, Detail] | None = None,
    placed: Mapping[str, Place] | None = None,
    stopped: Callable[[str], bool] = lambda job: False,
    remembered: Remembered | None = None,
) -> Sorted:
    """The State in Slurm's rows.

    Rules
    -----
    A job waits if it lies at the gate: pending, held by the gate or by the loop's own requeue, its
    begin time reached, its dependencies met, without a reservation. Jobs that users or operators
    hold, and those Slurm schedules itself, are left alone. Tasks of an array beyond its throttle
    do not wait yet. Nodes that are drained, down or reserved are no part of the cluster; jobs on
    the others that are not of the partition, or stand still, count, but are not ours.
    """
    details, placed = details or {}, placed or {}
    ours = [node for node in nodes if view.partition in node.partitions]
    if not ours:
        raise PortError(f"Slurm has no partition {view.partition} with nodes")
    closed = {host for w in windows if w.begin <= now < w.end for host in w.nodes}
    usable = {node.name: node for node in ours if node.usable and node.name not in closed}
    remembered = remembered or Remembered()
    remembered.begin([(node.name, node.cpus, node.features) for node in usable.values()])
    waiting: list[Waiting] = []
    running: list[Running] = []
    ended: list[Ended] = []
    alone: dict[str, str] = {}
    released: dict[str, int] = {}
    for row in rows:
        mine = view.partition in row.partition.split(",")
        if row.state in HOLDS or (row.state == "COMPLETING" and REQUEUED in row.reason):
            job = _running(row, usable, view, detail_of(details, row.id), mine=mine)
            if job is not None:
                running.append(job)
        elif row.state == "PENDING":
            if not mine:
                continue
            why = _not_ours(row, now, stopped)
            if not why:
                named = row.id in placed or stopped(row.id)
                detail = detail_of(details, row.id)
                known = None if windows else remembered.get(row, detail, named)
                if known is None:
                    # Hosts that we named are not its user's wish.
                    wish = row._replace(wanted="") if named else row
                    known = _waiting(wish, usable, view, detail, windows, now)
                    if not windows and row.eligible <= now:  # else it depends on the time of day
                        remembered.put(row, detail, named, known)
                waiting.append(known)
            elif why == RELEASED:
                place = placed.get(row.id) or _spread(expand(row.wanted), row.cpus)
                released[row.id] = row.submit
                running.append(_about_to_start(row, place, usable, view, now))
            else:
                alone[row.id] = why
        elif mine and row.nodes and row.end >= row.start > 0:
            ended.append(
                Ended(id=row.id, start=row.start, end=row.end, request=row.limit, user=row.user)
            )
    state = State(
        now=now,
        cluster=_cluster(usable, view),
        waiting=tuple(_throttled(waiting, running, details, alone)),
        running=tuple(running),
        ended=tuple(ended),
    )
    return Sorted(state, alone, released)


RELEASED = "let through"


def detail_of(details: Mapping[str, Detail], job: str) -> Detail | None:
    """What is known of a job, or of the array it has not been split off yet."""
    array, _, task = job.partition("_")
    return details.get(job) or (details.get(f"{array}_*") if task else None)


def _not_ours(row: QueueRow, now: int, stopped: Callable[[str], bool]) -> str:
    """Why a pending job does not wait at the gate; empty if it does."""
    if row.reservation not in ("", "(null)"):
        return "it belongs to a reservation"
    if row.priority > 0:
        if row.wanted and row.reason not in ("Dependency", "BeginTime", "JobArrayTaskLimit"):
            return RELEASED
        return "Slurm schedules it"
    back = REQUEUED in row.reason and stopped(row.id)
    if not (row.reason.startswith(GATE) or back):
        return f"it is held ({row.reason})"
    if row.eligible > now and not back:  # a requeued job's own two minutes are ours to skip
        return "its time has not come (held by its user, or --begin)"
    if "unfulfilled" in row.dependency or "failed" in row.dependency:
        return f"it depends on others ({row.dependency})"
    return ""


def _cluster(usable: Mapping[str, NodeRow], view: View) -> Cluster:
    if not usable:
        # A cluster needs a host: one processor that nobody fits beside stands for none.
        nothing = (1, *(0 for _ in view.resources[1:]))
        return Cluster(
            shape="nodes", resources=view.resources, hosts=(Host(NO_HOST, nothing),), name=view.name
        )
    hosts = []
    for node in usable.values():
        capacity = [node.cpus]
        if view.memory:
            capacity.append(node.memory)
        capacity += [node.gres.get(name, 0) for name in view.gres]
        hosts.append(Host(node.name, tuple(capacity)))
    options = {"contention": {"shared": [view.bandwidth]}} if view.bandwidth else {}
    return Cluster(
        shape="nodes",
        resources=view.resources,
        hosts=tuple(hosts),
        name=view.name,
        options=options,
    )


def _need(row: QueueRow, cpus: int, hosts: int, view: View) -> tuple[int, ...]:
    need = [cpus]
    if view.memory:
        need.append(parse_tres(row.tres).get("mem", 0))
    if view.gres:
        task, node = parse_gres(row.gres_per_task), parse_gres(row.gres_per_node)
        tasks = max(1, row.tasks)
        need += [task.get(g, 0) * tasks + node.get(g, 0) * max(1, hosts) for g in view.gres]
    return tuple(need)


def _waiting(
    row: QueueRow,
    usable: Mapping[str, NodeRow],
    view: View,
    detail: Detail | None,
    windows: Sequence[Window],
    now: int,
) -> Waiting:
    detail = detail or Detail(nodes=row.node_count if row.node_count > 1 else 0)
    # Of a job that was stopped scontrol tells no range any more: the request still holds it.
    hosts = max(detail.nodes, least_nodes(row.tres))
    if row.per_node > 0:
        hosts = max(hosts, -(-max(1, row.tasks) // row.per_node))
    only: tuple[str, ...] = ()
    barred = set(detail.excluded)
    for window in windows:
        if now < window.begin < now + row.limit:
            barred.update(window.nodes)
    wanted = set(expand(row.wanted))
    features = [] if row.features in ("", "(null)") else row.features.split("&")
    if barred or wanted or features:
        only = tuple(
            name
            for name, node in usable.items()
            if name not in barred
            and (not wanted or name in wanted)
            and all(feature in node.features for feature in features)
        ) or (NO_HOST,)
        hosts = max(hosts, len(wanted))
    if view.bandwidth and parse_gres(row.gres_per_node).get(view.bandwidth):
        hosts = max(hosts, 1)  # so much on each of its nodes: it must be known how many
    cpus = row.cpus
    exclusive = row.sharing == "NO"
    if exclusive:
        size = max((node.cpus for node in usable.values()), default=1)
        hosts = max(hosts, 1, -(-cpus // size))
        cpus = hosts * size
    return Waiting(
        id=row.id,
        submit=max(row.submit, min(row.eligible, now)),
        need=_need(row, cpus, hosts, view),
        request=row.limit,
        user=row.user,
        nodes=hosts,
        alone=exclusive,
        only=only,
        chunk=1 if exclusive else max(1, row.per_task),
        bandwidth=parse_gres(row.gres_per_task).get(view.bandwidth, -1),
    )


_NODES = re.compile(r"\bnode=(\d+)")


def least_nodes(tres: str) -> int:
    """The number of nodes a waiting job asks for at least, 0 where one will do.

    Examples
    --------
    >>> least_nodes("cpu=2,mem=62.50G,node=2,billing=2"), least_nodes("cpu=20,node=1")
    (2, 0)
    """
    found = _NODES.search(tres)
    return int(found[1]) if found and int(found[1]) > 1 else 0


def _running(
    row: QueueRow,
    usable: Mapping[str, NodeRow],
    view: View,
    detail: Detail | None,
    *,
    mine: bool,
) -> Running | None:
    """A job that holds something of the usable nodes."""
    hosts = expand(row.nodes)
    held = detail.held if detail is not None else ()
    if sorted(host for host, _ in held) != sorted(hosts) or not all(
        0 < count <= usable[host].cpus for host, count in held if host in usable
    ):  # nothing is told, or nothing that can be
        held = _spread(hosts, row.cpus)
    place = tuple((host, count) for host, count in held if host in usable)
    cpus = sum(count for _, count in place)
    if cpus == 0:
        return None
    need = _need(row, cpus, len(hosts), view)
    total = sum(count for _, count in held)
    if cpus < total:  # the rest lies on nodes that cannot be used
        need = (cpus, *(-(-amount * cpus // total) for amount in need[1:]))
    whole = all(count == usable[host].cpus for host, count in place)
    return Running(
        id=row.id,
        submit=row.submit,
        need=need,
        request=row.limit,
        start=row.start,
        place=place,
        user=row.user,
        ours=mine and row.requeue > 0 and row.state not in STANDS_STILL,
        settled=row.state == "RUNNING",
        alone=row.sharing == "NO" and (whole or bool(view.bandwidth)),
        held=_held(detail, place, need, view) if len(hosts) > 1 else (),
    )


def _held(
    detail: Detail | None, place: Place, need: Sequence[int], view: View
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What a job of several nodes holds on each of these, where the policy counts bandwidth.

    Memory is shared out by processors.
    """
    if not view.bandwidth or detail is None:
        return ()
    told = dict(detail.gres)
    if not any(view.bandwidth in amounts for amounts in told.values()):
        return ()
    memory = need[1 : len(view.resources) - len(view.gres)]
    return tuple(
        (
            host,
            (
                count,
                *(-(-amount * count // need[0]) for amount in memory),
                *(told.get(host, {}).get(name, 0) for name in view.gres),
            ),
        )
        for host, count in place
    )


def _about_to_start(
    row: QueueRow, place: Place, usable: Mapping[str, NodeRow], view: View, now: int
) -> Running:
    """A job that was let through the gate: it counts as if it ran."""
    if row.sharing == "NO":
        place = tuple((host, usable[host].cpus if host in usable else 1) for host, _ in place)
    return Running(
        id=row.id,
        submit=row.submit,
        need=_need(row, sum(count for _, count in place) or row.cpus, len(place), view),
        request=row.limit,
        start=now,
        place=place,
        user=row.user,
        ours=row.requeue > 0,
        settled=False,
        alone=row.sharing == "NO",
    )


def _spread(hosts: Sequence[str], cpus: int) -> Place:
    """Processors shared out evenly where nobody says how they lie."""
    if not hosts:
        return ()
    each, rest = divmod(max(cpus, len(hosts)), len(hosts))
    return tuple((host, each + (k < rest)) for k, host in enumerate(hosts))


def _throttled(
    waiting: Sequence[Waiting],
    running: Sequence[Running],
    details: Mapping[str, Detail],
    alone: dict[str, str],
) -> list[Waiting]:
    """Without the tasks of arrays that may not run at the same time yet."""
    active: dict[str, int] = {}
    for run in running:
        array, _, task = run.id.partition("_")
        if task:
            active[array] = active.get(array, 0) + 1
    kept = []
    for job in waiting:
        array, _, task = job.id.partition("_")
        detail = detail_of(details, job.id)
        if task and detail is not None and detail.throttle:
            if active.get(array, 0) >= detail.throttle:
                alone[job.id] = "its array may not run more tasks at once"
                continue
            active[array] = active.get(array, 0) + 1
        kept.append(job)
    return kept
