"""The machine and its requests on the arrays that the compiled choice of nodes works on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.words import packed, unpacked, words_of
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Machine
    from shadowtime.slurm.parameters import Parameters
    from shadowtime.slurm.usage import Floor

GPUS_PER = {"": 0, "node": d.PER_NODE, "job": d.PER_JOB, "task": d.PER_TASK}
RULES = (
    "whole_tasks",
    "cpus_beside_gpus",
    "whole_gpu_tasks",
    "task_a_node_once",
    "one_gpu_test",
    "nodes_left_out_singly",
    "nodes_left_out_by_product",
    "cpus_of_gpu_tasks",
    "first_single_node",
    "leaf_needs_cpus",
)
"""In the order of their columns (kernel/slurm/desk.py)."""


class AskTable:
    """A desk for one machine, on which requests get rows as they are first seen."""

    def __init__(self, machine: Machine, parameters: Parameters, *, shortcuts: bool) -> None:
        self.machine, self.parameters, self.shortcuts = machine, parameters, shortcuts
        self.words = words_of(len(machine.nodes))
        self.desk = _desk(machine, parameters, shortcuts=shortcuts)
        self._rows: dict[int, tuple[int, Ask]] = {}
        """By identity; requests are kept so that no identity is used again."""
        self._floors: dict[Floor, int] = {}
        """Numbers of what a node must have free."""
        self._eithers = 0

    def row(self, ask: Ask) -> int:
        """The row of a request."""
        known = self._rows.get(id(ask))
        if known is not None:
            return known[0]
        row = len(self._rows)
        self._rows[id(ask)] = row, ask
        desk = self.desk
        if row == len(desk.ask):
            desk = self.desk = desk._replace(
                ask=longer(desk.ask),
                pool=longer(desk.pool),
                suits=longer(desk.suits),
                required=longer(desk.required),
                excluded=longer(desk.excluded),
                without_type=longer(desk.without_type),
            )
        masks = ask.either or tuple(nodes for nodes, _ in ask.parts)
        while self._eithers + len(masks) > len(desk.either):
            desk = self.desk = desk._replace(either=longer(desk.either), part=longer(desk.part))
        first = self._eithers
        for nodes in masks:
            desk.either[self._eithers] = self.packed(nodes)
            self._eithers += 1
        floor = self._floors.setdefault(ask.floor, len(self._floors))
        cpus, memory, gpus = ask.floor
        fewest, most = ask.tasks_here
        desk.ask[row] = (
            ask.known_tasks, ask.cpus_per_task, ask.min_nodes, ask.max_nodes, ask.wanted_nodes,
            ask.min_cpus, ask.least_cpus, ask.tasks_per_node,
            -1 if ask.memory is None else ask.memory, ask.memory_per_cpu, ask.gpus,
            GPUS_PER[ask.gpus_per], ask.cpus_per_gpu, ask.exclusive, ask.one_node,
            ask.bounded_nodes, ask.unbounded_tasks, cpus, -1 if memory is None else memory, gpus,
            ask.job_gpus, self.takes_first(ask), fewest, -1 if most is None else most,
            self.takes_whole(ask), floor, -1, first, len(ask.either),
            ask.contiguous, ask.spread, -1, ask.by_partition and not ask.exclusive,
            ask.least_loaded, ask.cpu_pool, ask.own_user, len(ask.parts), -1, ask.tasks,
        )  # fmt: skip
        desk.pool[row] = ask.pools or 0
        desk.required[row] = self.packed(ask.required)
        desk.suits[row] = self.packed(ask.suits)
        desk.excluded[row] = self.packed(ask.excluded)
        desk.without_type[row] = self.packed(ask.without_type)
        shares = not ask.gpus and not ask.exclusive and not ask.unbounded_tasks
        if self.parameters.rules.whole_tasks and ask.tasks_per_node and shares:
            alone = self.row(replace(ask, unbounded_tasks=True))
            self.desk.ask[row, d.ALONE] = alone
        if ask.by_partition and ask.exclusive and self.parameters.rules.shares_in_will_run:
            shared = self.row(replace(ask, exclusive=False))
            self.desk.ask[row, d.SHARED] = shared
        for at, (_, count) in enumerate(ask.parts):
            one = self.row(ask.part(count, starts=False))
            self.desk.part[first + at] = one
        if ask.parts:
            rest = self.row(replace(ask, parts=(), suits=self.machine.everything))
            self.desk.ask[row, d.REST] = rest
        return row

    def takes_first(self, ask: Ask) -> bool:
        """A job of one node, but not of one cpu that goes to the last (spec: slurm 4.7, 4.9)."""
        last = ask.min_cpus == 1 and ask.wanted_nodes == 1 and self.parameters.pack_serial_at_end
        return ask.single_node and not last

    def takes_whole(self, ask: Ask) -> bool:
        """Whole nodes that are interchangeable: the choice depends on their places alone."""
        wish, rules = self.parameters, self.parameters.rules
        if not self.shortcuts or not ask.exclusive or not self.machine.alike or wish.bf_busy_nodes:
            return False
        if (
            ask.required
            or ask.gpus
            or ask.memory_per_cpu
            or ask.either
            or ask.parts
            or ask.contiguous
            or ask.spread
            or ask.least_loaded
            or ask.pools
            or ask.cpu_pool >= 0
        ):
            return False
        if wish.pack_serial_at_end and ask.min_cpus == 1 and ask.wanted_nodes == 1:
            return False
        if (rules.whole_tasks and ask.cpus_per_task > 1) or (
            rules.first_single_node and ask.single_node
        ):
            return False
        if rules.task_a_node_once and ask.fixed_nodes != ask.max_nodes:
            return False  # a second try would be content with other numbers of nodes
        node = self.machine.nodes[0]
        return ask.floor[0] <= node.cores * node.threads and (ask.memory or 0) <= node.memory

    def packed(self, nodes: int) -> AnyArray:
        """A mask as words."""
        return packed(nodes, self.words)

    @property
    def chosen(self) -> int:
        """The nodes that the last test chose."""
        return unpacked(self.desk.mask[d.CHOSEN])


def _desk(machine: Machine, parameters: Parameters, *, shortcuts: bool) -> Desk:
    desk = d.empty_desk(
        len(machine.nodes),
        sockets=machine.sockets,
        pools=len(machine.pools),
        leaves=len(machine.leaves),
    )
    for at, rule in enumerate(RULES):
        desk.rule[at] = getattr(parameters.rules, rule)
    desk.rule[d.COUNTS_CPUS] = machine.counts_cpus
    desk.rule[d.LAST_COUNTS] = parameters.rules.last_node_counts
    desk.rule[d.AS_TOLD] = parameters.rules.tasks_as_told
    desk.rule[d.AS_COUNTED] = parameters.rules.gpus_as_counted
    desk.rule[d.PACK_SERIAL] = parameters.pack_serial_at_end
    desk.rule[d.SHORTCUTS] = shortcuts
    desk.rule[d.MOST_CPUS] = machine.most_cpus
    desk.rule[d.LEAVES] = len(machine.leaves)
    words = words_of(len(machine.nodes))
    reach = 0
    for at, leaf in enumerate(machine.leaves):
        desk.leaf[at] = packed(leaf, words)
        reach |= leaf
    for at, node in enumerate(machine.nodes):
        desk.node[at] = (
            node.memory, node.threads, node.cores, node.sockets, node.gpus, bool(node.near),
            node.cores * node.threads, reach >> at & 1, node.picks_gpus,
        )  # fmt: skip
        for socket, near in enumerate(node.near):
            desk.near[at, socket] = near
    desk.full[: len(machine.nodes)] = full_state(machine)
    return desk


def full_state(machine: Machine) -> Ints:
    """The state of an empty machine, a row per node.

    Examples
    --------
    >>> from shadowtime.slurm.machine import Hardware, Machine
    >>> full_state(Machine(nodes=(Hardware(name="a", cpus=8, gpus=2, sockets=2),), sections={}))
    array([[8, 0, 3, 1, 4, 4]])
    """
    columns = d.FIRST_SOCKET + machine.sockets + len(machine.pools)
    made = np.zeros((len(machine.nodes), columns), np.int64)
    for at, node in enumerate(machine.nodes):
        made[at, : d.FIRST_SOCKET] = node.cores * node.threads, 0, (1 << node.gpus) - 1, 1
        if machine.has_gpus:
            for socket, mask in enumerate(node.socket_masks):
                made[at, d.FIRST_SOCKET + socket] = mask.bit_count()
        if machine.pools:
            made[at, -len(machine.pools) :] = node.pools
    return made


def longer(table: AnyArray) -> AnyArray:
    """The same with as many rows again."""
    return np.concatenate([table, np.zeros_like(table)])
