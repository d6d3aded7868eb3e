"""What each node could give a job, and what the job still needs while nodes are added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.slurm.gpu_offer import gpu_offer, socket_masks, tasks_here
from shadowtime.slurm.machine import bits
from shadowtime.slurm.rules import FIRST, Rules

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Hardware, Machine
    from shadowtime.slurm.usage import Usage

PLAIN = 255
"""The low byte of a scheduling weight where no GPU is counted near."""


def base_weights(machine: Machine) -> list[int]:
    """Scheduling weights as select_nodes() sets them: Weight * 256 + 255."""
    return [node.weight * 256 + PLAIN for node in machine.nodes]


def fresh_weights(machine: Machine, completing: int) -> list[int]:
    """Scheduling weights as a will-run test sets them: completing nodes last of equal Weight."""
    return [
        node.weight * 65536 + PLAIN + 256 * (completing >> at & 1)
        for at, node in enumerate(machine.nodes)
    ]


def usable(machine: Machine, usage: Usage, ask: Ask, nodes: int) -> int | None:
    """Nodes left by the node-level test: memory, GPUs, idle where whole nodes are asked for.

    None if a required node is not among them.
    """
    left = nodes
    if ask.exclusive:
        left &= usage.idle
    if ask.memory is not None:
        need = ask.memory
        if ask.memory_per_cpu:
            need *= max(ask.tasks_per_node, ask.least_cpus, ask.cpus_per_task, 1)
        for at in bits(left):
            used = usage.memory[at]
            if (need and machine.nodes[at].memory - used < need) or (not need and used):
                left &= ~(1 << at)
    if ask.gpus:
        need = ask.node_gpus
        for at in bits(left):
            if usage.gpus[at].bit_count() < need:
                left &= ~(1 << at)
    if ask.exclusive:
        for at in bits(left):
            if usage.gpus[at] != (1 << machine.nodes[at].gpus) - 1:
                left &= ~(1 << at)
    if ask.required & ~left:
        return None
    return left


def cpus_offered(
    node: Hardware,
    ask: Ask,
    free: int,
    memory_used: int,
    *,
    step: int | None = None,
    whole_tasks: bool = False,
) -> int:
    """Cpus that a node can give, from its free cpus; 0 where it cannot serve the job.

    Memory per cpu takes them away in steps, of a core where ``step`` is not given.
    """
    cpus = free
    if whole_tasks and not ask.gpus:
        bounded = ask.tasks_per_node and not ask.exclusive and not ask.unbounded_tasks
        tasks = min(cpus, ask.tasks_per_node) if bounded else cpus
        cpus = min(tasks * ask.cpus_per_task, cpus - cpus % ask.cpus_per_task)
    fewest = tasks_here(ask)[0] if (ask.tasks_per_node or ask.one_node) else 1
    if cpus < ask.least_cpus or cpus < fewest * ask.cpus_per_task:
        return 0
    if ask.memory is not None and ask.memory_per_cpu:
        left = node.memory - memory_used
        if ask.exclusive:
            if ask.memory * cpus > left:
                return 0
        else:
            while cpus > 0 and ask.memory * cpus > left:
                cpus -= step or node.threads
            cpus = max(cpus, 0)
        if ask.cpus_per_task > 1:
            cpus -= cpus % ask.cpus_per_task
        if cpus < ask.tasks_per_node:
            return 0
    return cpus


def near_gpus(node: Hardware, free_cores: int, free_gpus: int) -> int:
    """Free GPUs on sockets that have a free core."""
    if not node.near:
        return free_gpus.bit_count()
    sockets = socket_masks(node)
    return sum(
        (near & free_gpus).bit_count()
        for near, cores in zip(node.near, sockets, strict=True)
        if cores & free_cores
    )


def gpu_sockets(
    node: Hardware, ask: Ask, free_cores: int, free_gpus: int
) -> tuple[int, int] | None:
    """Cores beside enough GPUs, and how many GPUs are there.

    Sockets with both, most free cores first, until there are enough GPUs. None where the sockets
    with free cores have too few.
    """
    if not node.near:
        return free_cores, free_gpus.bit_count()
    need = min(ask.job_gpus, free_gpus.bit_count()) if ask.job_gpus else ask.node_gpus
    found = []
    for near, cores in zip(node.near, socket_masks(node), strict=True):
        if near & free_gpus and cores & free_cores:
            found.append(((cores & free_cores).bit_count(), cores & free_cores, near & free_gpus))
    found.sort(key=lambda one: -one[0])
    chosen = have = 0
    for _, cores, gpus in found:
        if have >= need:
            break
        chosen |= cores
        have += gpus.bit_count()
    if have < ask.node_gpus:
        return None
    return chosen, have


@dataclass(slots=True)
class NodeOffers:
    """What the nodes offer one job; ``cpus`` shrinks where a try gave a node less than it has."""

    machine: Machine
    ask: Ask
    cpus: list[int]
    gpus: list[int]
    near: list[int]
    """Cpus beside the GPUs, for the first try; empty without GPUs."""
    weights: list[int]
    most: int | None
    """The most tasks on a node, where GPUs bound the cpus by them."""
    free: list[int] = field(default_factory=list)
    """Free cpus, whatever memory lets the job use of them."""
    rules: Rules = FIRST
    beside: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Free cores and GPUs of nodes, where offers are made by both."""
    all_gpus: list[int] = field(default_factory=list)
    """Free GPUs of each node, whatever a try counts of them."""
    least: dict[int, int] = field(default_factory=dict)
    """Cpus that a node must give with its GPUs."""
    again: bool = False
    """A later try, after one has failed."""
    clipped: bool = False
    given: dict[int, int] = field(default_factory=dict)

    def count(self, at: int) -> int:
        """Cpus plus GPUs."""
        return self.cpus[at] + (self.all_gpus[at] if self.all_gpus else self.gpus[at])

    def counts(self, nodes: int) -> list[int]:
        """Cpus plus GPUs of these nodes."""
        return [self.count(at) for at in bits(nodes)]

    def cores_for(self, at: int, first: bool) -> int:
        """Cpus of a node that this try may use."""
        ask = self.ask
        cpus = self.cpus[at]
        if ask.gpus and self.rules.cpus_beside_gpus and not ask.exclusive:
            made = gpu_offer(
                self.machine.nodes[at], ask, cpus, *self.beside[at], self.most, self.rules, first
            )
            self.gpus[at], self.least[at] = made.gpus, made.least
            return made.cpus
        if ask.gpus:
            if first:
                cpus = min(cpus, self.near[at])
            if not ask.exclusive:
                most = self.most
                if ask.gpus_per == "task":
                    here = self.gpus[at] // ask.gpus
                    most = here if most is None else min(most, here)
                if most is not None:
                    cpus = min(cpus, max(most * ask.cpus_per_task, self._gpu_cpus(at)))
                elif ask.cpus_per_gpu:
                    cpus = min(cpus, ask.cpus_per_gpu * self.gpus[at])
                if cpus < ask.least_cpus:
                    return 0
        if ask.cpus_per_task > 1 and cpus < ask.cpus_per_task:
            return 0
        return cpus

    def _gpu_cpus(self, at: int) -> int:
        """Cpus that come with the GPUs of one node (--cpus-per-gpu)."""
        ask = self.ask
        if not ask.cpus_per_gpu:
            return 0
        count = ask.job_gpus or ask.gpus
        return ask.cpus_per_gpu * min(count, self.gpus[at])

    def give(self, at: int, cpus: int, bound: int, due: int) -> int:
        """Cpus to take of a node: all, or what is still wanted less one core per node due."""
        ask = self.ask
        if not ask.exclusive:
            room = bound - max(due - 1, 0) * self.machine.nodes[at].threads
            if cpus > room:
                least = self.least.get(at, 0) or self._least_gpu_cpus()
                cpus = max(room, ask.least_cpus, least)
                self.cpus[at] = cpus
                self.clipped = True
        self.given[at] = cpus
        return cpus

    def _least_gpu_cpus(self) -> int:
        ask = self.ask
        if not ask.cpus_per_gpu or ask.gpus_per == "job":
            return 0
        return ask.cpus_per_gpu * ask.gpus

    def bound(self) -> int:
        """Cpus wanted in all."""
        ask = self.ask
        if ask.cpus_per_gpu:
            wanted = ask.job_gpus or ask.gpus * ask.min_nodes
            return max(ask.min_cpus, ask.cpus_per_gpu * wanted)
        return ask.min_cpus


class Need:
    """What is still needed while nodes are added."""

    __slots__ = ("ask", "bound", "cpus", "due", "gpus", "most", "nodes")

    def __init__(self, table: NodeOffers, most: int | None = None) -> None:
        ask = table.ask
        self.ask = ask
        self.cpus = table.bound()
        self.bound = table.bound()
        self.due = ask.min_nodes
        self.most = ask.max_nodes if most is None else most
        if table.again and most is None and table.rules.task_a_node_once:
            top = max(ask.max_nodes, table.bound() // ask.cpus_per_task)
            self.most = max(min(ask.fixed_nodes or top, top), ask.min_nodes)
        self.gpus = ask.job_gpus
        if ask.job_gpus:
            self.nodes = min(ask.min_nodes, ask.wanted_nodes)
        else:
            self.nodes = max(ask.min_nodes, ask.wanted_nodes)

    @property
    def met(self) -> bool:
        """Nodes, cpus and GPUs all reached."""
        return self.nodes <= 0 and self.cpus <= 0 and self.gpus <= 0

    @property
    def met_at_least(self) -> bool:
        """Cpus and GPUs reached, and the least number of nodes of a range."""
        return self.cpus <= 0 and self.gpus <= 0 and enough(0, self.nodes, self.ask)

    def add(self, cpus: int, gpus: int) -> None:
        """Take a node with these cpus and GPUs."""
        self.cpus -= cpus
        self.bound -= cpus
        self.nodes -= 1
        self.due -= 1
        self.most -= 1
        self.gpus -= gpus


def enough(have: int, nodes: int, ask: Ask) -> bool:
    """Whether this many nodes suffice, as a range accepts fewer than it aims at."""
    if ask.wanted_nodes > ask.min_nodes:
        return have >= nodes + ask.min_nodes - ask.wanted_nodes
    return have >= nodes
