"""Which nodes a job gets, and how many cpus on each (spec: slurm 4)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.slurm.distribute import cores_for, deal, gpus_for, gpus_on_nodes
from shadowtime.slurm.ends import could_fit
from shadowtime.slurm.fill import fill
from shadowtime.slurm.machine import bits
from shadowtime.slurm.offers import (
    NodeOffers,
    cpus_offered,
    gpu_sockets,
    near_gpus,
    tasks_here,
    usable,
)
from shadowtime.slurm.usage import Share, Usage, WholeNodes
from shadowtime.slurm.whole import whole_nodes

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.ends import Ends
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.usage import Holding


MOST_KEPT = 10_000
"""Answers of :meth:`Chooser.ever` that are remembered."""


class Choice(NamedTuple):
    """Chosen nodes with the cpus on each: by node, or the same on all."""

    nodes: int
    given: dict[int, int] | int
    view: Usage | None = None
    """What it was chosen from, where that is not simply what is free."""

    @property
    def cpus(self) -> dict[int, int]:
        """Cpus by node."""
        if isinstance(self.given, int):
            return dict.fromkeys(bits(self.nodes), self.given)
        return self.given


class Chooser:
    """Tests jobs against a state of use. Scheduling weights persist between tests.

    spec: slurm 11.4.

    ``shortcuts`` False disables every shortcut, here and in the passes, to test them.
    """

    def __init__(self, machine: Machine, parameters: Parameters, *, shortcuts: bool = True) -> None:
        self.machine = machine
        self.parameters = parameters
        self.shortcuts = shortcuts
        self.empty = Usage(machine)
        self._ever: dict[tuple[int, int], tuple[Ask, Choice | None]] = {}

    @cached_property
    def thorough(self) -> Chooser:
        """The same without shortcuts, for states in which jobs share cores."""
        return Chooser(self.machine, self.parameters, shortcuts=False)

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
        if self.shortcuts and not ask.gpus:
            if not could_fit(usage, ask, nodes):
                return None
            if busy_first is None and self.takes_whole(ask):
                return self._of_equals(ask, nodes & usage.idle)
        left = usable(self.machine, usage, ask, nodes)
        if left is None or left.bit_count() < ask.min_nodes:
            return None
        if ask.gpus:
            # Slurm tests twice, with all cores free and as they are; both leave weights behind.
            if self._once(None, usage, ask, left, weights, busy_first) is None:
                return None
            return self._once(usage, usage, ask, left, weights, busy_first)
        return self._once(usage, usage, ask, left, weights, busy_first)

    def test_after(
        self,
        ends: Ends,
        count: int,
        ask: Ask,
        nodes: int,
        weights: list[int],
        *,
        busy_first: int | None = None,
    ) -> Choice | None:
        """As :meth:`test`, after ``count`` running jobs have ended."""
        if self.shortcuts and ask.exclusive and busy_first is None and self.takes_whole(ask):
            idle = ends.idle(count)
            if not could_fit(ends.usage, ask, nodes, idle=idle):
                return None
            return self._of_equals(ask, nodes & idle)
        return self.test(ends.after(count), ask, nodes, weights, busy_first=busy_first)

    def takes_whole(self, ask: Ask) -> bool:
        """Whole nodes that are interchangeable: the choice depends on their places alone."""
        if not ask.exclusive or ask.required or ask.gpus or ask.memory_per_cpu or ask.either:
            return False
        if not self.machine.alike:
            return False
        if self.parameters.pack_serial_at_end and ask.min_cpus == 1 and ask.wanted_nodes == 1:
            return False
        node = self.machine.nodes[0]
        return ask.floor[0] <= node.cores * node.threads and (ask.memory or 0) <= node.memory

    def _of_equals(self, ask: Ask, idle: int) -> Choice | None:
        each = self.empty.cpus[0]
        found = whole_nodes(ask, idle, each)
        return None if found is None else Choice(found, each)

    def ever(self, ask: Ask, nodes: int, weights: list[int]) -> Choice | None:
        """The choice if all these nodes were empty."""
        for mask in ask.either or (nodes,):
            found = self._ever_on(ask, nodes & mask, weights)
            if found is not None:
                return found
        return None

    def _ever_on(self, ask: Ask, nodes: int, weights: list[int]) -> Choice | None:
        if ask.required & ~nodes or nodes.bit_count() < ask.min_nodes:
            return None
        if self.machine.has_gpus or not self.shortcuts:
            return self._once(self.empty, self.empty, ask, nodes, weights, None)
        # Without GPUs weights never change, so the answer is always the same.
        key = (id(ask), nodes)
        known = self._ever.get(key)
        if known is None:
            if len(self._ever) > MOST_KEPT:
                self._ever.clear()
            found = self._once(self.empty, self.empty, ask, nodes, weights, None)
            known = self._ever[key] = (ask, found)  # kept, so that no other request reuses its id
        return known[1]

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
        unused = [0] * size
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
            step = 1 if machine.counts_cpus else node.threads
            offered = cpus_offered(node, ask, free, devices.memory[at], step=step)
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
                cpus[at], unused[at] = offered, free
                left |= 1 << at
        if left.bit_count() < ask.min_nodes or ask.required & ~left:
            return None
        table = NodeOffers(
            machine=machine,
            ask=ask,
            cpus=cpus,
            gpus=gpus,
            near=near,
            weights=weights,
            most=tasks_here(ask)[1],
            free=unused,
        )
        found = self._seek(table, left, busy_first)
        if found is None:
            return None
        return Choice(found, {at: table.given[at] for at in bits(found)})

    @staticmethod
    def _fewest(ask: Ask) -> int:
        fewest = tasks_here(ask)[0] if (ask.tasks_per_node or ask.one_node) else 1
        return fewest * ask.cpus_per_task

    def _seek(self, table: NodeOffers, nodes: int, busy_first: int | None) -> int | None:
        """Try all nodes, then without those that offer least, one count at a time.

        spec: slurm 4.5.
        """
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
        if ask.exclusive and ask.memory is None and not self.machine.has_gpus:
            return WholeNodes(choice.nodes, self.machine.full_cores)
        shares = []
        places = list(bits(choice.nodes))
        nodes = [self.machine.nodes[at] for at in places]
        free_gpus = [usage.gpus[at].bit_count() for at in places]
        if ask.exclusive:
            given = [node.cpus for node in nodes]
        else:
            offered = choice.cpus
            given = deal(
                ask, [offered[at] for at in places], [node.threads for node in nodes], free_gpus
            )
        counts = gpus_on_nodes(ask, free_gpus)
        for at, node, cpus, count in zip(places, nodes, given, counts, strict=True):
            free = usage.cores[at]
            if ask.gpus and node.near:
                beside = gpu_sockets(node, ask, free, usage.gpus[at])
                if beside is not None and beside[0].bit_count() * node.threads >= cpus:
                    free = beside[0]
            whole = self.machine.full_cores[at]
            cores = whole if ask.exclusive else cores_for(node, ask, free, cpus)
            gpus = gpus_for(node, ask, usage.gpus[at], cores, count) if ask.gpus else 0
            if ask.exclusive:
                gpus = (1 << node.gpus) - 1
            memory = 0
            if ask.memory is not None:
                held = cpus if self.machine.counts_cpus else cores.bit_count() * node.threads
                memory = ask.memory * held if ask.memory_per_cpu else ask.memory or node.memory
            shares.append(Share(at, cores, memory, gpus))
        return tuple(shares)
