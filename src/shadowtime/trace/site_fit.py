"""What a log and its site imply together: whole nodes, release times, nodes of reservations.

Each is a named rule; the jobs it touched are counted in ``Requests.inferred``.

``exclusive``
    more cpus than asked for, and all of the nodes the job ran on; not where --cpus-per-gpu is known
    to have asked for them.
``memory_not_counted``
    where jobs do not use memory up, what accounting shows as asked for is the node's size.
``memory_default``
    as much as the partition gives to a job that does not ask: taken as not asked for, unless the
    submission names it.
``released_when_eligible``
    the job was eligible later than submitted: a begin time, a dependency or a hold.
``dependencies_as_eligible``
    dependencies that the eligible time stands for.
``reservation_nodes``
    a past reservation is listed without its nodes: those that ran no job in the meantime, if
    together they have as many cpus as the record says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Reservation, Site
    from shadowtime.workload.request import Request, Requests


def fit_to_site(
    site: Site, workload: Workload, *, release: str, known: AnyArray | None = None
) -> tuple[Site, Workload]:
    """The site and the workload, each completed by the other.

    ``known`` marks jobs whose options are all known: nothing is inferred about those.
    """
    hosts = _hosts(workload)
    site, inferred_nodes = _reservations(site, workload, hosts)
    asked = workload.requests
    if asked is None:
        return site, workload
    counts = dict(asked.inferred)
    counts["reservation_nodes"] = inferred_nodes
    asked = _whole_nodes(asked, workload, site, hosts, counts, known)
    if "memory" not in site.resources:
        asked = _without_memory(asked, counts)
    else:
        asked = _default_memory(asked, site, counts, known)
    if release == "eligible":
        asked = _eligible(asked, workload, counts)
    counts = {name: count for name, count in counts.items() if count or name == "exclusive"}
    return site, workload.replace(requests=replace(asked, inferred=counts, memory_said=None))


def _hosts(workload: Workload) -> list[tuple[str, ...]]:
    """The node names behind each number of the column ``node_list``."""
    found: list[tuple[str, ...]] = []
    for text in workload.names.get("node_list", ()):
        try:
            found.append(tuple(expand(text)))
        except ClusterError:
            found.append(())
    return found


def _whole_nodes(
    asked: Requests,
    workload: Workload,
    site: Site,
    hosts: list[tuple[str, ...]],
    counts: dict[str, int],
    known: AnyArray | None,
) -> Requests:
    size = {node.name: node.amounts[0] for node in site.nodes}
    whole = np.array([sum(size.get(h, -(1 << 40)) for h in each) for each in hosts], np.int64)
    places = workload.extra.get("node_list")
    wanted = workload.extra.get("requested_procs")
    if places is None or wanted is None or not len(whole):
        return asked
    procs = workload.procs
    # With two threads a core an odd number of cpus is rounded up: no user asked for that.
    threads = max(node.threads_per_core for node in site.nodes)
    rounded = -(-wanted // threads) * threads
    exclusive = (procs == whole[places]) & (wanted > 0) & (rounded < procs)
    if known is not None:
        exclusive &= ~known
    open_ = np.array([not (one.exclusive or one.cpus_per_gpu) for one in asked.distinct], bool)
    exclusive &= open_[asked.index]
    counts["exclusive"] = int(exclusive.sum())
    return _changed(asked, exclusive, lambda one: replace(one, exclusive=True))


def _without_memory(asked: Requests, counts: dict[str, int]) -> Requests:
    for name in ("memory_per_cpu", "memory_per_node"):
        counts.pop(name, None)
    had = np.array([one.memory is not None for one in asked.distinct])[asked.index]
    counts["memory_not_counted"] = int(had.sum())
    return _changed(asked, had, lambda one: replace(one, memory=None, memory_per="node"))


def _default_memory(
    asked: Requests, site: Site, counts: dict[str, int], known: AnyArray | None
) -> Requests:
    defaults = {one.name: one for one in site.partitions}

    def usual(one: Request) -> bool:
        partition = defaults.get(one.partitions[0]) if one.partitions else None
        if partition is None or partition.default_memory is None or one.memory is None:
            return False
        each = {"cpu": one.cpus, "node": one.nodes}
        return partition.default_memory * each[partition.default_memory_per] == (
            one.memory * each[one.memory_per]
        )

    had = np.array([usual(one) for one in asked.distinct])[asked.index]
    for said in (known, asked.memory_said):
        if said is not None:
            had &= ~said
    counts["memory_default"] = int(had.sum())
    return _changed(asked, had, lambda one: replace(one, memory=None, memory_per="node"))


def _eligible(asked: Requests, workload: Workload, counts: dict[str, int]) -> Requests:
    eligible = workload.extra.get("eligible")
    if eligible is None:
        return asked
    later = eligible > workload.submit
    counts["released_when_eligible"] = int(later.sum())
    counts["dependencies_as_eligible"] = len({one.job for one in asked.dependencies})
    return replace(asked, begin=np.where(later, eligible, UNKNOWN), dependencies=())


def _changed(asked: Requests, rows: AnyArray, change: Callable[[Request], Request]) -> Requests:
    """The requests of these rows changed, each distinct one kept once."""
    if not rows.any():
        return asked
    numbers: dict[Request, int] = {}
    # A number for each request, unchanged and changed, in the order of these pairs.
    used = np.bincount(2 * asked.index + rows, minlength=2 * len(asked.distinct)) > 0
    place = np.zeros(len(used), np.int64)
    for kind in np.flatnonzero(used).tolist():
        one = asked.distinct[kind // 2]
        place[kind] = numbers.setdefault(change(one) if kind % 2 else one, len(numbers))
    return replace(asked, distinct=tuple(numbers), index=place[2 * asked.index + rows])


def _reservations(site: Site, workload: Workload, hosts: list[tuple[str, ...]]) -> tuple[Site, int]:
    found: list[Reservation] = []
    inferred, notes, ignored = 0, list(site.notes), dict(site.ignored)
    for one in site.reservations:
        if one.nodes:
            found.append(one)
            continue
        idle = _idle(site, workload, hosts, one)
        size = {node.name: node.amounts[0] for node in site.nodes}
        if idle and one.cpus and sum(size[name] for name in idle) == one.cpus:
            found.append(replace(one, nodes=idle, cpus=0))
            inferred += 1
            notes.append(f"reservation {one.name} is put on the nodes that ran no job meanwhile")
        else:
            key = "reservations without nodes"
            ignored[key] = (*ignored.get(key, ()), one.name)
            notes.append(
                f"reservation {one.name} is left out: its record names no nodes (export it with "
                "format=Cluster,Name,TRES,TimeStart,TimeEnd,NodeNames,Flags)"
            )
    if not notes and not found:
        return site, 0
    site = site.replace(reservations=tuple(found), notes=tuple(notes), ignored=ignored)
    return site, inferred


def _idle(
    site: Site, workload: Workload, hosts: list[tuple[str, ...]], one: Reservation
) -> tuple[str, ...]:
    """The nodes on which no job ran while the reservation lasted."""
    places = workload.extra.get("node_list")
    if places is None or workload.epoch is None or not hosts:
        return ()
    begin, end = one.begin - workload.epoch, one.end - workload.epoch
    start = workload.recorded_start
    ran = (start >= 0) & (start < end) & (start + workload.run > begin)
    ran &= workload.requests.cancel_at < 0 if workload.requests is not None else True
    busy = {name for number in set(places[ran].tolist()) for name in hosts[number]}
    return tuple(node.name for node in site.nodes if node.name not in busy)
