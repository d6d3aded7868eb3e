"""What a job asks for in the numbers that Slurm schedules by (spec: slurm 9)."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shadowtime.slurm.machine import UNBOUNDED, Hardware, Machine, Section

if TYPE_CHECKING:
    from shadowtime.workload.request import Request


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """Numbers of one request on one machine.

    Rules
    -----
    ``memory`` is MB per node, or per cpu where ``memory_per_cpu``; 0 asks for all of a node's,
    None where memory is not counted. ``wanted_nodes`` is what -N a-b aims at: b, but no more nodes
    than tasks. ``suits`` are the nodes that could ever serve the job by features, size and memory,
    without the excluded ones.
    """

    tasks: int
    cpus_per_task: int
    min_nodes: int
    max_nodes: int
    wanted_nodes: int
    min_cpus: int
    least_cpus: int
    """The fewest cpus per node."""
    tasks_per_node: int = 0
    memory: int | None = None
    memory_per_cpu: bool = False
    gpus: int = 0
    without_type: int = 0
    """Nodes without GPUs of the type that it asks for."""
    gpus_per: str = ""
    """node, job or task."""
    cpus_per_gpu: int = 0
    exclusive: bool = False
    by_partition: bool = False
    """Exclusive because its partition is, not by its own options."""
    least_loaded: bool = False
    """Nodes with the largest share of free cpus come first."""
    own_user: bool = False
    """No jobs of other users run on its nodes."""
    pools: tuple[int, ...] = ()
    """What it takes of each pool on each of its nodes; empty: nothing."""
    cpu_pool: int = -1
    """The pool that its cpus are taken from (MaxCPUsPerNode)."""
    contiguous: bool = False
    spread: bool = False
    required: int = 0
    suits: int = 0
    either: tuple[int, ...] = ()
    """Nodes by alternative, if all nodes of a job must satisfy the same one (``[a|b]``)."""
    parts: tuple[tuple[int, int], ...] = ()
    """Conditions with counts: the nodes of each, and how many of them it wants.

    0: none at a start, but one in a plan.
    """
    excluded: int = 0
    one_node: bool = False
    """True where the user gave -N 1."""
    fixed_nodes: int = 0
    """The upper bound of -N where given."""
    bounded_nodes: int = 0
    """The same, or that of the partition; 0: none."""
    unbounded_tasks: bool = False
    """--ntasks-per-node bounds no node's offer: a test as if on nodes of the job's own."""
    floor: tuple[int, int | None, int] = field(init=False, compare=False, repr=False)
    """What a node must have free to be of any use: cpus, MB (0: all of it), GPUs."""
    _elsewhere: dict[str, Ask] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        fewest = self.tasks_per_node or (self.tasks if self.one_node else 1)
        memory = self.memory
        if memory is not None and self.memory_per_cpu:
            memory *= max(self.tasks_per_node, self.least_cpus, self.cpus_per_task, 1)
        cpus = max(1, self.least_cpus, fewest * self.cpus_per_task)
        object.__setattr__(self, "floor", (cpus, memory, self.node_gpus))

    def on(self, section: Section) -> Ask:
        """The same in a partition, whose rules may add to it: always the same object."""
        whole = section.exclusive and not self.exclusive
        more = section.least_loaded or section.pool >= 0 or section.own_user > self.own_user
        if not (whole or more or self._elsewhere):
            return self
        found = self._elsewhere.get(section.name)
        if found is None:
            found = self._elsewhere[section.name] = replace(
                self,
                exclusive=self.exclusive or whole,
                by_partition=self.by_partition or whole,
                least_loaded=self.least_loaded or section.least_loaded,
                own_user=self.own_user or section.own_user,
                cpu_pool=section.pool,
            )
        return found

    def between(self, least: int, most: int) -> Ask:
        """The same on no fewer and no more nodes than a partition allows (spec: slurm 9.5)."""
        if least <= self.min_nodes and most >= self.max_nodes:
            return self
        low = max(self.min_nodes, least)
        high = min(max(self.max_nodes, low), most)
        wanted = min(max(self.wanted_nodes, low), high)
        bound = min(self.bounded_nodes or most, most) if most < UNBOUNDED else self.bounded_nodes
        return replace(
            self, min_nodes=low, max_nodes=high, wanted_nodes=wanted, bounded_nodes=bound
        )

    def instead(self, section: Section, other: Ask) -> None:
        """In this partition it asks for what ``other`` does."""
        self._elsewhere[section.name] = other.on(section)

    @property
    def elsewhere(self) -> tuple[tuple[str, Ask], ...]:
        """What it asks for instead, by partition; not part of a comparison."""
        return tuple(self._elsewhere.items())

    def pools_held(self, node: Hardware, cores: int) -> tuple[int, ...]:
        """What it takes of each pool of a node with these cores.

        Where the node is its own these are all resources, and of bounds that of its partition.
        """
        held = self.pools
        if self.exclusive:
            held = (*node.pools[: len(node.pools) - node.bounds], *(0,) * node.bounds)
        if self.cpu_pool < 0:
            return held
        made = list(held or (0,) * len(node.pools))
        made[self.cpu_pool] = cores.bit_count() * node.threads
        return tuple(made)

    def part(self, count: int, *, starts: bool) -> Ask:
        """The request for the nodes of one of its ``parts``, by a start or a test for later.

        A start asks each part for a cpu a node alone.
        """
        count = max(count, 1)
        per_node = self.tasks_per_node if starts else 0
        return replace(
            self,
            min_nodes=count,
            wanted_nodes=count,
            min_cpus=count if starts else self.min_cpus,
            tasks=per_node * count or self.tasks,
            parts=(),
        )

    @property
    def known_tasks(self) -> int:
        """How many tasks it has, 0 where no -n tells: a range of nodes may then go beyond."""
        return 0 if self.max_nodes > max(self.tasks, self.min_nodes) else self.tasks

    @property
    def job_gpus(self) -> int:
        """GPUs asked for the whole job (--gpus, --gpus-per-task), else 0."""
        if self.gpus_per == "job":
            return self.gpus
        return self.gpus * self.tasks if self.gpus_per == "task" else 0

    @property
    def single_node(self) -> bool:
        """At most one node, which need not be the least loaded (spec: slurm 4.9)."""
        return self.max_nodes == 1 and not self.least_loaded

    @property
    def tasks_here(self) -> tuple[int, int | None]:
        """Fewest and most tasks on one node; None: no bound."""
        if self.tasks_per_node:
            return self.tasks_per_node, self.tasks_per_node
        if self.one_node:
            return self.tasks, self.tasks
        if self.tasks == 1 or (self.tasks == self.min_nodes == self.fixed_nodes):
            return 1, 1
        return 1, None

    @property
    def node_gpus(self) -> int:
        """GPUs that a node must have free."""
        if not self.gpus:
            return 0
        return 1 if self.gpus_per == "job" else self.gpus


def ask_of(
    request: Request,
    machine: Machine,
    *,
    default_memory: int | None = None,
    default_memory_per_cpu: bool = True,
) -> Ask:
    """The numbers of a request (memory in KB there, in MB here).

    Examples
    --------
    >>> from shadowtime.slurm.machine import Hardware, Machine
    >>> from shadowtime.workload.request import Request
    >>> machine = Machine(nodes=(Hardware(name="n", cpus=8),) * 4, sections={})
    >>> ask = ask_of(Request(nodes=1, max_nodes=3, tasks=8), machine)
    >>> ask.min_nodes, ask.wanted_nodes, ask.max_nodes, ask.min_cpus
    (1, 3, 3, 8)
    >>> ask_of(Request(nodes=1, max_nodes=3, tasks=2), machine).wanted_nodes
    2
    """
    required = machine.mask(request.wanted)
    excluded = machine.mask(request.excluded)
    min_nodes = max(request.nodes, required.bit_count(), 1)
    per_node = request.tasks_per_node or 0
    tasks = request.tasks
    if per_node and tasks:
        min_nodes = max(min_nodes, -(-tasks // per_node))
    given = request.max_nodes or 0
    if request.aim == "spread" and not given:
        given = min(len(machine.nodes), tasks)
    if given:
        given = max(given, min_nodes)
    least = max(1, request.cpus_per_task, request.least_cpus or 0)
    if per_node > 1:
        least = max(least, per_node * request.cpus_per_task)
    top = given or UNBOUNDED
    if not given or per_node or tasks > min_nodes:  # else no -n bounds the range (spec: slurm 9.2)
        top = max(min(top, tasks), min_nodes)
    gpus = next((one for one in request.gres if one.name.split(":")[0] == "gpu"), None)
    memory: int | None = None
    per_cpu = False
    if machine.memory_counts:
        if request.memory is not None:
            memory, per_cpu = request.memory // 1024, request.memory_per == "cpu"
        elif default_memory is not None:
            memory, per_cpu = default_memory // 1024, default_memory_per_cpu
        else:
            memory = 0
    either = machine.with_features(request.features)
    suits = functools.reduce(operator.or_, either) & ~excluded
    suits &= machine.with_at_least(least, 0 if memory is None or per_cpu else memory)
    pools = machine.pooled({one.name: one.count for one in request.gres if one.per == "node"})
    return Ask(
        tasks=tasks,
        cpus_per_task=request.cpus_per_task,
        min_nodes=min_nodes,
        max_nodes=top,
        wanted_nodes=min(given, top) if given and request.aim != "least" else min_nodes,
        min_cpus=max(request.cpus, min_nodes),
        least_cpus=least,
        tasks_per_node=per_node,
        memory=memory,
        memory_per_cpu=per_cpu,
        gpus=gpus.count if gpus else 0,
        without_type=machine.without_gpu_type(gpus.name) if gpus else 0,
        gpus_per=gpus.per if gpus else "",
        cpus_per_gpu=request.cpus_per_gpu or 0,
        exclusive=request.exclusive,
        least_loaded=machine.least_loaded,
        own_user=request.exclusive_user,
        pools=pools,
        contiguous=request.contiguous,
        spread=request.aim == "spread",
        required=required,
        suits=suits,
        either=either if len(either) > 1 else (),
        parts=machine.in_parts(request.features),
        excluded=excluded,
        one_node=given == 1,
        fixed_nodes=given,
        bounded_nodes=given,
    )
