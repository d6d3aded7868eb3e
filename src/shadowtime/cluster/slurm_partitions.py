"""Partitions as Slurm describes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast, get_args

from shadowtime.cluster.site import Partition, Preempting
from shadowtime.cluster.slurm_nodes import hosts_of
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import resource_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NONE = ("", "n/a", "none", "(null)", "unlimited", "infinite", "0xffffffff")
USUAL = {
    "allowgroups": "ALL", "allowaccounts": "ALL", "allowqos": "ALL", "denyaccounts": "",
    "denyqos": "", "allocnodes": "ALL", "alternate": "", "rootonly": "NO", "reqresv": "NO",
    "lln": "NO", "exclusiveuser": "NO", "exclusivetopo": "NO", "gracetime": "0",
    "overtimelimit": "NONE", "maxmempernode": "UNLIMITED", "maxmempercpu": "UNLIMITED",
    "maxcpuspersocket": "UNLIMITED", "selecttypeparameters": "NONE", "jobdefaults": "(null)",
}  # fmt: skip
"""Rules of a partition that are not modelled, with the value at which they change nothing."""
_SHOWN = {"allowgroups": "AllowGroups", "allowaccounts": "AllowAccounts", "allowqos": "AllowQos",
          "denyaccounts": "DenyAccounts", "denyqos": "DenyQos", "lln": "LLN"}  # fmt: skip


def parse_partition(
    record: Mapping[str, str],
    where: str,
    *,
    every: Sequence[str],
    settings: Mapping[str, str],
    ignore: Callable[[str], None],
    sets: Mapping[str, Sequence[str]] | None = None,
) -> Partition:
    """A partition; ``every`` is what ALL means, ``sets`` the node sets of slurm.conf.

    ``ignore`` is called with each key that is not modelled and not at its default.
    """
    name = record["partitionname"]
    for key, usual in USUAL.items():
        value = record.get(key, usual)
        if value.upper() not in (usual.upper(), "", "(NULL)", "N/A", "UNLIMITED"):
            ignore(f"partition {_SHOWN.get(key, key)}")
    oversubscribe = record.get("oversubscribe", record.get("shared", "NO")).upper()
    if oversubscribe.startswith(("FORCE", "YES")) and not oversubscribe.endswith(":1"):
        ignore("partition OverSubscribe")
    alone = record.get("exclusive", "NO").upper()
    if alone not in ("NO", "NODE"):
        ignore("partition Exclusive")
    memory, per = _default_memory(record, settings)
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
            default_memory=memory,
            default_memory_per="node" if per == "node" else "cpu",
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


def _default_memory(
    record: Mapping[str, str], settings: Mapping[str, str]
) -> tuple[int | None, str]:
    """KB; the partition's own, else the cluster's."""
    low = {key.lower(): value for key, value in settings.items()}
    for source in (record, low):
        for key, per in (("defmempercpu", "cpu"), ("defmempernode", "node")):
            amount = _count(source, key, None)
            if amount:
                return amount * 1024, per
    return None, "cpu"
