"""Nodes of several kinds for a private Slurm: their lines of slurm.conf and gres.conf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class NodeKind:
    """A number of equal nodes; ``memory`` in MB, generic resources by name.

    A resource called ``gpu`` gets a file for each device, as Slurm demands; all others are only
    counted.
    """

    count: int
    cpus: int
    memory: int
    gres: tuple[tuple[str, int], ...] = ()
    features: tuple[str, ...] = ()
    weight: int = 1


def ranges(kinds: Sequence[NodeKind]) -> Iterator[tuple[NodeKind, int, int]]:
    """Each kind with the numbers of its first and last node.

    Examples
    --------
    >>> two = NodeKind(count=2, cpus=4, memory=100), NodeKind(count=1, cpus=8, memory=200)
    >>> [(first, last) for _, first, last in ranges(two)]
    [(1, 2), (3, 3)]
    """
    first = 1
    for kind in kinds:
        yield kind, first, first + kind.count - 1
        first += kind.count


def node_lines(kinds: Sequence[NodeKind], port: int) -> list[str]:
    """The lines of slurm.conf; ``port`` is that of the first node's daemon.

    Examples
    --------
    >>> print(*node_lines([NodeKind(count=2, cpus=4, memory=100, gres=(("gpu", 1),))], 7000))
    NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[7000-7001] Sockets=1 \
CoresPerSocket=4 ThreadsPerCore=1 RealMemory=100 Weight=1 Gres=gpu:1 State=UNKNOWN
    """
    lines = []
    for kind, first, last in ranges(kinds):
        ports = f"[{port + first - 1}-{port + last - 1}]"
        words = [
            f"NodeName=n[{first}-{last}] NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports}",
            f"Sockets=1 CoresPerSocket={kind.cpus} ThreadsPerCore=1 RealMemory={kind.memory}",
            f"Weight={kind.weight}",
        ]
        if kind.features:
            words.append(f"Feature={','.join(kind.features)}")
        if kind.gres:
            words.append("Gres=" + ",".join(f"{name}:{count}" for name, count in kind.gres))
        lines.append(" ".join([*words, "State=UNKNOWN"]))
    return lines


def gres_types(kinds: Sequence[NodeKind]) -> list[str]:
    """The line of slurm.conf that names the generic resources."""
    names = dict.fromkeys(name for kind in kinds for name, _ in kind.gres)
    return [f"GresTypes={','.join(names)}"] if names else []


def gres_conf(kinds: Sequence[NodeKind], devices: Path) -> str:
    """The text of gres.conf; files in ``devices`` stand for GPUs and are made here."""
    lines = []
    for kind, first, last in ranges(kinds):
        for name, count in kind.gres:
            line = f"NodeName=n[{first}-{last}] Name={name} Count={count}"
            if name != "gpu":
                lines.append(f"{line} Flags=CountOnly")
                continue
            devices.mkdir(exist_ok=True)
            for k in range(count):
                (devices / f"gpu{k}").touch()
            lines.append(f"{line} File={devices}/gpu[0-{count - 1}]")
    return "".join(f"{line}\n" for line in lines)
