"""What is in use on the nodes: cores, memory and GPUs, changed as jobs come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.slurm.machine import bits
from shadowtime.slurm.whole import runs_of

if TYPE_CHECKING:
    from shadowtime.slurm.machine import Machine


class Share(NamedTuple):
    """What a job holds on one node: cores and GPUs as masks, memory in MB."""

    node: int
    cores: int
    memory: int = 0
    gpus: int = 0


class WholeNodes(Sequence[Share]):
    """All cores of some nodes and nothing else; the shares are created when they are read.

    Examples
    --------
    >>> held = WholeNodes(0b101, [0b11, 0b11, 0b1111])
    >>> list(held) == [Share(0, 0b11), Share(2, 0b1111)], len(held)
    (True, 2)
    """

    __slots__ = ("cores", "nodes")

    def __init__(self, nodes: int, cores: Sequence[int]) -> None:
        self.nodes, self.cores = nodes, cores

    def __iter__(self) -> Iterator[Share]:
        return (Share(at, self.cores[at]) for at in bits(self.nodes))

    def __len__(self) -> int:
        return self.nodes.bit_count()

    def __getitem__(self, at: Any) -> Any:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


Holding = Sequence[Share]
"""What a job holds, one share per node in node order."""
Floor = tuple[int, int | None, int]
"""Cpus, MB and GPUs that a node must have free."""


class Usage:
    """Free cores and GPUs per node as masks, memory in use, and which nodes are idle.

    Jobs never share a core, so a release is exact. ``total`` is the number of free cpus.
    """

    __slots__ = ("classes", "cores", "cpus", "gpus", "idle", "machine", "memory", "total")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cores = machine.full_cores[:]
        self.cpus = machine.full_cpus[:]
        self.memory = [0] * len(machine.nodes)
        self.gpus = [(1 << node.gpus) - 1 for node in machine.nodes]
        self.idle = machine.everything
        self.total = sum(self.cpus)
        self.classes: dict[Floor, tuple[int, int]] = {}
        """Nodes that have at least that free, and those to be checked again."""

    def copy(self) -> Usage:
        """A copy that can be changed independently."""
        other = Usage.__new__(Usage)
        other.machine = self.machine
        other.cores = self.cores[:]
        other.cpus = self.cpus[:]
        other.memory = self.memory[:]
        other.gpus = self.gpus[:]
        other.idle = self.idle
        other.total = self.total
        other.classes = self.classes.copy()
        return other

    def able(self, floor: Floor) -> int:
        """The nodes that have at least these cpus, memory and GPUs free.

        Memory 0 requests nodes with none in use. Only nodes that changed since the last query are
        checked.
        """
        found, stale = self.classes.get(floor, (0, self.machine.everything))
        if stale:
            cpus, memory, gpus = floor
            found &= ~stale
            for at in bits(stale):
                if self.cpus[at] < cpus:
                    continue
                if memory is not None:
                    used = self.memory[at]
                    if used if not memory else self.machine.nodes[at].memory - used < memory:
                        continue
                if gpus and self.gpus[at].bit_count() < gpus:
                    continue
                found |= 1 << at
            self.classes[floor] = (found, 0)
        return found

    def _changed(self, nodes: int) -> None:
        for floor, (found, stale) in list(self.classes.items()):
            self.classes[floor] = (found, stale | nodes)

    def take(self, holding: Holding) -> None:
        """Allocate this to a job."""
        if isinstance(holding, WholeNodes):
            self._take_whole(holding.nodes)
            return
        nodes = 0
        for share in holding:
            at = share.node
            nodes |= 1 << at
            self.total -= self.cpus[at]
            self.cores[at] &= ~share.cores
            self.cpus[at] = self.cores[at].bit_count() * self.machine.nodes[at].threads
            self.total += self.cpus[at]
            self.memory[at] += share.memory
            self.gpus[at] &= ~share.gpus
        self.idle &= ~nodes
        self._changed(nodes)

    def give(self, holding: Holding) -> None:
        """Release what a job held."""
        if isinstance(holding, WholeNodes):
            self._give_whole(holding.nodes)
            return
        nodes = 0
        for share in holding:
            at = share.node
            nodes |= 1 << at
            self.total -= self.cpus[at]
            self.cores[at] |= share.cores
            node = self.machine.nodes[at]
            self.cpus[at] = self.cores[at].bit_count() * node.threads
            self.total += self.cpus[at]
            self.memory[at] -= share.memory
            self.gpus[at] |= share.gpus
            if self.cpus[at] == node.cores * node.threads:
                self.idle |= 1 << at
        self._changed(nodes)

    def _take_whole(self, nodes: int) -> None:
        for at, length in runs_of(nodes):
            end = at + length
            self.total -= sum(self.cpus[at:end])
            self.cores[at:end] = self.cpus[at:end] = [0] * length
        self.idle &= ~nodes
        self._changed(nodes)

    def _give_whole(self, nodes: int) -> None:
        for at, length in runs_of(nodes):
            end = at + length
            self.cores[at:end] = self.machine.full_cores[at:end]
            self.cpus[at:end] = self.machine.full_cpus[at:end]
            self.total += sum(self.cpus[at:end])
        self.idle |= nodes
        self._changed(nodes)


def lowest(mask: int, count: int) -> int:
    """The lowest bits of a mask, this many.

    Examples
    --------
    >>> bin(lowest(0b11011, 3))
    '0b1011'
    """
    taken = 0
    while count > 0 and mask:
        low = mask & -mask
        taken |= low
        mask ^= low
        count -= 1
    return taken
