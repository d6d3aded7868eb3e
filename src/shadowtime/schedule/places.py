"""The place column: which hosts a job lay on and how many processors it had on each.

That of a run on nodes is kept as numbers, that of a run on a site as named nodes with their cpus;
both are spelt out where they are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from shadowtime.slurmtext.hostlist import expand, ranges
from shadowtime.types import AnyArray, Ints


def shares(place: str) -> tuple[tuple[str, int | None], ...]:
    """Hosts of a place and the processors on each, None where it does not say.

    A place lists hosts, separated by blanks (``;``, ``,`` and ``+`` will do), each with its
    processors behind a colon where the job lies on several. On a site the hosts of a word may be a
    host list in brackets, each with the processors behind the colon.

    Examples
    --------
    >>> shares("n1:4 n2:2"), shares("host3"), shares("")
    ((('n1', 4), ('n2', 2)), (('host3', None),), ())
    >>> shares("n[1-2]:4 n7:2")
    (('n1', 4), ('n2', 4), ('n7', 2))
    """
    if "[" in place:
        return tuple(parse_site_place(place))
    found: list[tuple[str, int | None]] = []
    for word in place.replace(";", " ").replace("+", " ").replace(",", " ").split():
        name, mark, count = word.rpartition(":")
        known = bool(mark) and count.isdecimal()
        found.append((name, int(count)) if known else (word, None))
    return tuple(found)


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


_NUMBERED = re.compile(r"^(.*?)(\d+)$")


@dataclass(frozen=True, eq=False, kw_only=True)
class SitePlaces(Places):
    """Nodes and cpus of every job, as texts like ``n[1-3]:4 gpu7:2``.

    ``entries`` holds row << 32 | tasks; ``node`` gives the site's node at each row.
    """

    names: tuple[str, ...]
    node: Ints
    first: Ints
    nodes: Ints
    entries: Ints
    shape: Ints
    per_task: Ints
    divisor: Ints
    floor: Ints
    whole: AnyArray
    cpus: Ints
    partition: Ints
    """The partition's number in the site, by shape."""

    def __len__(self) -> int:
        return len(self.first)

    def tasks_of(self, row: int) -> list[tuple[int, int]]:
        """(node of the site, tasks) of a job, in the order in which they were given."""
        first = int(self.first[row])
        found = self.entries[first : first + int(self.nodes[row])].tolist()
        return [(int(self.node[entry >> 32]), entry & 0xFFFFFFFF) for entry in found]

    def cpus_of(self, row: int) -> list[tuple[int, int]]:
        """(node of the site, cpus) of a job."""
        shape = int(self.shape[row])
        each, divisor = int(self.per_task[shape]), int(self.divisor[shape])
        floor, whole = int(self.floor[shape]), self.whole[shape]
        return [
            (node, int(self.cpus[node]) if whole else max(-(-tasks * each // divisor), floor))
            for node, tasks in self.tasks_of(row)
        ]

    def text_of(self, row: int) -> str:
        """A job's nodes and cpus as text."""
        return spelt([(self.names[node], cpus) for node, cpus in self.cpus_of(row)])


def spelt(nodes: list[tuple[str, int]]) -> str:
    """Nodes with cpus as groups of equal cpus.

    Examples
    --------
    >>> spelt([("n1", 4), ("n2", 4), ("n3", 4), ("gpu7", 2)])
    'n[1-3]:4 gpu7:2'
    """
    groups: dict[int, list[str]] = {}
    for name, cpus in nodes:
        groups.setdefault(cpus, []).append(name)
    return " ".join(f"{compressed(names)}:{cpus}" for cpus, names in groups.items())


def compressed(names: list[str]) -> str:
    """A hostlist of the names: runs of numbers with the same prefix and width in brackets.

    Examples
    --------
    >>> compressed(["n01", "n02", "n03", "n07", "login"])
    'n[01-03,07],login'
    """
    prefixes: dict[tuple[str, int], list[int]] = {}
    order: list[str | tuple[str, int]] = []
    for name in names:
        match = _NUMBERED.match(name)
        if match is None or len(match[2]) > 9:
            order.append(name)
            continue
        width = len(match[2]) if match[2].startswith("0") else 0
        key = (match[1], width)
        if key not in prefixes:
            order.append(key)
        prefixes.setdefault(key, []).append(int(match[2]))
    words = []
    for one in order:
        if isinstance(one, str):
            words.append(one)
            continue
        numbers = ranges(sorted(prefixes[one]), one[1])
        words.append(one[0] + (numbers if numbers.isdecimal() else f"[{numbers}]"))
    return ",".join(words)


def parse_site_place(text: str) -> list[tuple[str, int | None]]:
    """The nodes of a place, with cpus where it says.

    Examples
    --------
    >>> parse_site_place("n[1-2,5]:4 gpu7:2 x")
    [('n1', 4), ('n2', 4), ('n5', 4), ('gpu7', 2), ('x', None)]
    """
    found: list[tuple[str, int | None]] = []
    for word in text.split():
        names, mark, cpus = word.rpartition(":")
        if not mark or not cpus.isdecimal():
            found += [(name, None) for name in expand(word)]
        else:
            found += [(name, int(cpus)) for name in expand(names)]
    return found
