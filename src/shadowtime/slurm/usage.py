"""What is in use on the nodes: cores, memory and GPUs, changed as jobs come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.kernel.slurm import desk as d
from shadowtime.slurm.desk import full_state
from shadowtime.slurm.machine import Machine, bits
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.choose import Choice


class Share(NamedTuple):
    """What a job holds on one node: cores and GPUs as masks, memory in MB."""

    node: int
    cores: int
    memory: int = 0
    gpus: int = 0
    pools: tuple[int, ...] = ()
    """What it holds of each pool; empty: nothing."""


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

    Jobs never share a core, so a release is exact. ``total`` is the number of free cpus. ``table``
    is the same for compiled code, with the free cores of each socket where nodes have GPUs.
    """

    __slots__ = ("changes", "chosen", "cores", "gpus", "idle", "machine", "table", "total")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cores = machine.full_cores[:]
        self.gpus = [(1 << node.gpus) - 1 for node in machine.nodes]
        self.idle = machine.everything
        self.table = full_state(machine)
        self.total = sum(machine.full_cpus)
        self.chosen: dict[tuple[int, int], Choice | None] = {}
        """Choices made since the last change, by request and nodes (slurm/choose.py)."""
        self.changes = 0

    @property
    def cpus(self) -> Ints:
        """Free cpus of each node."""
        return self.table[:, d.FREE]

    @property
    def memory(self) -> Ints:
        """MB in use on each node."""
        return self.table[:, d.USED]

    def copy(self) -> Usage:
        """A copy that can be changed independently."""
        other = Usage.__new__(Usage)
        other.machine = self.machine
        other.cores = self.cores[:]
        other.gpus = self.gpus[:]
        other.idle = self.idle
        other.table = self.table.copy()
        other.total = self.total
        other.chosen, other.changes = self.chosen, self.changes
        return other

    def take(self, holding: Holding) -> None:
        """Allocate this to a job."""
        self.chosen = {}
        self.changes += 1
        if isinstance(holding, WholeNodes):
            self._set_whole(holding.nodes, free=False)
            return
        nodes = 0
        for share in holding:
            at = share.node
            nodes |= 1 << at
            self.cores[at] &= ~share.cores
            self.gpus[at] &= ~share.gpus
            self._write(at, share.memory)
            if share.pools:
                self.table[at, -len(share.pools) :] -= share.pools
            self.table[at, d.IDLE] = 0
        self.idle &= ~nodes

    def give(self, holding: Holding) -> None:
        """Release what a job held."""
        self.chosen = {}
        self.changes += 1
        if isinstance(holding, WholeNodes):
            self._set_whole(holding.nodes, free=True)
            return
        for share in holding:
            at = share.node
            self.cores[at] |= share.cores
            self.gpus[at] |= share.gpus
            if self._write(at, -share.memory):
                self.idle |= 1 << at
            if share.pools:
                self.table[at, -len(share.pools) :] += share.pools

    def _write(self, at: int, memory: int) -> bool:
        """A node's row after a change; ``memory`` more is in use. True where no core is in use."""
        node, row = self.machine.nodes[at], self.table[at]
        cores = self.cores[at]
        cpus = cores.bit_count() * node.threads
        self.total += cpus - int(row[d.FREE])
        whole = cpus == self.machine.full_cpus[at]
        row[d.FREE] = cpus
        row[d.USED] += memory
        row[d.FREE_GPUS] = self.gpus[at]
        row[d.IDLE] = whole
        if self.machine.has_gpus:
            for socket, mask in enumerate(node.socket_masks):
                row[d.FIRST_SOCKET + socket] = (cores & mask).bit_count()
        return whole

    def _set_whole(self, nodes: int, *, free: bool) -> None:
        full = self.machine.full_cores
        for at, length in runs_of(nodes):
            end = at + length
            part = self.table[at:end]
            self.total -= int(part[:, d.FREE].sum())
            if free:
                self.cores[at:end] = full[at:end]
                part[:, d.FREE] = self.machine.full_cpus[at:end]
                self.total += int(part[:, d.FREE].sum())
            else:
                self.cores[at:end] = [0] * length
                part[:, d.FREE] = 0
            part[:, d.IDLE] = free
        self.idle = self.idle | nodes if free else self.idle & ~nodes


def runs_of(mask: int) -> list[tuple[int, int]]:
    """Places and lengths of the runs of neighbouring bits, lowest first.

    Examples
    --------
    >>> runs_of(0b1101110)
    [(1, 3), (5, 2)]
    """
    found = []
    at = 0
    while mask:
        skip = (mask & -mask).bit_length() - 1
        mask >>= skip
        at += skip
        length = (~mask & (mask + 1)).bit_length() - 1
        found.append((at, length))
        mask >>= length
        at += length
    return found


def lowest(mask: int, count: int) -> int:
    """The lowest bits of a mask, this many.

    Examples
    --------
    >>> bin(lowest(0b11011, 3))
    '0b1011'
    """
    over = mask.bit_count() - count
    if over < count:
        for _ in range(over):
            mask ^= 1 << mask.bit_length() - 1
        return mask
    taken = mask
    for _ in range(count):
        mask &= mask - 1
    return taken ^ mask
