"""The place column of a run on a site: named nodes with their cpus, spelt out when looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.schedule.node_places import Places
from shadowtime.slurmtext.hostlist import expand, ranges

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints

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
