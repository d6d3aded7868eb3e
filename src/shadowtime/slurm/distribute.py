"""How many cpus each chosen node gives, and which cores: tasks dealt out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.slurm.machine import Hardware
from shadowtime.slurm.rules import Rules
from shadowtime.slurm.usage import lowest

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask


def deal(
    ask: Ask,
    offered: Sequence[int],
    threads: Sequence[int],
    gpus: Sequence[int] = (),
    *,
    as_told: bool = False,
) -> list[int]:
    """Cpus per node: one task each, then core by core in turn while whole tasks fit.

    Where tasks are left and no node has room for a whole one, nodes with any cpu left take a task
    and what they have. ``gpus`` are the free GPUs per node: they bound the tasks there where GPUs
    are asked per task, and bring cpus along where --cpus-per-gpu is given. ``as_told``: tasks are
    those of -n, even where a node must have more cpus free.

    Examples
    --------
    >>> from shadowtime.slurm.ask import Ask
    >>> ask = Ask(tasks=6, cpus_per_task=2, min_nodes=1, max_nodes=6, wanted_nodes=1,
    ...           min_cpus=12, least_cpus=2)
    >>> deal(ask, [3, 2, 7], [1, 1, 1])
    [3, 2, 6]
    """
    tasks = _tasks(ask, len(offered), as_told=as_told)
    if len(offered) == 1:  # what no whole task fits into is given in the end
        return [min(offered[0], tasks * max(1, ask.cpus_per_task))]
    return list(_dealt(ask, tasks, tuple(offered), tuple(threads), tuple(gpus)))


def _tasks(ask: Ask, hosts: int, *, as_told: bool) -> int:
    """How many tasks are dealt out, of --cpus-per-task each."""
    if as_told and ask.tasks_per_node and -(-ask.tasks // ask.tasks_per_node) == hosts:
        return max(ask.tasks, 1)
    least = ask.cpus_per_task if as_told else ask.least_cpus
    cpus = max(hosts * max(1, ask.tasks_per_node), ask.min_cpus, hosts * least)
    if ask.cpus_per_gpu:
        cpus = max(cpus, ask.cpus_per_gpu * (ask.job_gpus or ask.gpus * hosts))
    if ask.cpus_per_task > 1:
        cpus = ask.tasks_per_node * hosts if ask.tasks_per_node else cpus // ask.cpus_per_task
    return max(cpus, 1)


@lru_cache(maxsize=4096)
def _dealt(
    ask: Ask, tasks: int, offered: tuple[int, ...], threads: tuple[int, ...], gpus: tuple[int, ...]
) -> tuple[int, ...]:
    hosts = len(offered)
    each = max(1, ask.cpus_per_task)
    given = [0] * hosts
    count = [0] * hosts
    dealt = 0

    def put(at: int) -> None:
        nonlocal dealt
        dealt += 1
        count[at] += 1
        given[at] = min(given[at] + each, offered[at])

    def full(at: int) -> bool:
        if ask.gpus_per == "task" and gpus and count[at] >= gpus[at] // ask.gpus:
            return True
        return bool(ask.tasks_per_node) and count[at] >= ask.tasks_per_node

    for at in range(hosts):
        if dealt < tasks and offered[at]:
            put(at)
    for at in range(hosts):
        for _ in range(given[at] % threads[at] // each):
            if dealt < tasks and offered[at] - given[at] >= each and not full(at):
                put(at)
    moved = True
    while dealt < tasks and moved:
        moved = False
        for at in range(hosts):
            for _ in range(max(1, threads[at] // each)):
                if dealt >= tasks or offered[at] - given[at] < each or full(at):
                    break
                put(at)
                moved = True
    moved = True
    while dealt < tasks and moved:
        moved = False
        for at in range(hosts):
            if dealt < tasks and given[at] < offered[at]:
                put(at)
                moved = True
    return tuple(given)


def cores_for(node: Hardware, ask: Ask, free: int, cpus: int) -> int:
    """The cores that hold these cpus: from socket to socket in turn.

    With several cpus per task, tasks that fit one socket whole are packed there first.
    """
    sockets = [mask & free for mask in node.socket_masks]
    taken = 0
    if ask.cpus_per_task > 1:
        for at, mask in enumerate(sockets):
            room = mask.bit_count() * node.threads
            room -= room % ask.cpus_per_task
            while mask and room > 0 and cpus > 0:
                low = mask & -mask
                mask ^= low
                taken |= low
                room = 0 if room < node.threads else room - node.threads
                cpus = 0 if cpus < node.threads else cpus - node.threads
            sockets[at] = mask
    left = -(-cpus // node.threads)
    while left > 0 and any(sockets):
        # Rounds in which each socket that has a core free gives one, or a last one of some.
        given = [mask for mask in sockets if mask]
        rounds = min(left // len(given), *(mask.bit_count() for mask in given))
        for at, mask in enumerate(sockets):
            some = lowest(mask, rounds or min(left, 1))
            sockets[at] = mask ^ some
            taken |= some
            left -= some.bit_count()
    return taken


def cores_beside(node: Hardware, ask: Ask, free_cores: int, free_gpus: int) -> int | None:
    """Cores beside enough GPUs: sockets with both, most free cores first; None: too few."""
    need = min(ask.job_gpus, free_gpus.bit_count()) if ask.job_gpus else ask.node_gpus
    found = []
    for near, cores in zip(node.near, node.socket_masks, strict=True):
        if near & free_gpus and cores & free_cores:
            found.append((cores & free_cores, (near & free_gpus).bit_count()))
    found.sort(key=lambda one: -one[0].bit_count())
    chosen = have = 0
    for cores, gpus in found:
        if have >= need:
            break
        chosen |= cores
        have += gpus
    return chosen if have >= ask.node_gpus else None


def gpus_taken(
    ask: Ask,
    nodes: Sequence[Hardware],
    free: Sequence[int],
    cores: Sequence[int],
    *,
    rules: Rules,
    counted: Sequence[int] | None = None,
) -> list[int]:
    """Which GPUs a job takes on each of its nodes, as masks: those beside its cores first.

    ``free`` and ``cores`` are masks: free GPUs, and the cores that the job takes. ``counted`` are
    the GPUs that counted on each node when it was chosen, if that is known.
    """
    if not ask.gpus:
        return [(1 << node.gpus) - 1 if ask.exclusive else 0 for node in nodes]
    if ask.exclusive:
        return [(1 << node.gpus) - 1 for node in nodes]
    if ask.gpus_per == "job":
        return _of_job(ask, nodes, free, cores, rules, counted if rules.gpus_as_counted else None)
    each = ask.gpus if rules.whole_gpu_tasks and ask.gpus_per == "task" else 1
    left, taken = ask.job_gpus, []
    for at, (node, mask, own) in enumerate(zip(nodes, free, cores, strict=True)):
        count = ask.gpus
        if ask.gpus_per == "task":
            others = (len(nodes) - at - 1) * each
            count = max(0, min(mask.bit_count() // each * each, left - others))
            left -= count
        taken.append(_socket_by_socket(node, mask, own, count))
    return taken


def _near(node: Hardware, free: int, cores: int) -> list[int]:
    """By socket: the free GPUs beside its cores, if the job has some of these."""
    return [
        near & free if mask & cores else 0
        for near, mask in zip(node.near, node.socket_masks, strict=True)
    ]


def _socket_by_socket(node: Hardware, free: int, cores: int, count: int) -> int:
    """GPUs from each socket in turn, then the lowest of all others."""
    used = _near(node, free, cores) if node.near else []
    taken = 0
    while count > taken.bit_count() and any(used):
        for at, near in enumerate(used):
            if near and count > taken.bit_count():
                low = near & -near
                taken |= low
                used[at] = near ^ low
    return taken | lowest(free & ~taken, count - taken.bit_count())


def _of_job(
    ask: Ask,
    nodes: Sequence[Hardware],
    free: Sequence[int],
    cores: Sequence[int],
    rules: Rules,
    counted: Sequence[int] | None,
) -> list[int]:
    """GPUs asked per job: from the first node on, one left for each other.

    Nodes with cores beside their GPUs give those alone, and the nodes give others afterwards, in
    the same order, until there are enough.
    """
    left, taken = ask.job_gpus, []
    for at, (node, mask, own) in enumerate(zip(nodes, free, cores, strict=True)):
        most = left - (len(nodes) - at - 1)
        if node.picks_gpus:
            if counted is not None:
                most = min(most, counted[at])
            if ask.cpus_per_gpu:
                most = min(most, own.bit_count() * node.threads // ask.cpus_per_gpu)
            most = max(most, 1 if rules.gpus_as_counted else 0)
        found = lowest(mask, max(most, 0))
        if node.near:
            found = 0
            near = _near(node, mask, own)
            if rules.gpus_as_counted:
                share = np.float32(most) / np.float32(own.bit_count())
                for beside, socket in zip(near, node.socket_masks, strict=True):
                    some = int(np.float32((own & socket).bit_count()) * share)
                    found |= lowest(beside, min(some, most - found.bit_count()))
            found |= lowest(sum(near) & ~found, most - found.bit_count())
            found = found or lowest(mask, 1)
        taken.append(found)
        left -= found.bit_count()
    for at, mask in enumerate(free):
        more = lowest(mask & ~taken[at], max(left, 0))
        taken[at] |= more
        left -= more.bit_count()
    return taken
