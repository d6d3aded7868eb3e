"""Which nodes a job gets, and how many cpus on each (SLURM.md 4, SLURM_2 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.slurm.distribute import cores_for, deal, gpus_for, gpus_on_nodes
from shadowtime.slurm.fill import fill
from shadowtime.slurm.machine import bits
from shadowtime.slurm.need import Table
from shadowtime.slurm.offers import (
    cpus_offered,
    gpu_sockets,
    near_gpus,
    tasks_here,
    usable,
)
from shadowtime.slurm.usage import Share

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.usage import Holding, Usage


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen nodes with the cpus on each."""

    nodes: int
    cpus: dict[int, int]

    @property
    def total(self) -> int:
        """Cpus in all."""
        return sum(self.cpus.values())


class Chooser:
    """Tests jobs against a state of use. Scheduling weights stay behind between tests (16.4)."""

    def __init__(self, machine: Machine, parameters: Parameters) -> None:
        self.machine = machine
        self.parameters = parameters

    def test(
        self,
        usage: Usage,
        ask: Ask,
        nodes: int,
        weights: list[int],
        *,
        busy_first: int | None = None,
    ) -> Choice | None:
        """The nodes the job would get of ``nodes`` in this state, or None.

        ``busy_first`` holds the nodes that are idle now where bf_busy_nodes steers the choice.
        """
        left = usable(self.machine, usage, ask, nodes)
        if left is None or left.bit_count() < ask.min_nodes:
            return None
        if ask.gpus:
            # Slurm tests twice, with all cores free and as they are; both leave weights behind.
            if self._once(None, usage, ask, left, weights, busy_first) is None:
                return None
            return self._once(usage, usage, ask, left, weights, busy_first)
        return self._once(usage, usage, ask, left, weights, busy_first)

    def ever(self, usage: Usage, ask: Ask, nodes: int, weights: list[int]) -> Choice | None:
        """The choice if all these nodes were empty."""
        if ask.required & ~nodes or nodes.bit_count() < ask.min_nodes:
            return None
        return self._once(usage, usage, ask, nodes, weights, None)

    def _once(
        self,
        usage: Usage | None,
        devices: Usage,
        ask: Ask,
        nodes: int,
        weights: list[int],
        busy_first: int | None,
    ) -> Choice | None:
        """One selection; ``usage`` None: as if all cores were free (memory and GPUs are not)."""
        machine = self.machine
        size = len(machine.nodes)
        cpus = [0] * size
        gpus = [0] * size
        near: list[int] = []
        if ask.gpus:
            near = [0] * size
        left = 0
        for at in bits(nodes):
            node = machine.nodes[at]
            free = usage.cpus[at] if usage is not None else node.cores * node.threads
            if not free:
                continue
            offered = cpus_offered(node, ask, free, devices.memory[at])
            if ask.gpus:
                cores = usage.cores[at] if usage is not None else (1 << node.cores) - 1
                if free < ask.least_cpus or free < self._fewest(ask):
                    continue
                have = devices.gpus[at].bit_count()
                if have < ask.node_gpus:
                    continue
                most = ask.job_gpus or ask.gpus
                if ask.cpus_per_gpu:
                    could = free // ask.cpus_per_gpu
                    if could < ask.node_gpus:
                        continue
                    have = min(have, could)
                    most = min(most, could)
                close = min(near_gpus(node, cores, devices.gpus[at]), most)
                weights[at] = (weights[at] | 255) - close
                gpus[at] = have
                beside = gpu_sockets(node, ask, cores, devices.gpus[at])
                if beside is not None:
                    near[at] = beside[0].bit_count() * node.threads
                    if ask.cpus_per_gpu and ask.gpus_per == "job":
                        near[at] = min(near[at], ask.cpus_per_gpu * beside[1])
            if offered:
                cpus[at] = offered
                left |= 1 << at
        if left.bit_count() < ask.min_nodes or ask.required & ~left:
            return None
        table = Table(
            machine=machine,
            ask=ask,
            cpus=cpus,
            gpus=gpus,
            near=near,
            weights=weights,
            most=tasks_here(ask)[1],
        )
        found = self._seek(table, left, busy_first)
        if found is None:
            return None
        return Choice(found, {at: table.given[at] for at in bits(found)})

    @staticmethod
    def _fewest(ask: Ask) -> int:
        fewest = tasks_here(ask)[0] if (ask.tasks_per_node or ask.one_node) else 1
        return fewest * ask.cpus_per_task

    def _seek(self, table: Table, nodes: int, busy_first: int | None) -> int | None:
        """Try all nodes, then without those that offer least, one count at a time (14.5)."""
        ask = table.ask
        found = fill(table, nodes, self.parameters, busy_first, first=True)
        if found is not None:
            return found
        left = nodes.bit_count()
        if left <= ask.min_nodes:
            if ask.gpus:
                return fill(table, nodes, self.parameters, busy_first, first=False)
            return None
        kept = nodes
        most = max(table.counts(nodes))
        for count in range(1, most):
            same = True
            for at in bits(kept):
                if 0 < table.count(at) <= count and not ask.required >> at & 1:
                    same = False
                    kept &= ~(1 << at)
                    left -= 1
                    if left <= ask.min_nodes:
                        break
            if same and (count != 1 or not (ask.gpus or table.clipped)):
                continue
            found = fill(table, kept, self.parameters, busy_first, first=False)
            if found is not None:
                return found
            if left <= ask.min_nodes:
                return None
        return None

    def hold(self, usage: Usage, ask: Ask, choice: Choice) -> Holding:
        """What a job takes when it starts on these nodes: whole cores, memory, GPUs."""
        shares = []
        places = list(bits(choice.nodes))
        nodes = [self.machine.nodes[at] for at in places]
        free_gpus = [usage.gpus[at].bit_count() for at in places]
        if ask.exclusive:
            given = [node.cpus for node in nodes]
        else:
            given = deal(
                ask, [choice.cpus[at] for at in places], [node.threads for node in nodes], free_gpus
            )
        counts = gpus_on_nodes(ask, free_gpus)
        for at, node, cpus, count in zip(places, nodes, given, counts, strict=True):
            free = usage.cores[at]
            if ask.gpus and node.near:
                beside = gpu_sockets(node, ask, free, usage.gpus[at])
                if beside is not None and beside[0].bit_count() * node.threads >= cpus:
                    free = beside[0]
            cores = usage.cores[at] if ask.exclusive else cores_for(node, ask, free, cpus)
            gpus = gpus_for(node, ask, usage.gpus[at], cores, count) if ask.gpus else 0
            if ask.exclusive:
                gpus = (1 << node.gpus) - 1
            memory = 0
            if ask.memory is not None:
                held = cores.bit_count() * node.threads
                memory = ask.memory * held if ask.memory_per_cpu else ask.memory or node.memory
            shares.append(Share(at, cores, memory, gpus))
        return tuple(shares)
