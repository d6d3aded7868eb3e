"""What running jobs hold on each node, and what a job uses on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.eta.held import even
from shadowtime.live.port import Place, RunningJob
from shadowtime.live.slurm.configuration import Scope
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import NodeRow, QueueRow
from shadowtime.slurmtext.tres import parse_gres

if TYPE_CHECKING:
    from shadowtime.slurmtext.show_job import Detail

STANDS_STILL = {"SUSPENDED", "STOPPED"}
"""States of jobs that an operator has halted: stopping one would free nothing."""
LAST = 1
"""The priority of jobs that were handed to Slurm: behind all that the loop releases, so that one of
them that lacks room does not keep Slurm from starting those."""


def need_of(row: QueueRow, cpus: int, hosts: int, scope: Scope) -> tuple[int, ...]:
    need = [cpus]
    if scope.memory:
        need.append(row.amounts.get("mem", 0))
    if scope.gres:
        task, node = parse_gres(row.gres_per_task), parse_gres(row.gres_per_node)
        tasks = max(1, row.tasks)
        need += [task.get(g, 0) * tasks + node.get(g, 0) * max(1, hosts) for g in scope.gres]
    return tuple(need)


def each_node(row: QueueRow, detail: Detail | None, scope: Scope) -> tuple[int, ...]:
    """What a job uses on each of its nodes: its memory, unless it requests it by processor."""
    if not scope.memory or detail is None or detail.memory != "node":
        return ()
    tres = row.amounts
    memory = -(-tres.get("mem", 0) // max(1, tres.get("node", 1)))
    return (0, memory, *(0 for _ in scope.gres)) if memory else ()


def allotted(row: QueueRow) -> int:
    """Seconds from the start of a running job to its end: its limit, and what it was suspended.

    The limit of a suspended job stands still. Its end moves when it is resumed.
    """
    return max(row.limit, row.end - row.start) if row.start > 0 else row.limit


def running_job(
    row: QueueRow,
    usable: Mapping[str, NodeRow],
    scope: Scope,
    detail: Detail | None,
    *,
    mine: bool,
) -> RunningJob | None:
    """A job that holds something of the usable nodes."""
    hosts = expand(row.nodes)
    held = detail.held if detail is not None else ()
    if sorted(host for host, _ in held) != sorted(hosts) or not all(
        0 < count <= usable[host].cpus for host, count in held if host in usable
    ):  # nothing is reported, or nothing that can be
        held = tuple(even(hosts, row.cpus).items())
    place = tuple((host, count) for host, count in held if host in usable)
    cpus = sum(count for _, count in place)
    if cpus == 0:
        return None
    need = need_of(row, cpus, len(hosts), scope)
    total = sum(count for _, count in held)
    if cpus < total:  # the rest is on nodes that cannot be used
        need = (cpus, *(-(-amount * cpus // total) for amount in need[1:]))
    whole = all(count == usable[host].cpus for host, count in place)
    return RunningJob(
        id=row.id,
        submit=row.submit,
        need=need,
        request=allotted(row),
        start=row.start,
        place=place,
        user=row.user,
        ours=mine and row.requeue > 0 and row.state not in STANDS_STILL and row.priority != LAST,
        settled=row.state == "RUNNING",
        alone=row.sharing == "NO" and (whole or bool(scope.bandwidth)),
        held=_held(detail, place, need, scope) if len(hosts) > 1 else (),
    )


def _held(
    detail: Detail | None, place: Place, need: Sequence[int], scope: Scope
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What a job of several nodes holds on each of these, if Slurm reports it.

    Memory that is not reported is distributed by processors, and so are resources other than the
    bandwidth.
    """
    if detail is None:
        return ()
    gres, memory = dict(detail.gres), dict(detail.memory_held)
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


def completing_job(
    row: QueueRow, usable: Mapping[str, NodeRow], scope: Scope, now: int
) -> RunningJob | None:
    """A job that has ended: nodes that still clean up after it are free shortly."""
    job = running_job(row, usable, scope, None, mine=False)
    if job is None:
        return None
    place = tuple((host, min(count, usable[host].cpus)) for host, count in job.place)
    cpus = sum(count for _, count in place)
    need = (cpus, *(-(-amount * cpus // job.need[0]) for amount in job.need[1:]))
    request = max(1, now + 1 - job.start)
    return replace(job, place=place, need=need, request=request, settled=False)


def about_to_start(
    row: QueueRow,
    place: Place,
    usable: Mapping[str, NodeRow],
    scope: Scope,
    now: int,
    detail: Detail | None,
) -> RunningJob:
    """A job that was released: it counts as running."""
    if row.sharing == "NO":
        place = tuple((host, usable[host].cpus if host in usable else 1) for host, _ in place)
    need = need_of(row, sum(count for _, count in place) or row.cpus, len(place), scope)
    each = each_node(row, detail, scope)
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
        start=now,
        place=place,
        user=row.user,
        ours=row.requeue > 0,
        settled=False,
        alone=row.sharing == "NO",
        held=held,
    )
