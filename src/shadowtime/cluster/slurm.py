"""A Slurm cluster as a machine: from ``scontrol show node --oneliner`` or from slurm.conf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.cluster.slurm_records import (
    NodeRecord,
    conf_nodes,
    distinct,
    hosts_of,
    number,
    scontrol_node,
)
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.conf import conf_lines, with_defaults
from shadowtime.slurmtext.scontrol import names_of, records
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import parse_gres

Unusable = Literal["keep", "drop"]
_SETTINGS = ("scheduler", "priority", "preempt", "select", "clustername")


def parse_scontrol(
    nodes: str, partitions: str = "", *, name: str = "", unusable: Unusable = "keep"
) -> Cluster:
    """The machine in the output of ``scontrol show node`` and ``scontrol show partition``.

    Rules
    -----
    Processors are CPUEfctv (CPUTot less those set aside for the system), memory is RealMemory
    less MemSpecLimit, GPUs are those of Gres; GPUs are a resource where a node has any. Nodes
    that are down, drained or failing now are kept, as a log is longer than a repair, and named in
    ``options["unusable"]``; ``unusable="drop"`` leaves them out. FUTURE nodes do not exist.
    ``options["hosts"]`` and ``options["partitions"]`` hold the rest: features, weight,
    state; limits, priorities, nodes. Both texts may be one.

    Examples
    --------
    >>> text = "NodeName=n1 CPUEfctv=62 CPUTot=64 RealMemory=1000 Gres=gpu:2 State=IDLE+DRAIN"
    >>> machine = parse_scontrol(text)
    >>> machine.hosts[0], machine.options["unusable"]
    (Host(name='n1', capacity=(62, 1024000, 2)), ('n1',))
    """
    machine = _Machine(unusable)
    for line, record in records(f"{nodes}\n{partitions}"):
        where = f"scontrol, line {line}"
        if "partitionname" in record:
            machine.partition(record, where)
        elif "nodename" in record:
            machine.nodes.append(scontrol_node(record, where))
    return machine.cluster(name)


def parse_slurm_conf(
    text: str,
    *,
    name: str = "",
    path: str = "slurm.conf",
    include: Callable[[str], str] | None = None,
    unusable: Unusable = "keep",
) -> Cluster:
    """The machine in a slurm.conf.

    Processors are CPUs, else Boards x Sockets x CoresPerSocket x ThreadsPerCore, less
    CoreSpecCount cores; the other rules are those of :func:`parse_scontrol`. Scheduling settings
    are kept in ``options["settings"]``.

    Examples
    --------
    >>> machine = parse_slurm_conf('''
    ... ClusterName=c1
    ... NodeName=DEFAULT RealMemory=32000
    ... nodename=n[1-8] Sockets=2 CoresPerSocket=8
    ... PartitionName=batch Nodes=ALL MaxTime=1-00:00:00 Default=YES
    ... ''')
    >>> machine.name, machine.total, machine.options["partitions"]["batch"]["max_time"]
    ('c1', {'procs': 128, 'memory': 262144000}, 86400)
    """
    lines = list(conf_lines(text, path=path, include=include))
    machine = _Machine(unusable)
    machine.nodes += conf_nodes(lines)
    for where, pairs in with_defaults(iter(lines), "partitionname"):
        machine.partition(pairs, where)
    for _, pairs in lines:
        for key, value in pairs.items():
            if key.startswith(_SETTINGS) and not {"nodename", "partitionname"} & set(pairs):
                machine.settings[key] = value
    return machine.cluster(name or machine.settings.get("clustername", ""))


class _Machine:
    """The nodes and partitions read so far."""

    def __init__(self, unusable: Unusable) -> None:
        if unusable not in ("keep", "drop"):
            raise ClusterError(f"unusable must be keep or drop, not {unusable!r}")
        self.drop = unusable == "drop"
        self.nodes: list[NodeRecord] = []
        self.partitions: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, str] = {}

    def partition(self, record: Mapping[str, str], where: str) -> None:
        name = record["partitionname"]
        try:
            self.partitions[name] = {
                "nodes": record.get("nodes", ""),
                "default": record.get("default", "NO").upper() == "YES",
                "max_time": parse_limit(record.get("maxtime", "UNLIMITED")),
                "default_time": parse_limit(record.get("defaulttime", "NONE")),
                "priority_tier": number(record.get("prioritytier", "1"), "PriorityTier", where),
                "preempt_mode": record.get("preemptmode", ""),
                "oversubscribe": "EXCLUSIVE"
                if record.get("exclusive", "").upper() == "NODE"
                else record.get("oversubscribe", "NO"),
                "qos": record.get("qos", "N/A"),
                "state": record.get("state", "UP"),
            }
        except ClusterError as error:
            prefix = "" if str(error).startswith(where) else f"{where}: "
            raise ClusterError(f"{prefix}{error}") from None

    def cluster(self, name: str) -> Cluster:
        nodes = distinct(self.nodes)
        broken = tuple(node.name for node in nodes if node.broken)
        if self.drop:
            nodes = [node for node in nodes if not node.broken]
        if not nodes:
            raise ClusterError("every node is down, drained or failing: keep them to simulate")
        for label, partition in self.partitions.items():
            every = partition["nodes"].upper() == "ALL"
            partition["nodes"] = (
                [node.name for node in nodes] if every else hosts_of(partition["nodes"], label)
            )
        amounts = {
            node.name: (node.cpus, node.memory, parse_gres(node.gres).get("gpu", 0))
            for node in nodes
        }
        width = 3 if any(capacity[2] for capacity in amounts.values()) else 2
        options: dict[str, Any] = {
            "hosts": {node.name: _about(node) for node in nodes},
            "partitions": self.partitions,
        }
        if broken:
            options["unusable"] = broken
        if self.settings:
            options["settings"] = self.settings
        return Cluster(
            shape="nodes",
            resources=("procs", "memory", "gpus")[:width],
            hosts=tuple(Host(host, capacity[:width]) for host, capacity in amounts.items()),
            name=name,
            options=options,
        )


def _about(node: NodeRecord) -> dict[str, Any]:
    return {
        "features": list(node.features),
        "partitions": list(node.partitions),
        "weight": node.weight,
        "threads_per_core": node.threads_per_core,
        "sockets": node.sockets,
        "gres": names_of(node.gres),
        "state": node.state,
    }
