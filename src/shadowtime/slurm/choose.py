"""Which nodes a job gets, and how many cpus on each (spec: slurm 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.choose import choose_now
from shadowtime.slurm.desk import AskTable
from shadowtime.slurm.distribute import cores_beside, cores_for, deal, gpus_taken
from shadowtime.slurm.machine import Machine, bits
from shadowtime.slurm.usage import Holding, Share, Usage, WholeNodes
from shadowtime.slurm.weights import base_weights
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.tally import Tally


MOST_KEPT = 10_000
"""Answers of :meth:`Chooser.ever` that are remembered."""


class Choice(NamedTuple):
    """Chosen nodes with the cpus on each: by node, or the same on all."""

    nodes: int
    given: dict[int, int] | int
    view: Usage | None = None
    """What it was chosen from, where that is not simply what is free."""
    gpus: Mapping[int, int] | None = None
    """By node: GPUs that counted when it was chosen, where that bounds what it gives."""

    @property
    def cpus(self) -> dict[int, int]:
        """Cpus by node."""
        if isinstance(self.given, int):
            return dict.fromkeys(bits(self.nodes), self.given)
        return self.given


class Chooser:
    """Tests jobs against a state of use. Scheduling weights persist between tests.

    spec: slurm 11.4.

    ``shortcuts`` False disables every shortcut, here and in the passes, to test them. ``compiled``
    False runs the same code uncompiled, where compiling takes longer than the tests.
    """

    def __init__(
        self,
        machine: Machine,
        parameters: Parameters,
        *,
        shortcuts: bool = True,
        compiled: bool = True,
    ) -> None:
        self.machine = machine
        self.parameters = parameters
        self.rules = parameters.rules
        self.shortcuts = shortcuts
        self.empty = Usage(machine)
        self.asks = AskTable(machine, parameters, shortcuts=shortcuts)
        self._ever: dict[tuple[int, int], tuple[Ask, Choice | None]] = {}
        self._fits: dict[tuple[int, int], tuple[Ask, bool]] = {}
        self._parts: dict[int, tuple[Ask, list[tuple[int, Ask]], Ask]] = {}
        """For a request with counts of features: those of its parts, and that for all of them."""
        self.tallies: dict[tuple[int, str], tuple[Ask, Tally | None]] = {}
        """What limits count requests with in a partition, where it is the same on every node."""
        self._choose = choose_now if compiled else getattr(choose_now, "py_func", choose_now)
        self.base_weights = base_weights(machine)

    def test(
        self,
        usage: Usage,
        ask: Ask,
        nodes: int,
        weights: Ints,
        *,
        plain: bool = False,
    ) -> Choice | None:
        """The nodes the job would get of ``nodes`` in this state, or None.

        ``plain``: ``weights`` are those of Weight alone.
        """
        if not self.shortcuts or not plain or ask.gpus:
            return self._of(usage, ask, nodes, weights)
        # Without GPUs the answer depends on what is free and on Weight alone.
        key = (id(ask), nodes)
        if key not in usage.chosen:
            usage.chosen[key] = self._of(usage, ask, nodes, weights)
        return usage.chosen[key]

    def ever(self, ask: Ask, nodes: int, weights: Ints) -> Choice | None:
        """The choice if all these nodes were empty."""
        for mask in ask.either or (nodes,):
            found = self._ever_on(ask, nodes & mask, weights)
            if found is not None:
                return found
        return None

    def serves(self, ask: Ask, nodes: int) -> bool:
        """True where these nodes, empty, serve a job without GPUs or of one node.

        Tests of other jobs do not matter to it: it is tested by Weight alone.
        """
        key = (id(ask), nodes)
        known = self._fits.get(key)
        if known is None:
            if len(self._fits) > MOST_KEPT:
                self._fits.clear()
            fits = self.ever(ask, nodes, self.base_weights.copy()) is not None
            known = self._fits[key] = ask, fits
        return known[1]

    def _ever_on(self, ask: Ask, nodes: int, weights: Ints) -> Choice | None:
        if self.machine.has_gpus or not self.shortcuts:
            return self._of(self.empty, ask, nodes, weights, empty=True)
        # Without GPUs weights never change, so the answer is always the same.
        key = (id(ask), nodes)
        known = self._ever.get(key)
        if known is None:
            if len(self._ever) > MOST_KEPT:
                self._ever.clear()
            found = self._of(self.empty, ask, nodes, weights, empty=True)
            known = self._ever[key] = (ask, found)  # kept, so that no other request reuses its id
        return known[1]

    def _of(
        self,
        usage: Usage,
        ask: Ask,
        nodes: int,
        weights: Ints,
        *,
        empty: bool = False,
    ) -> Choice | None:
        if nodes.bit_count() < ask.min_nodes:
            return None
        if ask.parts:
            return self._in_parts(usage, ask, nodes, weights, empty=empty)
        asks = self.asks
        row = asks.row(ask)
        desk = asks.desk
        desk.mask[d.TRIED] = asks.packed(nodes)
        if not self._choose(desk, usage.table, weights, row, empty):
            return None
        return self.chosen()

    def _in_parts(
        self, usage: Usage, ask: Ask, nodes: int, weights: Ints, *, empty: bool
    ) -> Choice | None:
        """Nodes for each count of features, then a choice that contains them (spec: slurm 12.7)."""
        known = self._parts.get(id(ask))
        if known is None:
            wanted = sum(count for _, count in ask.parts)
            parts = [(mask, ask.part(n, starts=True)) for mask, n in ask.parts if n]
            all_of = replace(
                ask,
                parts=(),
                min_nodes=max(ask.min_nodes, wanted),
                wanted_nodes=max(ask.wanted_nodes, wanted),
                min_cpus=max(ask.min_cpus, wanted),
            )
            known = self._parts[id(ask)] = ask, parts, all_of
        _, parts, all_of = known
        taken = 0
        for mask, part in parts:
            found = self._of(usage, part, nodes & mask & ~taken, weights, empty=empty)
            if found is None:
                return None
            taken |= found.nodes
        if taken.bit_count() > all_of.min_nodes or all_of.wanted_nodes > ask.max_nodes:
            return None
        row = self.asks.row(all_of)
        self.asks.desk.required[row] = self.asks.packed(taken | ask.required)
        return self._of(usage, all_of, nodes, weights, empty=empty)

    def chosen(self) -> Choice:
        """What the last test chose."""
        found, spot = self.asks.chosen, self.asks.desk.spot
        given = {at: int(spot[at, d.GIVEN]) for at in bits(found)}
        if not (self.machine.has_gpus and self.rules.gpus_as_counted):
            return Choice(found, given)
        return Choice(found, given, gpus={at: int(spot[at, d.ADDED_GPUS]) for at in given})

    def overfills(self, usage: Usage, ask: Ask, choice: Choice) -> bool:
        """True where a start takes more than its nodes have: Slurm calls them busy.

        A test counts memory for the cpus that a node offers, a start for the whole cores it takes;
        a test of single nodes counts GPUs of the nodes before. Will-run tests do not look at this.
        """
        first = self.rules.first_single_node and self.asks.takes_first(ask)
        alone = choice.gpus if first else None
        for at in alone or ():
            if self.machine.nodes[at].picks_gpus and usage.gpus[at].bit_count() < ask.job_gpus:
                return True
        if not ask.memory_per_cpu or ask.exclusive or self.machine.one_thread:
            return False
        view = usage if choice.view is None else choice.view
        return any(
            share.memory > self.machine.nodes[share.node].memory - view.memory[share.node]
            for share in self.hold(view, ask, choice)
        )

    def hold(self, usage: Usage, ask: Ask, choice: Choice) -> Holding:
        """What a job takes when it starts on these nodes: whole cores, memory, GPUs."""
        plain = not (self.machine.has_gpus or self.machine.pools)
        if ask.exclusive and ask.memory is None and plain:
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
                ask,
                [offered[at] for at in places],
                [node.threads for node in nodes],
                free_gpus,
                as_told=self.rules.tasks_as_told,
            )
        cores_on = []
        for at, node, cpus in zip(places, nodes, given, strict=True):
            free = usage.cores[at]
            if ask.gpus and node.near:
                beside = cores_beside(node, ask, free, usage.gpus[at])
                if beside is not None and beside.bit_count() * node.threads >= cpus:
                    free = beside
            whole = self.machine.full_cores[at]
            cores_on.append(whole if ask.exclusive else cores_for(node, ask, free, cpus))
        taken = gpus_taken(
            ask,
            nodes,
            [usage.gpus[at] for at in places],
            cores_on,
            rules=self.rules,
            counted=None if choice.gpus is None else [choice.gpus[at] for at in places],
        )
        for at, node, cpus, cores, gpus in zip(places, nodes, given, cores_on, taken, strict=True):
            memory = 0
            if ask.memory is not None:
                held = cpus if self.machine.counts_cpus else cores.bit_count() * node.threads
                memory = ask.memory * held if ask.memory_per_cpu else ask.memory or node.memory
            shares.append(Share(at, cores, memory, gpus, ask.pools_held(node, cores)))
        return tuple(shares)
