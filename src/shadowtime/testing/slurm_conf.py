"""The configuration of a private Slurm: slurm.conf and gres.conf, with nodes of several kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.testing.slurm import SlurmCluster

CLUSTER = "shadowtime"


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
    names = dict.fromkeys(name.partition(":")[0] for kind in kinds for name, _ in kind.gres)
    return [f"GresTypes={','.join(names)}"] if names else []


def gres_conf(kinds: Sequence[NodeKind], devices: Path) -> str:
    """The text of gres.conf; files in ``devices`` stand for GPUs and are made here."""
    lines = []
    for kind, first, last in ranges(kinds):
        for name, count in kind.gres:
            family, _, model = name.partition(":")
            typed = f" Type={model}" if model else ""
            line = f"NodeName=n[{first}-{last}] Name={family}{typed} Count={count}"
            if family != "gpu":
                lines.append(f"{line} Flags=CountOnly")
                continue
            devices.mkdir(exist_ok=True)
            for k in range(count):
                (devices / f"gpu{k}").touch()
            lines.append(f"{line} File={devices}/gpu[0-{count - 1}]")
    return "".join(f"{line}\n" for line in lines)


def conf_lines(cluster: SlurmCluster, *, owner: str, as_root: bool) -> list[str]:
    """The lines of slurm.conf; ``owner`` is SlurmUser, and slurmd runs as root or as the owner."""
    d, first, nodes = cluster.folder, cluster.port + 2, cluster.node_range
    ports = f"[{first}-{first + cluster.nodes - 1}]" if cluster.nodes > 1 else str(first)
    gres = f" Gres=membw:{cluster.gres}" if cluster.gres else ""
    partitions = cluster.partitions or (
        f"PartitionName=batch Nodes={nodes} Default=YES MaxTime=INFINITE "
        "DefaultTime=60 State=UP OverSubscribe=NO",
    )
    return [
        f"ClusterName={CLUSTER}",
        "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmUser={owner}",
        f"SlurmdUser={'root' if as_root else owner}",
        f"SlurmctldPort={cluster.port}",
        f"SlurmdPort={cluster.port + 1}",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        f"AuthInfo=socket={d}/run/munge.sock",
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "MpiDefault=none",
        "ReturnToService=2",
        f"SlurmctldPidFile={d}/run/slurmctld.pid",
        f"SlurmdPidFile={d}/run/slurmd-%n.pid",
        f"SlurmdSpoolDir={d}/spool/%n",
        f"StateSaveLocation={d}/state",
        f"SlurmctldLogFile={d}/log/slurmctld.log",
        f"SlurmdLogFile={d}/log/slurmd-%n.log",
        "SlurmdParameters=config_overrides",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        *(["GresTypes=membw"] if cluster.gres else gres_types(cluster.kinds)),
        "SchedulerType=sched/builtin",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1",
        "PriorityType=priority/basic",
        "JobRequeue=1",
        "JobAcctGatherType=jobacct_gather/none",
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={d}/log/jobcomp.log",
        *(
            cluster.accounting_store().slurm_lines()
            if cluster.accounting
            else ["AccountingStorageType=accounting_storage/none"]
        ),
        "MinJobAge=300",
        "KillWait=5",
        "CompleteWait=0",
        "MaxJobCount=200000",
        *([f"PluginDir={cluster.plugins}"] if cluster.plugins else []),
        f"PlugStackConfig={d}/etc/plugstack.conf",
        "MailProg=/bin/true",
        *cluster.settings,
        *(
            node_lines(cluster.kinds, first)
            or [
                f"NodeName={nodes} NodeHostname=localhost NodeAddr=127.0.0.1 "
                f"Port={ports} Sockets=1 CoresPerSocket={cluster.cpus} ThreadsPerCore=1 "
                f"RealMemory={cluster.memory}{gres} State=UNKNOWN"
            ]
        ),
        *partitions,
    ]
