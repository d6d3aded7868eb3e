"""Nodes, partitions and reservations as Slurm describes them, from scontrol or slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal, cast, get_args

from shadowtime.cluster.known_settings import RESERVATION_FLAGS
from shadowtime.cluster.site import FOREVER, Partition, Preempting, Reservation
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.conf import with_defaults
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.scontrol import names_of, records_and_unknown
from shadowtime.slurmtext.times import parse_limit, parse_stamp
from shadowtime.slurmtext.tres import resource_of

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


_NONE = ("", "n/a", "none", "(null)", "unlimited", "infinite", "0xffffffff")
USUAL = {
    "allowgroups": "ALL", "allowaccounts": "ALL", "allowqos": "ALL", "denyaccounts": "",
    "denyqos": "", "allocnodes": "ALL", "alternate": "", "rootonly": "NO", "reqresv": "NO",
    "exclusivetopo": "NO", "gracetime": "0",
    "overtimelimit": "NONE",
    "maxcpuspersocket": "UNLIMITED", "selecttypeparameters": "NONE",
}  # fmt: skip
"""Rules of a partition that are not modelled, with the value at which they change nothing."""
_SHOWN = {"allowgroups": "AllowGroups", "allowaccounts": "AllowAccounts", "allowqos": "AllowQos",
          "denyaccounts": "DenyAccounts", "denyqos": "DenyQos"}  # fmt: skip


def parse_partition(
    record: Mapping[str, str],
    where: str,
    *,
    every: Sequence[str],
    settings: Mapping[str, str],
    ignore: Callable[[str, str], None],
    sets: Mapping[str, Sequence[str]] | None = None,
) -> Partition:
    """A partition; ``every`` is what ALL means, ``sets`` the node sets of slurm.conf.

    ``ignore`` is called with each key that is not modelled and not at its default.
    """
    name = record["partitionname"]
    for key, usual in USUAL.items():
        value = record.get(key, usual)
        if value.upper() not in (usual.upper(), "", "(NULL)", "N/A", "UNLIMITED"):
            ignore(f"partition {_SHOWN.get(key, key)}", name)
    oversubscribe = record.get("oversubscribe", record.get("shared", "NO")).upper()
    if oversubscribe.startswith(("FORCE", "YES")) and not oversubscribe.endswith(":1"):
        ignore("partition OverSubscribe", name)
    alone = record.get("exclusive", "NO").upper()
    if alone not in ("NO", "NODE"):
        ignore("partition Exclusive", name)
    if _default_of_jobs("defmempergpu", record, settings):
        ignore("partition DefMemPerGPU", name)
    memory, per = _memory("def", record, settings)
    most, most_per = _memory("max", record, settings)
    try:
        return Partition(
            name=name,
            nodes=_nodes(record.get("nodes", ""), where, every, sets or {}),
            max_time=parse_limit(record.get("maxtime", "UNLIMITED")),
            default_time=parse_limit(record.get("defaulttime", "NONE")),
            min_nodes=_count(record, "minnodes", 0) or 0,
            max_nodes=_count(record, "maxnodes", None),
            max_cpus_per_node=_count(record, "maxcpuspernode", None),
            tier=_count(record, "prioritytier", None) or _count(record, "priority", 1) or 1,
            priority_factor=_either(record, ("priorityjobfactor", "priority"), 1),
            # In place of EXCLUSIVE since 26.05.
            exclusive=oversubscribe == "EXCLUSIVE" or alone == "NODE",
            exclusive_user=record.get("exclusiveuser", "NO").upper() == "YES",
            least_loaded=record.get("lln", "NO").upper() == "YES",
            default_memory=memory,
            default_memory_per=per,
            default_cpus_per_gpu=_default_of_jobs("defcpupergpu", record, settings),
            max_memory=most,
            max_memory_per=most_per,
            qos="" if record.get("qos", "").lower() in _NONE else record["qos"],
            preempt=preempting(record.get("preemptmode", "")),
            up=record.get("state", "UP").upper() == "UP",
            default=record.get("default", "NO").upper() == "YES",
            billing=parse_billing(record.get("tresbillingweights", "")),
        )
    except ClusterError as error:
        prefix = "" if str(error).startswith(where) else f"{where}: "
        raise ClusterError(f"{prefix}{error}") from None


def preempting(text: str) -> Preempting | None:
    """PreemptMode of a partition, a QOS or the whole; GANG may stand beside it.

    Examples
    --------
    >>> preempting("GANG,SUSPEND"), preempting("REQUEUE"), preempting("cluster")
    ('suspend', 'requeue', None)
    """
    for word in text.lower().replace(" ", "").split(","):
        if word in get_args(Preempting):
            return cast("Preempting", word)
    return None


def parse_billing(text: str) -> dict[str, float]:
    """TRESBillingWeights by resource, per cpu, KB of memory, GPU ...

    Slurm counts memory in MB unless a unit follows the weight.

    Examples
    --------
    >>> parse_billing("CPU=2.0,Mem=1024,GRES/gpu=4")
    {'cpus': 2.0, 'memory': 1.0, 'gpu': 4.0}
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        if not part.strip() or part.strip() == "(null)":
            continue
        name, _, amount = part.partition("=")
        match = re.fullmatch(r"(\d*\.?\d+(?:e-?\d+)?)([KMGT]?)", amount.strip(), re.IGNORECASE)
        if not match:
            raise ClusterError(f"TRESBillingWeights: {part.strip()!r} is not a weight like CPU=1.0")
        name = resource_of(name)
        unit = match[2].upper() or ("M" if name == "memory" else "")
        power = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[unit] - (name == "memory")
        found[name] = float(match[1]) / 1024**power
    return found


def _nodes(
    text: str, where: str, every: Sequence[str], sets: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    if text.strip().upper() == "ALL":
        return tuple(every)
    known = set(every)
    found: dict[str, None] = {}
    for host in hosts_of(text, where):
        if host.upper() == "ALL":
            found |= dict.fromkeys(every)
        elif host in sets:
            found |= dict.fromkeys(sets[host])
        elif host in known:
            found[host] = None
        else:
            raise ClusterError(f"{where}: it names node {host}, which is not described")
    return tuple(found)


def _count(record: Mapping[str, str], key: str, otherwise: int | None) -> int | None:
    text = record.get(key, "").strip()
    if text.lower() in _NONE:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise ClusterError(f"{key} must be a whole number, not {text!r}")
    return int(text)


def _either(record: Mapping[str, str], keys: Sequence[str], otherwise: int) -> int:
    counts = (_count(record, key, None) for key in keys)
    return next((count for count in counts if count is not None), otherwise)


def _memory(
    which: str, record: Mapping[str, str], settings: Mapping[str, str]
) -> tuple[int | None, Literal["cpu", "node"]]:
    """KB of DefMemPer ("def") or MaxMemPer ("max"); the partition's own, else the cluster's."""
    low = {key.lower(): value for key, value in settings.items()}
    for source in (record, low):
        for per in ("cpu", "node"):
            amount = _count(source, f"{which}memper{per}", None)
            if amount:
                return amount * 1024, per
    return None, "cpu"


def _default_of_jobs(
    name: str, record: Mapping[str, str], settings: Mapping[str, str]
) -> int | None:
    """A default for GPUs: of the partition, else of all; scontrol shows both in JobDefaults."""
    low = {key.lower(): value for key, value in settings.items()}
    for source in (record, low):
        shown = (part.partition("=") for part in source.get("jobdefaults", "").split(","))
        found = {key.strip().lower(): value for key, _, value in shown}
        count = _count({**source, **found}, name, None)
        if count:
            return count
    return None


NOT_MODELLED = ("licenses", "burstbuffer", "groups", "maxstartdelay", "watts")
"""Properties of a reservation that change nothing here."""


def parse_reservations(
    text: str, zone: tzinfo, *, path: str, ignore: Callable[[str, str], None]
) -> tuple[Reservation, ...]:
    """The reservations; "No reservations in the system" is none.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> text = '''ReservationName=m StartTime=2026-03-01T00:00:00 EndTime=2026-03-01T01:00:00
    ...    Nodes=n[1-2] NodeCnt=2 CoreCnt=32 PartitionName=(null) Flags=MAINT,SPEC_NODES
    ...    Users=root Accounts=(null) State=INACTIVE'''
    >>> one = parse_reservations(text, ZoneInfo("UTC"), path="r.txt", ignore=print)[0]
    >>> one.nodes, one.end - one.begin, sorted(one.users), sorted(one.flags)
    (('n1', 'n2'), 3600, ['root'], ['MAINT', 'SPEC_NODES'])
    """
    found = []
    for line, record, unknown in records_and_unknown(text):
        where = f"{path}, line {line}"
        if "reservationname" not in record:
            raise ClusterError(f"{where}: this is not the output of scontrol show reservation")
        name = record["reservationname"]
        for key in unknown:
            if key not in ("CoreIDs", "NodeName"):  # cores of a node; the reservation has both
                ignore(f"reservation {key}", name)
        for key in NOT_MODELLED:
            if record.get(key, "").lower() not in ("", "(null)", "n/a", "none"):
                ignore(f"reservation {key}", name)
        for flag in names_of(record.get("flags", "")):
            if flag.lower() in RESERVATION_FLAGS:
                ignore(f"reservation flag {flag}", name)
        users = names_of(record.get("users", ""))
        if any(user.startswith("-") for user in users):
            ignore("reservation users who may not", name)
        try:
            begin = parse_stamp(record.get("starttime", ""), zone)
            end = parse_stamp(record.get("endtime", ""), zone)
        except ValueError as error:
            raise ClusterError(f"{where}: {error}") from None
        if begin < 0:
            raise ClusterError(f"{where}: the reservation has no StartTime")
        found.append(
            Reservation(
                name=name,
                nodes=tuple(hosts_of(record.get("nodes", ""), where)),
                begin=begin,
                end=end if end > 0 else FOREVER,
                users=frozenset(user for user in users if not user.startswith("-")),
                accounts=frozenset(names_of(record.get("accounts", ""))),
                flags=frozenset(names_of(record.get("flags", ""))),
            )
        )
    return tuple(found)
