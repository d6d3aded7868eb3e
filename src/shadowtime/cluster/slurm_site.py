"""A whole site from Slurm's own output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from shadowtime.cluster import sacctmgr, slurm_records
from shadowtime.cluster.known_settings import unfollowed
from shadowtime.cluster.site import Node, Partition, Reservation, Site
from shadowtime.errors import ClusterError
from shadowtime.slurmtext import conf
from shadowtime.slurmtext.scontrol import Table, read_table, records_and_unknown
from shadowtime.slurmtext.tres import gpus_by_socket, gres_conf_near, parse_gres, parse_licences


@dataclass(frozen=True, kw_only=True)
class SlurmTexts:
    """A site's own texts by the command or file they come from; empty where there is none."""

    nodes: str = ""
    partitions: str = ""
    config: str = ""
    reservations: str = ""
    slurm_conf: str = ""
    gres_conf: str = ""
    topology_conf: str = ""
    qos: str = ""
    associations: str = ""
    events: str = ""
    past_reservations: str = ""
    shares: str = ""
    include: Callable[[str], str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What to call each text in an error; usually its file."""

    def label(self, kind: str) -> str:
        """The name of a text in errors."""
        return self.labels.get(kind, kind)


def site_from_slurm(
    texts: SlurmTexts,
    *,
    name: str = "",
    zone: tzinfo | None = None,
    unusable: Literal["keep", "drop"] = "keep",
) -> Site:
    """The site that these texts describe.

    Rules
    -----
    Nodes, partitions and settings are those of scontrol; slurm.conf is used if one is missing.
    Without either, partitions are those that the nodes name, without bounds. Memory is a resource
    where SelectTypeParameters makes it consumable. Nodes that are down, drained or failing
    are kept, as a log is longer than a repair, and named in ``unusable``.
    Times without an offset are local times of ``zone`` (left out: UTC).

    Examples
    --------
    >>> site = site_from_slurm(SlurmTexts(slurm_conf='''
    ... ClusterName=c1
    ... SelectTypeParameters=CR_Core_Memory
    ... NodeName=n[1-2] CPUs=16 RealMemory=1000
    ... NodeName=g1 CPUs=32 RealMemory=4000 Gres=gpu:a100:4 Feature=fast Weight=10
    ... PartitionName=batch Nodes=ALL Default=YES MaxTime=60
    ... '''))
    >>> site.resources, site.nodes[2].amounts, site.partitions[0].nodes
    (('cpus', 'memory', 'gpu', 'gpu:a100'), (32, 4096000, 4, 4), ('n1', 'n2', 'g1'))
    """
    return _Reader(texts, zone or ZoneInfo("UTC"), drop=unusable == "drop").site(name)


class _Reader:
    """One reading: what is ignored and what is noted gather here."""

    def __init__(self, texts: SlurmTexts, zone: tzinfo, *, drop: bool) -> None:
        self.texts, self.zone, self.drop = texts, zone, drop
        self.ignored: dict[str, tuple[str, ...]] = {}
        self.notes: list[str] = []
        self.cluster = ""
        self.conf: list[tuple[str, dict[str, str]]] = []
        if texts.slurm_conf:
            where = texts.label("slurm_conf")
            self.conf = list(conf.conf_lines(texts.slurm_conf, path=where, include=texts.include))

    def ignore(self, key: str, name: str = "") -> None:
        self.ignored[key] = (*self.ignored.get(key, ()), name)

    def site(self, name: str) -> Site:
        texts = self.texts
        settings = conf.parse_config(texts.config) or conf.conf_config(self.conf)
        low = {key.lower(): value for key, value in settings.items()}
        records, partition_records = self._records()
        broken = tuple(node.name for node in records if node.broken)
        if self.drop:
            records = [node for node in records if not node.broken]
        resources, nodes = self._nodes(records, conf.consumes_memory(settings))
        if broken:
            verb = "left out" if self.drop else "counted all the same"
            many = ", ".join(broken[:5]) + (" ..." if len(broken) > 5 else "")
            self.notes.append(
                f"{len(broken)} nodes were down, drained or failing when they were described "
                f"and are {verb}: {many}"
            )
        self.cluster = low.get("clustername", "")
        shares = sacctmgr.parse_shares(texts.shares, path=texts.label("shares"))
        associations = sacctmgr.parse_associations(
            self._table("associations"), ignore=self.ignore, note=self._unless(shares)
        )
        for setting in unfollowed(settings):
            self.ignore(f"slurm.conf {setting}")
        known = {node.name for node in nodes}
        events = sacctmgr.parse_events(self._table("events"), self.zone)
        return Site(
            nodes=nodes,
            resources=resources,
            partitions=self._partitions(partition_records, records, settings),
            qos=sacctmgr.parse_qos(self._table("qos"), ignore=self.ignore),
            associations=sacctmgr.with_shares(associations, shares),
            reservations=self._reservations(),
            outages=tuple(one for one in events if one.node in known),
            amounts=parse_licences(low.get("licenses", "")),
            config=settings,
            switches=self._switches(known),
            requeue=low.get("jobrequeue", "1").strip().lower() not in ("0", "no"),
            enforce=enforced(low.get("accountingstorageenforce", "")),
            ignored=dict(self.ignored),
            unusable=broken,
            notes=tuple(self.notes),
            name=name or low.get("clustername", ""),
        )

    def _unless(self, shares: Sequence[sacctmgr.Share]) -> Callable[[str], None]:
        """True if sshare contains the tree, so that nothing has to be reported."""
        return (lambda _: None) if shares else self.notes.append

    def _table(self, kind: str) -> Table:
        return read_table(
            getattr(self.texts, kind), path=self.texts.label(kind), cluster=self.cluster
        )

    def _records(
        self,
    ) -> tuple[list[slurm_records.NodeRecord], list[tuple[str, Mapping[str, str]]]]:
        """Nodes and partitions as they were described."""
        nodes: list[slurm_records.NodeRecord] = []
        partitions: list[tuple[str, Mapping[str, str]]] = []
        for kind in ("nodes", "partitions"):
            for line, record, unknown in records_and_unknown(getattr(self.texts, kind)):
                where = f"{self.texts.label(kind)}, line {line}"
                for key in unknown:
                    self.ignore(key, record.get("partitionname", record.get("nodename", "")))
                if "partitionname" in record and "reservationname" not in record:
                    partitions.append((where, record))
                elif "nodename" in record:
                    nodes.append(slurm_records.scontrol_node(record, where))
        for kind, read in (("nodes", nodes), ("partitions", partitions)):
            if kind in self.texts.labels and not read and self.conf:
                one = kind.removesuffix("s")
                note = f"{self.texts.label(kind)} describes no {one}: slurm.conf's are taken"
                if note not in self.notes:
                    self.notes.append(note)
        found = slurm_records.distinct(nodes or slurm_records.conf_nodes(self.conf))
        return found, partitions or list(conf.with_defaults(iter(self.conf), "partitionname"))

    def _nodes(
        self, records: list[slurm_records.NodeRecord], memory: bool | None
    ) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        if not records:
            raise ClusterError("every node is down, drained or failing: keep them to simulate")
        gres = {node.name: parse_gres(node.gres) for node in records}
        names = list(dict.fromkeys(name for each in gres.values() for name in each))
        names.sort(key=lambda name: name.partition(":")[0])  # a family before its types
        if not memory and any(node.memory > 1024 for node in records):
            why = "is not set" if memory is None else "does not make it a consumable resource"
            self.notes.append(f"memory is not counted: SelectTypeParameters {why}")
        bound = gres_conf_near(
            self.texts.gres_conf,
            {node.name: (node.sockets, node.cores_per_socket) for node in records},
            path=self.texts.label("gres_conf"),
        )
        resources = ("cpus", *(["memory"] if memory else []), *names)
        return resources, tuple(
            Node(
                name=node.name,
                amounts=(
                    node.cpus,
                    *([node.memory] if memory else []),
                    *(gres[node.name].get(name, 0) for name in names),
                ),
                features=frozenset(node.features),
                weight=node.weight,
                sockets=max(node.sockets, 1),
                threads_per_core=max(node.threads_per_core, 1),
                near=bound.get(node.name) or gpus_by_socket(node.gres, node.sockets),
                real_memory=node.memory,
            )
            for node in records
        )

    def _partitions(
        self,
        found: list[tuple[str, Mapping[str, str]]],
        records: list[slurm_records.NodeRecord],
        settings: Mapping[str, str],
    ) -> tuple[Partition, ...]:
        every = [node.name for node in records]
        if not found:
            names = dict.fromkeys(name for node in records for name in node.partitions)
            return tuple(
                Partition(name=name, nodes=tuple(n.name for n in records if name in n.partitions))
                for name in names
            )
        dropped = every if not self.drop else [node.name for node in self._records()[0]]
        partitions = [
            slurm_records.parse_partition(
                record, where, every=dropped, settings=settings, ignore=self.ignore,
                sets=self._sets(records),
            )
            for where, record in found
        ]  # fmt: skip
        if not self.drop:
            return tuple(partitions)
        kept = set(every)
        return tuple(
            replace(one, nodes=tuple(node for node in one.nodes if node in kept))
            for one in partitions
        )

    def _sets(self, records: list[slurm_records.NodeRecord]) -> dict[str, list[str]]:
        """NodeSet lines of slurm.conf: nodes by name, by feature, or both."""
        sets: dict[str, list[str]] = {}
        for where, pairs in self.conf:
            if "nodeset" not in pairs:
                continue
            names = slurm_records.hosts_of(pairs.get("nodes", ""), where)
            wanted = pairs.get("feature", "")
            names += [node.name for node in records if wanted and wanted in node.features]
            sets[pairs["nodeset"]] = list(dict.fromkeys(names))
        return sets

    def _reservations(self) -> tuple[Reservation, ...]:
        texts = self.texts
        now = slurm_records.parse_reservations(
            texts.reservations, self.zone, path=texts.label("reservations"), ignore=self.ignore
        )
        past = sacctmgr.parse_past_reservations(self._table("past_reservations"), self.zone)
        known = {(one.name, one.begin) for one in now}
        return (*now, *(one for one in past if (one.name, one.begin) not in known))

    def _switches(self, known: set[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found = []
        where = self.texts.label("topology_conf")
        for line, pairs in conf.conf_lines(self.texts.topology_conf, path=where):
            if "switchname" in pairs and "nodes" in pairs:
                hosts = slurm_records.hosts_of(pairs["nodes"], line)
                strange = [host for host in hosts if host not in known]
                if strange:
                    raise ClusterError(
                        f"{line}: it names node {strange[0]}, which is not described"
                    )
                found.append((pairs["switchname"], tuple(hosts)))
            elif "switchname" not in pairs:
                for key in pairs:
                    self.ignore(f"topology {key}")
        return tuple(found)


def enforced(text: str) -> frozenset[str]:
    """AccountingStorageEnforce; each of its words implies those that it rests on."""
    words = {word.strip() for word in text.lower().split(",")} - {"", "none", "(null)"}
    if words & {"limits", "qos", "safe", "wckeys", "all"}:
        words.add("associations")
    if words & {"safe", "all"}:
        words.add("limits")
    if "all" in words:
        words |= {"qos"}
    return frozenset(words)
