"""The machine as Slurm's scheduler sees it: nodes as bits, partitions as sets of bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.features import Condition, choices, counted, satisfies
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.rules import Rules

UNBOUNDED = 500_000
"""Slurm's own stand-in for "any number of nodes"."""


def bits(mask: int) -> Iterator[int]:
    """The places of a mask's bits, lowest first.

    Examples
    --------
    >>> list(bits(0b10110))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One node. ``near`` holds, per socket, the GPUs bound to it as a mask; empty: unbound."""

    name: str
    cpus: int
    sockets: int = 1
    threads: int = 1
    memory: int = 0
    """MB."""
    gpus: int = 0
    gpu_types: frozenset[str] = frozenset()
    """Names like gpu:a100."""
    near: tuple[int, ...] = ()
    weight: int = 1
    features: frozenset[str] = frozenset()
    pools: tuple[int, ...] = ()
    """What it has of each of the machine's pools: its resources, then the bounds of partitions."""
    bounds: int = 0
    """How many of these are bounds of partitions (MaxCPUsPerNode)."""

    @property
    def cores(self) -> int:
        """Cores: what is allocated whole."""
        return self.cpus // self.threads

    @property
    def picks_gpus(self) -> bool:
        """True where a start picks certain GPUs; where they are all alike, it counts them."""
        return bool(self.near or self.gpu_types)

    @cached_property
    def socket_masks(self) -> list[int]:
        """The cores of each socket as masks."""
        each = self.cores // self.sockets
        return [((1 << each) - 1) << (each * at) for at in range(self.sockets)]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A partition: its nodes as a mask, and its rules. Times are seconds."""

    name: str
    nodes: int
    max_time: int | None = None
    default_time: int | None = None
    min_nodes: int = 0
    max_nodes: int = UNBOUNDED
    tier: int = 1
    factor: int = 1
    exclusive: bool = False
    least_loaded: bool = False
    """LLN=YES."""
    own_user: bool = False
    """Its nodes run jobs of one user at a time (ExclusiveUser=YES)."""
    pool: int = -1
    """The pool of cpus that its jobs may hold on a node (MaxCPUsPerNode), -1: any number."""
    up: bool = True
    preempt: str = ""
    """How its jobs are preempted: requeue, cancel, suspend or off; empty: as the cluster."""
    qos: str = ""
    billing: Mapping[str, float] = field(default_factory=dict)
    default: bool = False


@dataclass(frozen=True, kw_only=True)
class Machine:
    """All nodes in Slurm's order, partitions in Slurm's order, and the leaf switches."""

    nodes: tuple[Hardware, ...]
    sections: Mapping[str, Section]
    leaves: tuple[int, ...] = ()
    """Nodes per leaf switch in the order of topology.conf; empty: no topology."""
    memory_counts: bool = False
    """True where memory is consumable (CR_*_Memory)."""
    counts_cpus: bool = False
    """True where a job is counted with its cpus (CR_CPU*), though no two share a core; else with
    whole cores."""
    least_loaded: bool = False
    """True where the nodes with the largest share of free cpus come first (CR_LLN)."""
    weights_stay: bool = False
    """True where starts under a limit on nodes leave weights behind (spec: slurm 6.2)."""
    pools: tuple[str, ...] = ()
    """What nodes have a number of besides cpus, memory and GPUs: generic resources by name, and
    the cpus that jobs of a partition with MaxCPUsPerNode may hold together."""

    def counted(self, node: Hardware, cpus: int) -> int:
        """Cpus that a job is counted and charged with for its cpus on a node.

        Examples
        --------
        >>> two = Hardware(name="a", cpus=8, threads=2)
        >>> whole, single = (Machine(nodes=(two,), sections={}, counts_cpus=one) for one in (0, 1))
        >>> whole.counted(two, 3), single.counted(two, 3)
        (4, 3)
        """
        return cpus if self.counts_cpus else -(-cpus // node.threads) * node.threads

    @cached_property
    def everything(self) -> int:
        """All nodes."""
        return (1 << len(self.nodes)) - 1

    @cached_property
    def most_cpus(self) -> int:
        """Cpus of the largest node."""
        return max((node.cpus for node in self.nodes), default=0)

    @cached_property
    def full_cores(self) -> list[int]:
        """All cores of each node as masks."""
        return [(1 << node.cores) - 1 for node in self.nodes]

    @cached_property
    def full_cpus(self) -> list[int]:
        """Cpus of each node."""
        return [node.cores * node.threads for node in self.nodes]

    @cached_property
    def memories(self) -> Ints:
        """MB of each node."""
        return np.array([node.memory for node in self.nodes], np.int64)

    @cached_property
    def cpu_counts(self) -> Ints:
        """Cpus of each node."""
        return np.array(self.full_cpus, np.int64)

    @cached_property
    def sockets(self) -> int:
        """The most sockets of a node, where they count: with GPUs."""
        return max((node.sockets for node in self.nodes), default=1) if self.has_gpus else 1

    @cached_property
    def has_gpus(self) -> bool:
        """True where scheduling weights can move: they do with the GPUs of a test.

        spec: slurm 11.3.
        """
        return any(node.gpus for node in self.nodes)

    @cached_property
    def one_thread(self) -> bool:
        """True where every core has one thread."""
        return all(node.threads == 1 for node in self.nodes)

    @cached_property
    def threads_alike(self) -> bool:
        """True where the cores of all nodes have as many threads."""
        return len({node.threads for node in self.nodes}) <= 1

    def steady_weights(self, rules: Rules) -> bool:
        """True where no test of a job leaves scheduling weights behind (spec: slurm 11.4)."""
        return not (self.weights_stay or (self.has_gpus and not rules.fresh_weights))

    @cached_property
    def alike(self) -> bool:
        """True where whole nodes are interchangeable but for their places."""
        kinds = {(one.cpus, one.threads, one.memory, one.weight) for one in self.nodes}
        special = self.has_gpus or self.leaves or self.weights_stay
        return len(kinds) == 1 and not special

    def mask(self, names: Iterable[str]) -> int:
        """The nodes of these names; unknown names are ignored."""
        place = self._places
        found = 0
        for name in names:
            if name in place:
                found |= 1 << place[name]
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {node.name: at for at, node in enumerate(self.nodes)}

    def names(self, mask: int) -> list[str]:
        """The names of these nodes."""
        return [self.nodes[at].name for at in bits(mask)]

    def first_section(self, partitions: Iterable[str]) -> Section | None:
        """The one of these partitions that is tried first."""
        known = [self.sections[name] for name in partitions if name in self.sections]
        return max(known, key=lambda one: one.tier, default=None)

    def with_features(self, expression: str) -> tuple[int, ...]:
        """Nodes for each way to satisfy an expression: all nodes of a job are of one of them.

        Square brackets make several: ``[a|b]`` wants nodes that all have a, or all have b. With
        counts (``[a*2&b*4]``) any node may be one of them (:meth:`in_parts`).

        Examples
        --------
        >>> two = (Hardware(name="x", cpus=1, features=frozenset("a")),
        ...        Hardware(name="y", cpus=1, features=frozenset("ab")))
        >>> machine = Machine(nodes=two, sections={})
        >>> [[bin(mask) for mask in machine.with_features(text)]
        ...  for text in ("a", "a&b", "a|b", "", "[a|b]", "a*2&b*1")]
        [['0b11'], ['0b10'], ['0b11'], ['0b11'], ['0b11', '0b10'], ['0b11']]
        """
        known = self._by_features.get(expression)
        if known is not None:
            return known
        made = self._by_features[expression] = tuple(
            self.everything if one.counts else self._with(one.each) for one in choices(expression)
        )
        return made

    def in_parts(self, expression: str) -> tuple[tuple[int, int], ...]:
        """The conditions of an expression with counts: the nodes of each, and how many it wants.

        Examples
        --------
        >>> two = (Hardware(name="x", cpus=1, features=frozenset("a")),
        ...        Hardware(name="y", cpus=1, features=frozenset("ab")))
        >>> machine = Machine(nodes=two, sections={})
        >>> machine.in_parts("[a*2&b*1]"), machine.in_parts("a&b"), machine.in_parts("a&[b*1]")
        (((3, 2), (2, 1)), (), ((3, 0), (2, 1)))
        """
        return tuple((self._with(wish), count) for wish, count in counted(expression))

    def _with(self, wish: Condition) -> int:
        """The nodes that satisfy a condition."""
        return sum(1 << at for at, node in enumerate(self.nodes) if satisfies(wish, node.features))

    @cached_property
    def _by_features(self) -> dict[str, tuple[int, ...]]:
        """Answers of :meth:`with_features`."""
        return {}

    def pooled(self, asked: Mapping[str, int]) -> tuple[int, ...]:
        """What is taken of each pool; empty where that is nothing.

        Examples
        --------
        >>> machine = Machine(nodes=(), sections={}, pools=("fpga", "fpga:x", "nic"))
        >>> machine.pooled({"fpga:x": 2}), machine.pooled({"gpu": 2})
        ((2, 2, 0), ())
        """
        found = tuple(
            sum(n for name, n in asked.items() if one in (name, name.partition(":")[0]))
            for one in self.pools
        )
        return found if any(found) else ()

    def without_gpu_type(self, name: str) -> int:
        """Nodes that have no GPUs of this name; none for ``gpu``, which names no type."""
        if ":" not in name:
            return 0
        return sum(1 << at for at, node in enumerate(self.nodes) if name not in node.gpu_types)

    def with_at_least(self, cpus: int, memory: int) -> int:
        """Nodes of at least these cpus and this many MB."""
        known = self._by_size.get((cpus, memory))
        if known is None:
            nodes = enumerate(self.nodes)
            fit = (1 << at for at, one in nodes if one.cpus >= cpus and one.memory >= memory)
            known = self._by_size[cpus, memory] = sum(fit)
        return known

    @cached_property
    def _by_size(self) -> dict[tuple[int, int], int]:
        """Answers of :meth:`with_at_least`."""
        return {}
