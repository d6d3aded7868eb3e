"""Which nodes a job gets, and how many cpus on each (spec: slurm 4)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.slurm.distribute import cores_for, deal, gpus_for, gpus_on_nodes
from shadowtime.slurm.ends import could_fit
from shadowtime.slurm.fill import fill
from shadowtime.slurm.gpu_offer import tasks_here
from shadowtime.slurm.machine import bits
from shadowtime.slurm.offers import NodeOffers, cpus_offered, gpu_sockets, near_gpus, usable
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
        self.rules = parameters.rules
        self.shortcuts = shortcuts
        self.empty = Usage(machine)
        self._ever: dict[tuple[int, int], tuple[Ask, Choice | None]] = {}
        self._alone: dict[Ask, Ask] = {}

    @cached_property
    def thorough(self) -> Chooser:
        """The same without shortcuts, for states in which jobs share cores."""
        return Chooser(self.machine, self.parameters, shortcuts=False)

    def alone(self, ask: Ask) -> Ask:
        """The request as if on nodes of its own; the same object for the same request."""
        known = self._alone.get(ask)
        if known is None:
            known = self._alone[ask] = replace(ask, unbounded_tasks=True)
        return known

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
        if ask.gpus and not self.rules.one_gpu_test:
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
        if self.rules.first_single_node and ask.single_node:
            low = idle & -idle
            return Choice(low, each) if low and each >= ask.min_cpus else None
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
        before = weights[:] if self.rules.first_single_node and ask.gpus else weights
        spare: dict[int, tuple[int, int]] = {}
        for at in bits(nodes):
            node = machine.nodes[at]
            free = usage.cpus[at] if usage is not None else node.cores * node.threads
            if not free:
                continue
            step = 1 if machine.counts_cpus else node.threads
            offered = cpus_offered(
                node,
                ask,
                free,
                devices.memory[at],
                step=step,
                whole_tasks=self.rules.whole_tasks,
            )
            if ask.gpus:
                cores = usage.cores[at] if usage is not None else (1 << node.cores) - 1
                if free < ask.least_cpus or free < self._fewest(ask):
                    continue
                have = devices.gpus[at].bit_count()
                if have < ask.node_gpus:
                    continue
                spare[at] = cores, devices.gpus[at]
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
        most_tasks = tasks_here(ask)[1]
        if most_tasks is None and self.rules.cpus_of_gpu_tasks:
            most_tasks = ask.tasks or None
        table = NodeOffers(
            machine=machine,
            ask=ask,
            cpus=cpus,
            gpus=gpus,
            near=near,
            weights=weights,
            most=most_tasks,
            free=unused,
            rules=self.rules,
            beside=spare,
            all_gpus=gpus[:] if ask.gpus and self.rules.cpus_beside_gpus else [],
        )
        if self.rules.first_single_node and ask.single_node:
            found = self._first_fit(table, left, before)
        elif self.rules.nodes_left_out_by_product:
            found = self._seek_by_product(table, left, busy_first)
        else:
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
        table.again = True
        singly = self.rules.nodes_left_out_singly
        if left <= ask.min_nodes:
            if ask.gpus or singly:
                return fill(table, nodes, self.parameters, busy_first, first=False)
            return None
        kept = nodes
        most = max(table.counts(nodes))
        count = 1
        while count < most:
            same = True
            for at in bits(kept):
                if 0 < table.count(at) <= count and not ask.required >> at & 1:
                    same = False
                    kept &= ~(1 << at)
                    left -= 1
                    if left <= ask.min_nodes:
                        break
            tried = count
            if same or not singly:
                count += 1  # else the same count once more, until it leaves out none
            if same and (tried != 1 or not (ask.gpus or table.clipped or singly)):
                continue
            found = fill(table, kept, self.parameters, busy_first, first=False)
            if found is not None:
                return found
            if left <= ask.min_nodes:
                return None
        return None

    def _seek_by_product(self, table: NodeOffers, nodes: int, busy_first: int | None) -> int | None:
        """Try all nodes twice, then without those of least cpus x GPUs, one after another."""
        ask = table.ask
        found = fill(table, nodes, self.parameters, busy_first, first=True)
        if found is not None:
            return found
        table.again = True
        gpus = table.all_gpus or [1] * len(table.cpus)
        order = sorted(bits(nodes & ~ask.required), key=lambda at: table.cpus[at] * gpus[at])
        left = nodes.bit_count()
        for at in (*order, -1):
            found = fill(table, nodes, self.parameters, busy_first, first=False)
            if found is not None or at < 0 or left <= ask.min_nodes:
                return found
            nodes &= ~(1 << at)
            left -= 1
        return None

    def _first_fit(self, table: NodeOffers, nodes: int, before: list[int]) -> int | None:
        """The first node that does alone, by the weights ``before`` this test, then by place."""
        ask = table.ask
        if ask.required:
            nodes &= ask.required
        order = sorted(bits(nodes), key=lambda at: before[at])
        for first in (True, False):
            table.again = not first
            for at in order:
                if fill(table, 1 << at, self.parameters, None, first=first) is not None:
                    return 1 << at
        return None

    def overfills(self, usage: Usage, ask: Ask, choice: Choice) -> bool:
        """True where a start takes more memory than its nodes have: Slurm calls them busy.

        A test counts memory for the cpus that a node offers, a start for the whole cores it takes;
        will-run tests do not look at this.
        """
        if not ask.memory_per_cpu or ask.exclusive or self.machine.one_thread:
            return False
        view = usage if choice.view is None else choice.view
        return any(
            share.memory > self.machine.nodes[share.node].memory - view.memory[share.node]
            for share in self.hold(view, ask, choice)
        )

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
        counts = gpus_on_nodes(ask, free_gpus, whole_tasks=self.rules.whole_gpu_tasks)
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
