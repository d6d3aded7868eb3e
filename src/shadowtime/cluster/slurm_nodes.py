"""Nodes as Slurm describes them, from scontrol or slurm.conf, before they become a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.conf import with_defaults
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.scontrol import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_BROKEN = ("DOWN", "DRAIN", "FAIL", "NO_RESPOND", "NOT_RESPONDING")


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """One node: processors, memory in KB, and the rest as written."""

    name: str
    cpus: int
    memory: int
    gres: str
    state: str
    features: tuple[str, ...]
    partitions: tuple[str, ...]
    weight: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    where: str

    @property
    def broken(self) -> bool:
        """Down, drained or failing at the moment it was described."""
        return any(word in self.state for word in _BROKEN)


def scontrol_node(record: Mapping[str, str], where: str) -> NodeRecord:
    """A record of ``scontrol show node``: processors are CPUEfctv, else CPUTot."""
    cpus = number(record.get("cpuefctv") or record.get("cputot", ""), "CPUTot", where)
    return _node(record["nodename"], cpus, record, where)


def conf_nodes(lines: Iterable[tuple[str, dict[str, str]]]) -> Iterator[NodeRecord]:
    """The nodes of slurm.conf.

    Processors are CPUs, else Boards x Sockets x CoresPerSocket x ThreadsPerCore, less
    CoreSpecCount cores.
    """
    for where, pairs in with_defaults(iter(lines), "nodename"):
        cpus = _conf_cpus(pairs, where)
        for host in hosts_of(pairs["nodename"], where):
            yield _node(host, cpus, pairs, where)


def distinct(nodes: Iterable[NodeRecord]) -> list[NodeRecord]:
    """The nodes that exist (FUTURE ones do not), each described once and with a processor."""
    found: dict[str, NodeRecord] = {}
    for node in nodes:
        if "FUTURE" in node.state:
            continue
        if node.cpus < 1:
            raise ClusterError(f"{node.where}: node {node.name} has no processors (CPUTot)")
        if node.name in found:
            raise ClusterError(f"{node.where}: node {node.name} is described twice")
        found[node.name] = node
    if not found:
        raise ClusterError(
            "no node is described: give the output of `scontrol show node --oneliner`, "
            "or a slurm.conf with NodeName lines"
        )
    return list(found.values())


def _node(host: str, cpus: int, record: Mapping[str, str], where: str) -> NodeRecord:
    features = (
        record.get("availablefeatures") or record.get("features") or record.get("feature", "")
    )

    def count(key: str, what: str) -> int:
        return number(record.get(key, "1"), what, where)

    real = number(record.get("realmemory", "1"), "RealMemory", where)
    kept = number(record.get("memspeclimit", "0"), "MemSpecLimit", where)
    sockets = count("sockets", "Sockets")
    if "socketsperboard" in record:
        sockets = count("boards", "Boards") * count("socketsperboard", "SocketsPerBoard")
    return NodeRecord(
        name=host,
        cpus=cpus,
        memory=max(real - kept, 0) * 1024,  # Slurm counts MB, and a node without RealMemory has 1
        gres=record.get("gres", ""),
        state=record.get("state", "UNKNOWN").upper(),
        features=tuple(names_of(features)),
        partitions=tuple(names_of(record.get("partitions", ""))),
        weight=count("weight", "Weight"),
        sockets=sockets,
        cores_per_socket=count("corespersocket", "CoresPerSocket"),
        threads_per_core=count("threadspercore", "ThreadsPerCore"),
        where=where,
    )


def _conf_cpus(pairs: Mapping[str, str], where: str) -> int:
    def get(key: str, otherwise: str) -> int:
        return number(pairs.get(key, otherwise), key, where)

    threads = get("threadspercore", "1")
    sockets = get("sockets", "1")
    if "socketsperboard" in pairs:
        sockets = get("boards", "1") * get("socketsperboard", "1")
    shape = sockets * get("corespersocket", "1") * threads
    cpus = get("cpus", "0") or get("procs", "0") or shape
    return cpus - get("corespeccount", "0") * threads


def number(text: str, what: str, where: str) -> int:
    """A whole number; 0 where Slurm writes that there is none."""
    word = text.strip()
    if word.lower() in ("", "(null)", "n/a"):
        return 0
    if not (word.isascii() and word.isdigit()) or len(word) > 12:
        raise ClusterError(f"{where}: {what} must be a whole number, not {text!r}")
    return int(word)


def hosts_of(text: str, where: str) -> list[str]:
    """The names of a host list; an error names its place."""
    try:
        return expand(text)
    except ClusterError as error:
        raise ClusterError(f"{where}: {error}") from None
