"""A Slurm cluster from scontrol's output and from slurm.conf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.cluster.spec import nodes_of, parse_cluster
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.conf import conf_lines
from shadowtime.slurmtext.scontrol import records, split_record
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import parse_gres

NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=32 CPUAlloc=0 CPUEfctv={efctv} CPUTot=64 "
    "CPULoad=0.02 AvailableFeatures=fast,ib ActiveFeatures=fast,ib Gres={gres} "
    "NodeAddr={name} NodeHostName={name} Version=24.05.1 "
    "OS=Linux 5.15.0-91-generic #101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023 RealMemory=256000 "
    "AllocMem=0 FreeMem=200000 Sockets=2 Boards=1 CoreSpecCount=1 MemSpecLimit=6000 State={state} "
    "ThreadsPerCore=1 TmpDisk=0 Weight=5 Owner=N/A MCS_label=N/A Partitions=batch,gpu "
    "BootTime=2026-01-01T00:00:00 SlurmdStartTime=2026-01-01T00:00:00 "
    "CfgTRES=cpu=62,mem=256000M,billing=62,gres/gpu=4 AllocTRES= CurrentWatts=0 AveWatts=0 "
    "Reason=disk opt=v bad [root@2026-01-02T10:00:00] Comment=(null)"
)
PARTITION = (
    "PartitionName=batch AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES "
    "QoS=N/A DefaultTime=01:00:00 MaxNodes=UNLIMITED MaxTime=2-00:00:00 Nodes=n[1-2] "
    "PriorityTier=3 PreemptMode=OFF OverSubscribe=NO State=UP TotalCPUs=128 TotalNodes=2"
)


def shown(text: str, **more: Any) -> Site:
    return site_from_slurm(SlurmTexts(nodes=text), **more)


def parse_scontrol(text: str, **more: Any) -> Cluster:
    return nodes_of(shown(text, **more))


def parse_slurm_conf(text: str) -> Cluster:
    return nodes_of(site_from_slurm(SlurmTexts(slurm_conf=text)))


def node(name: str = "n1", *, efctv: int = 62, gres: str = "gpu:a100:4(S:0-1)",
         state: str = "IDLE") -> str:  # fmt: skip
    return NODE.format(name=name, efctv=efctv, gres=gres, state=state)


def test_values_end_where_a_known_key_begins() -> None:
    record, _ = split_record(node())
    assert record["os"].endswith("SMP Tue Nov 14 13:30:08 UTC 2023")
    assert record["reason"] == "disk opt=v bad [root@2026-01-02T10:00:00]"
    assert record["cfgtres"] == "cpu=62,mem=256000M,billing=62,gres/gpu=4"
    assert record["alloctres"] == ""
    assert record["freemem"] == "200000"


def test_records_on_one_line_or_several() -> None:
    spread = node().replace(" CPUAlloc", "\n   CPUAlloc").replace(" OS=", "\n   OS=")
    assert records(spread) == records(node())
    assert [line for line, _ in records(f"{spread}\n\n{node('n2')}")] == [1, 5]


def test_nodes_and_partitions() -> None:
    text = f"{node('n1')}\n{node('n2', gres='(null)')}\n"
    site = shown(text + PARTITION, name="c1")
    cluster = nodes_of(site)
    assert (cluster.name, cluster.shape) == ("c1", "nodes")
    assert cluster.resources == ("procs", "memory", "gpus")
    memory = 250_000 * 1024
    assert [(host.name, host.capacity) for host in cluster.hosts] == [
        ("n1", (62, memory, 4)),
        ("n2", (62, memory, 0)),
    ]
    batch = site.partitions[0]
    assert (batch.name, batch.nodes, batch.default, batch.up) == ("batch", ("n1", "n2"), True, True)
    assert (batch.max_time, batch.default_time, batch.tier) == (172800, 3600, 3)
    assert (batch.preempt, batch.exclusive, batch.qos) == ("off", False, "")
    about = site.nodes[0]
    assert about.features == {"fast", "ib"}
    assert (about.weight, about.sockets) == (5, 2)


def test_without_gpus_there_is_no_such_resource() -> None:
    assert parse_scontrol(node(gres="(null)")).resources == ("procs", "memory")
    assert parse_scontrol(node().replace("CPUEfctv=62 ", "")).hosts[0].capacity[0] == 64


@pytest.mark.parametrize("state", ["DOWN*", "IDLE+DRAIN", "FAIL", "MIXED+DRAIN+NOT_RESPONDING"])
def test_broken_nodes_are_named_and_kept_by_default(state: str) -> None:
    text = f"{node('n1')}\n{node('n2', state=state)}"
    cluster = parse_scontrol(text)
    assert len(cluster.hosts) == 2
    assert cluster.options["unusable"] == ("n2",)
    assert len(parse_scontrol(text, unusable="drop").hosts) == 1


@pytest.mark.parametrize("state", ["IDLE", "MIXED+PLANNED", "ALLOCATED", "IDLE~", "RESERVED"])
def test_working_nodes(state: str) -> None:
    assert "unusable" not in parse_scontrol(node(state=state)).options


def test_nodes_of_the_future_do_not_exist() -> None:
    assert len(parse_scontrol(f"{node('n1')}\n{node('n2', state='FUTURE')}").hosts) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no node is described"),
        ("garbage", "no node is described"),
        (node(state="FUTURE"), "no node is described"),
        (node() + "\n" + node(), "line 2: node n1 is described twice"),
        (node().replace("CPUEfctv=62", "CPUEfctv=many"), "line 1: CPUTot must be a whole number"),
        (node().replace("CPUEfctv=62", "CPUEfctv=0"), "no processors"),
        (node() + "\nPartitionName=x Nodes=n[ MaxTime=1", "not a host list"),
        (node() + "\nPartitionName=x MaxTime=soon", "line 2: 'soon' is not a time limit"),
        (node() + "\nPartitionName=x PriorityTier=high", "line 2: prioritytier must be"),
    ],
)
def test_bad_output_of_scontrol(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        parse_scontrol(text)


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [("gpu:4", 4), ("gpu:a100:4(S:0-1)", 4), ("gpu:a:1,gpu:b:2", 3), ("gpu", 1), ("(null)", 0),
     ("membw:34000", 0), ("gpu:tesla", 1), ("", 0)],
)  # fmt: skip
def test_gpus_in_gres(gres: str, gpus: int) -> None:
    assert parse_gres(gres).get("gpu", 0) == gpus


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 3600), ("10:30", 630), ("01:00:00", 3600), ("1-12", 129600), ("1-12:30", 131400),
     ("2-00:30:01", 174601), ("UNLIMITED", None), ("INFINITE", None), ("NONE", None)],
)  # fmt: skip
def test_time_limits(text: str, seconds: int | None) -> None:
    assert parse_limit(text) == seconds


CONF = r"""
# a comment
ClusterName=tiny
SchedulerType=sched/backfill     # trailing comment
SchedulerParameters=bf_window=1440,\
bf_resolution=60
PriorityType=priority/multifactor
NodeName=DEFAULT RealMemory=32000 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2
NodeName=n[1-2] State=UNKNOWN
nodename=g1 CPUS=16 Gres=gpu:2 CoreSpecCount=1 MemSpecLimit=2000 Features=a,b Reason="two words"
NodeName=b1 Boards=2 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=0
NodeName=f[1-9] State=FUTURE
PartitionName=DEFAULT MaxTime=60 State=UP
PartitionName=batch Nodes=ALL Default=YES
PARTITIONNAME=gpu Nodes=g1 MaxTime=INFINITE PriorityTier=2
"""


def test_slurm_conf() -> None:
    cluster = parse_slurm_conf(CONF)
    assert cluster.name == "tiny"
    assert [(host.name, host.capacity) for host in cluster.hosts] == [
        ("n1", (32, 32000 * 1024, 0)),
        ("n2", (32, 32000 * 1024, 0)),
        ("g1", (14, 30000 * 1024, 2)),
        ("b1", (8, 0, 0)),
    ]
    site = site_from_slurm(SlurmTexts(slurm_conf=CONF))
    batch, gpu = site.partitions
    assert batch.nodes == ("n1", "n2", "g1", "b1")
    assert (batch.max_time, gpu.max_time) == (3600, None)
    assert site.nodes_by_name["g1"].features == {"a", "b"}
    assert site.setting("SchedulerParameters").startswith("bf_window=1440,")
    assert site.setting("PriorityType") == "priority/multifactor"


def test_lines_of_a_conf() -> None:
    got = list(conf_lines('A=1 \\\n B = "x y"\n\n# c\nC=2#d\nnothing', path="s.conf"))
    assert got == [("s.conf, line 1", {"a": "1", "b": "x y"}), ("s.conf, line 5", {"c": "2"})]


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=c1\nInclude nodes.conf\n")
    (tmp_path / "nodes.conf").write_text("NodeName=n1 CPUs=4\n")
    assert parse_cluster(str(tmp_path / "slurm.conf")).procs == 4
    (tmp_path / "slurm.conf").write_text("NodeName=n0 CPUs=1\ninclude nodes.conf\n")
    assert parse_cluster(str(tmp_path / "slurm.conf")).procs == 5
    (tmp_path / "slurm.conf").write_text("NodeName=n0 CPUs=1\ninclude none.conf\n")
    with pytest.raises(ClusterError, match=r"includes none\.conf"):
        parse_cluster(str(tmp_path / "slurm.conf"))
    (tmp_path / "slurm.conf").write_text("NodeName=n0 CPUs=1\ninclude slurm.conf\n")
    with pytest.raises(ClusterError, match="cannot include"):
        parse_cluster(str(tmp_path / "slurm.conf"))
    with pytest.raises(ClusterError, match="line 1: cannot include"):
        parse_slurm_conf("Include x\n")


def test_cluster_files_of_slurm(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text(f"{node()}\n{PARTITION.replace('n[1-2]', 'n1')}\n")
    cluster = parse_cluster(str(path))
    assert (cluster.name, cluster.procs) == ("nodes", 62)
    path.write_text(CONF)
    assert parse_cluster(str(path)).name == "tiny"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ClusterName=x\n", "no node is described"),
        ("NodeName=n[1-\n", "line 1: .*not a host list"),
        ("\nNodeName=n1 CPUs=x\n", "line 2: cpus must be a whole number"),
        ("NodeName=n1 CPUs=2\nPartitionName=p Nodes=n[\n", "not a host list"),
    ],
)
def test_bad_conf(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        parse_slurm_conf(text)
