"""The place column of a run on nodes, kept as numbers and spelt out where it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from shadowtime.types import Ints

BITS = 32


class Places(Sequence[str]):
    """A place column whose texts are made when they are looked at, a job at a time."""

    def text_of(self, row: int) -> str:
        """The text of a row."""
        raise NotImplementedError

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            return tuple(self[i] for i in range(*row.indices(len(self))))
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.text_of(row)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodePlaces(Places):
    """Nodes and processors of every job, as texts like ``n1:4 n2:2``.

    ``entries`` holds node << 32 | processors, a job's entries side by side from ``first`` on
    until they add up to its processors. Spelling out a quarter million jobs takes longer than
    simulating them, so texts are made when asked for.

    Examples
    --------
    >>> import numpy as np
    >>> places = NodePlaces(names=("a", "b"), first=np.array([1, 0]), procs=np.array([3, 1]),
    ...                     entries=np.array([1 << 32 | 1, 0 << 32 | 2, 1 << 32 | 1]))
    >>> list(places), places.nodes_of(0)
    (['a:2 b:1', 'b:1'], [(0, 2), (1, 1)])
    """

    names: tuple[str, ...]
    first: Ints
    entries: Ints
    procs: Ints

    def __len__(self) -> int:
        return len(self.first)

    def nodes_of(self, row: int) -> list[tuple[int, int]]:
        """(node, processors) of a job, by node."""
        at, left = int(self.first[row]), int(self.procs[row])
        found: list[tuple[int, int]] = []
        while at >= 0 and left > 0:
            entry = int(self.entries[at])
            found.append((entry >> BITS, entry & ((1 << BITS) - 1)))
            left -= found[-1][1]
            at += 1
        return found

    def text_of(self, row: int) -> str:
        """A job's nodes and processors as text."""
        return " ".join(f"{self.names[node]}:{procs}" for node, procs in self.nodes_of(row))
