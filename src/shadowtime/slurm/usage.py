"""What is in use on the nodes: cores, memory and GPUs, changed as jobs come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.slurm.machine import Machine


@dataclass(frozen=True, slots=True)
class Share:
    """What a job holds on one node: cores and GPUs as masks, memory in MB."""

    node: int
    cores: int
    memory: int = 0
    gpus: int = 0


Holding = tuple[Share, ...]
"""What a job holds, one share per node in node order."""


class Usage:
    """Free cores and GPUs per node as masks, memory in use, and which nodes are idle.

    Jobs never share a core, so giving back is exact.
    """

    __slots__ = ("cores", "cpus", "gpus", "idle", "machine", "memory")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cores = [(1 << node.cores) - 1 for node in machine.nodes]
        self.cpus = [node.cores * node.threads for node in machine.nodes]
        self.memory = [0] * len(machine.nodes)
        self.gpus = [(1 << node.gpus) - 1 for node in machine.nodes]
        self.idle = machine.everything

    def copy(self) -> Usage:
        """A copy that can be changed apart."""
        other = Usage.__new__(Usage)
        other.machine = self.machine
        other.cores = self.cores[:]
        other.cpus = self.cpus[:]
        other.memory = self.memory[:]
        other.gpus = self.gpus[:]
        other.idle = self.idle
        return other

    def take(self, holding: Holding) -> None:
        """A job begins to hold this."""
        for share in holding:
            at = share.node
            self.cores[at] &= ~share.cores
            self.cpus[at] = self.cores[at].bit_count() * self.machine.nodes[at].threads
            self.memory[at] += share.memory
            self.gpus[at] &= ~share.gpus
            self.idle &= ~(1 << at)

    def give(self, holding: Holding) -> None:
        """A job gives this back."""
        for share in holding:
            at = share.node
            self.cores[at] |= share.cores
            node = self.machine.nodes[at]
            self.cpus[at] = self.cores[at].bit_count() * node.threads
            self.memory[at] -= share.memory
            self.gpus[at] |= share.gpus
            if self.cpus[at] == node.cores * node.threads:
                self.idle |= 1 << at


def lowest(mask: int, count: int) -> int:
    """The lowest so many bits of a mask.

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
