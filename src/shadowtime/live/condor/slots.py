"""The slots of a pool as the hosts of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shadowtime.cluster import Cluster, Host
from shadowtime.live.condor.gate import parent

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad

SLOT_ATTRIBUTES = (
    "Name", "SlotType", "State", "Cpus", "Memory", "MachineResources", "GlobalJobId",
    "RemoteOwner", "Draining", "Start", "TotalSlotCpus", "TotalSlotMemory", "EnteredCurrentState",
    "Offline", "TotalJobRunTime", "MyCurrentTime", "Disk", "TotalSlotDisk", "ConcurrencyLimits",
)  # fmt: skip
"""The attributes read for every slot; the amounts of further resources are added by name."""

NOT_RESOURCES = {"cpus", "memory", "disk", "swap"}
LARGEST = 1 << 40
"""Beyond every amount that a slot has."""
USABLE = {"unclaimed", "claimed", "matched", "preempting"}
"""States of slots that belong to the pool now; Owner, Drained, Backfill ... do not."""


@dataclass(frozen=True)
class Slots:
    """The usable slots as hosts, and what others hold of them."""

    cluster: Cluster
    static: frozenset[str]
    """Slots that one job takes whole."""
    taken: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    """What jobs of other schedds hold, by slot: its host and the amounts."""
    disk: dict[str, int] = field(default_factory=dict)
    """The whole disk of each host in KB, if its slot reports it."""

    @property
    def whole(self) -> list[dict[str, object]]:
        """Every host's full capacity under the attributes of a slot."""
        found: list[dict[str, object]] = []
        for host in self.cluster.hosts:
            ad: dict[str, object] = {"name": host.name}
            for name, amount in zip(self.cluster.resources, host.capacity, strict=True):
                ad[_ATTRIBUTE.get(name, name)] = amount // 1024 if name == "memory" else amount
            if host.name in self.disk:
                ad["Disk"] = self.disk[host.name]
            else:
                ad.pop("Disk", None)
            found.append(ad)
        return found

    def with_disk(self, taken: Mapping[str, int]) -> Slots:
        """The same with disk as one more resource; ``taken``: what other schedds' claims have.

        A static slot's disk goes with the slot, and one that does not report its disk has enough.
        """
        more = {
            name: LARGEST if name in self.static else kb
            for name, kb in ((one.name, self.disk.get(one.name, LARGEST)) for one in self.hosts)
        }
        hosts = tuple(Host(one.name, (*one.capacity, more[one.name])) for one in self.hosts)
        cluster = self.cluster.replace(resources=(*self.cluster.resources, DISK), hosts=hosts)
        held = {
            slot: (host, (*amounts, min(taken.get(slot, 0), more[host])))
            for slot, (host, amounts) in self.taken.items()
        }
        return replace(self, cluster=cluster, taken=held)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the cluster."""
        return self.cluster.hosts

    def disk_binds(self, asked: Sequence[int]) -> bool:
        """Whether jobs that request these amounts of disk (KB) might exhaust it before the
        processors.

        Examples
        --------
        >>> slots = slots_of(
        ...     [{"name": "slot1@a", "slottype": "Partitionable", "cpus": 2, "disk": 5000}],
        ...     schedds=(),
        ... )
        >>> slots.disk_binds([2048, 2048, 2048]), slots.disk_binds([2048, 4096])
        (False, True)
        """
        largest = sorted(asked, reverse=True)
        return any(
            sum(largest[: host.capacity[0]]) > self.disk[host.name]
            for host in self.hosts
            if host.name in self.disk and host.name not in self.static
        )


DISK = "disk"
_ATTRIBUTE = {"procs": "Cpus", "memory": "Memory", "gpus": "GPUs", DISK: "Disk"}


def resource_names(ads: Sequence[Ad]) -> list[str]:
    """What the pool counts besides processors, memory and disk: gpus, and a site's own."""
    names: dict[str, None] = {}
    for ad in ads:
        for word in str(ad.get("machineresources", "")).split():
            if word.lower() not in NOT_RESOURCES:
                names[word.lower()] = None
    return list(names)


def slots_of(ads: Sequence[Ad], *, schedds: Collection[str]) -> Slots:
    """Hosts from slot ads, in the order of their names.

    Rules
    -----
    A partitionable slot is a host with the amounts it had before anything was split off; a static
    one a host that one job takes whole. Slots that drain, are offline, belong to their owner or
    never accept a job are omitted. What the collector reports about jobs of ``schedds`` is ignored
    (it is seconds old, the schedd is current); claims of other schedds count. A resource that no
    slot has any of is not counted.
    """
    further = [
        name
        for name in resource_names(ads)
        if any(_amount(ad, f"totalslot{name}", name) > 0 for ad in ads)
    ]
    resources = ("procs", "memory", *further)
    hosts: dict[str, Host] = {}
    static: set[str] = set()
    disk: dict[str, int] = {}
    for ad in sorted(ads, key=lambda one: str(one.get("name", ""))):
        name, kind = str(ad.get("name", "")), str(ad.get("slottype", "")).lower()
        if not name or kind == "dynamic" or not _usable(ad):
            continue
        amounts = [
            _amount(ad, "totalslotcpus", "cpus"),
            1024 * _amount(ad, "totalslotmemory", "memory"),
        ]
        amounts += [_amount(ad, f"totalslot{other}", other) for other in further]
        if amounts[0] < 1:
            continue
        hosts[name] = Host(name, tuple(amounts))
        if whole_disk := _amount(ad, "totalslotdisk", "disk"):
            disk[name] = whole_disk
        if kind != "partitionable":
            static.add(name)
    taken: dict[str, tuple[str, tuple[int, ...]]] = {}
    for ad in ads:
        name, kind = str(ad.get("name", "")), str(ad.get("slottype", "")).lower()
        host = parent(name)
        if host not in hosts or kind == "partitionable" or not _foreign(ad, schedds):
            continue
        if kind == "dynamic":
            held = [_amount(ad, "cpus"), 1024 * _amount(ad, "memory")]
            held += [_amount(ad, other) for other in further]
            taken[name] = (host, tuple(held))
        else:
            taken[name] = (host, hosts[host].capacity)
    if not hosts:
        hosts["nothing"] = Host("nothing", (1,) + (0,) * (len(resources) - 1))
    cluster = Cluster(shape="nodes", resources=resources, hosts=tuple(hosts.values()))
    return Slots(cluster, frozenset(static), taken, disk)


def _usable(ad: Ad) -> bool:
    return (
        str(ad.get("state", "Unclaimed")).lower() in USABLE
        and ad.get("draining") is not True
        and ad.get("offline") is not True
        and ad.get("start") is not False
    )


def _foreign(ad: Ad, schedds: Collection[str]) -> bool:
    """Claimed by a job of another schedd."""
    if str(ad.get("state", "")).lower() != "claimed":
        return False
    job = ad.get("globaljobid")
    return job is not None and str(job).partition("#")[0] not in schedds


def _amount(ad: Ad, *names: str) -> int:
    for name in names:
        value = ad.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value) if 0 <= value <= LARGEST else 0  # NaN is neither
    return 0
