"""A Slurm cluster as a machine: from ``scontrol show node --oneliner`` or from slurm.conf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.cluster.hostlist import expand
from shadowtime.cluster.slurm_conf import conf_lines, with_defaults
from shadowtime.cluster.slurm_text import count_gpus, names_of, parse_limit, records
from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Unusable = Literal["keep", "drop"]
_BROKEN = ("DOWN", "DRAIN", "FAIL", "NO_RESPOND", "NOT_RESPONDING")
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
    ``options["hosts"]`` and ``options["partitions"]`` hold what else is said: features, weight,
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
            continue
        cpus = _number(record.get("cpuefctv") or record.get("cputot", ""), "CPUTot", where)
        gres = record.get("gres", "")
        machine.node(record["nodename"], cpus, _memory(record, where), gres, record, where)
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
    for where, pairs in with_defaults(iter(lines), "nodename"):
        cpus = _conf_cpus(pairs, where)
        for host in _expand(pairs["nodename"], where):
            machine.node(host, cpus, _memory(pairs, where), pairs.get("gres", ""), pairs, where)
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
        self.nodes: dict[str, tuple[int, int, int]] = {}
        self.about: dict[str, dict[str, Any]] = {}
        self.unusable: list[str] = []
        self.partitions: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, str] = {}

    def node(
        self, host: str, cpus: int, memory: int, gres: str, said: Mapping[str, str], where: str
    ) -> None:
        state = said.get("state", "UNKNOWN").upper()
        if "FUTURE" in state:
            return
        if cpus < 1:
            raise ClusterError(f"{where}: node {host} has no processors (CPUTot)")
        if host in self.nodes:
            raise ClusterError(f"{where}: node {host} is described twice")
        if any(word in state for word in _BROKEN):
            self.unusable.append(host)
            if self.drop:
                return
        self.nodes[host] = (cpus, memory, count_gpus(gres))
        features = said.get("availablefeatures") or said.get("features") or said.get("feature", "")
        self.about[host] = {
            "features": names_of(features),
            "partitions": names_of(said.get("partitions", "")),
            "weight": _number(said.get("weight", "1"), "Weight", where),
            "threads_per_core": _number(said.get("threadspercore", "1"), "ThreadsPerCore", where),
            "sockets": _number(said.get("sockets", "1"), "Sockets", where),
            "gres": names_of(gres),
            "state": state,
        }

    def partition(self, said: Mapping[str, str], where: str) -> None:
        name = said["partitionname"]
        try:
            self.partitions[name] = {
                "nodes": said.get("nodes", ""),
                "default": said.get("default", "NO").upper() == "YES",
                "max_time": parse_limit(said.get("maxtime", "UNLIMITED")),
                "default_time": parse_limit(said.get("defaulttime", "NONE")),
                "priority_tier": _number(said.get("prioritytier", "1"), "PriorityTier", where),
                "preempt_mode": said.get("preemptmode", ""),
                "oversubscribe": said.get("oversubscribe", "NO"),
                "qos": said.get("qos", "N/A"),
                "state": said.get("state", "UP"),
            }
        except ClusterError as error:
            prefix = "" if str(error).startswith(where) else f"{where}: "
            raise ClusterError(f"{prefix}{error}") from None

    def cluster(self, name: str) -> Cluster:
        if not self.nodes:
            raise ClusterError(
                "no node is described: give the output of `scontrol show node --oneliner`, "
                "or a slurm.conf with NodeName lines"
            )
        for label, partition in self.partitions.items():
            nodes = partition["nodes"]
            every = nodes.upper() == "ALL"
            partition["nodes"] = list(self.nodes) if every else _expand(nodes, label)
        gpus = any(capacity[2] for capacity in self.nodes.values())
        width = 3 if gpus else 2
        options: dict[str, Any] = {"hosts": self.about, "partitions": self.partitions}
        if self.unusable:
            options["unusable"] = tuple(self.unusable)
        if self.settings:
            options["settings"] = self.settings
        return Cluster(
            shape="nodes",
            resources=("procs", "memory", "gpus")[:width],
            hosts=tuple(Host(host, capacity[:width]) for host, capacity in self.nodes.items()),
            name=name,
            options=options,
        )


def _conf_cpus(pairs: Mapping[str, str], where: str) -> int:
    def get(key: str, otherwise: str) -> int:
        return _number(pairs.get(key, otherwise), key, where)

    threads = get("threadspercore", "1")
    sockets = get("sockets", "1")
    if "socketsperboard" in pairs:
        sockets = get("boards", "1") * get("socketsperboard", "1")
    shape = sockets * get("corespersocket", "1") * threads
    cpus = get("cpus", "0") or get("procs", "0") or shape
    return cpus - get("corespeccount", "0") * threads


def _memory(said: Mapping[str, str], where: str) -> int:
    """KB; Slurm counts MB, and a node that does not say has 1."""
    real = _number(said.get("realmemory", "1"), "RealMemory", where)
    kept = _number(said.get("memspeclimit", "0"), "MemSpecLimit", where)
    return max(real - kept, 0) * 1024


def _number(text: str, what: str, where: str) -> int:
    word = text.strip()
    if word.lower() in ("", "(null)", "n/a"):
        return 0
    if not (word.isascii() and word.isdigit()) or len(word) > 12:
        raise ClusterError(f"{where}: {what} must be a whole number, not {text!r}")
    return int(word)


def _expand(text: str, where: str) -> list[str]:
    try:
        return expand(text)
    except ClusterError as error:
        raise ClusterError(f"{where}: {error}") from None
