"""Slurm's own output as a site: every notation, and what is counted as not modelled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, examples, recording_path
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.cluster.site_toml import parse_site_toml
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.cluster.spec import parse_machine
from shadowtime.errors import ClusterError, ShadowtimeError

CONF = """
ClusterName=c1
SelectTypeParameters=CR_Core_Memory
Licenses=matlab:10,abaqus
JobRequeue=0
AccountingStorageEnforce=safe
DefMemPerCPU=100
NodeName=DEFAULT CPUs=8 RealMemory=1000 Weight=5
NodeName=n[1-2] Feature=a
NodeName=g1 Gres=gpu:a100:2,gpu:v100:1,bw:no_consume:4G State=DRAIN
NodeName=f1 State=FUTURE
NodeSet=fast Feature=a
PartitionName=DEFAULT MaxTime=60 PriorityTier=3
PartitionName=all Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE
PartitionName=some Nodes=fast,g1 MaxTime=UNLIMITED AllowAccounts=phys DefMemPerNode=7 \\
  PreemptMode=GANG,SUSPEND
"""


def test_slurm_conf() -> None:
    site = site_from_slurm(SlurmTexts(slurm_conf=CONF))
    assert [node.name for node in site.nodes] == ["n1", "n2", "g1"]
    assert site.resources == ("cpus", "memory", "gpu", "gpu:a100", "gpu:v100")
    assert site.nodes[2].amounts == (8, 1024000, 3, 2, 1)
    assert site.unusable == ("g1",) and {node.weight for node in site.nodes} == {5}
    every, some = site.partitions
    assert every.exclusive and every.default and every.max_time == 3600 and every.tier == 3
    assert (every.default_memory, every.default_memory_per) == (102400, "cpu")
    assert some.nodes == ("n1", "n2", "g1") and some.max_time is None and some.preempt == "suspend"
    assert (some.default_memory, some.default_memory_per) == (7168, "node")
    assert site.amounts == {"license/matlab": 10, "license/abaqus": 1} and not site.requeue
    assert site.enforce == {"safe", "limits", "associations"}
    assert set(site.ignored) == {"partition AllowAccounts"}
    assert site.setting("SELECTTYPEPARAMETERS") == "CR_Core_Memory"


@pytest.mark.parametrize("name", ["E1", "H", "K", "P3"])
def test_several_lines_say_what_one_does(name: str) -> None:
    """scontrol without --oneliner breaks records into indented lines."""
    folder = recording_path(name)
    texts = {kind: (folder / f"{kind}.txt").read_text() for kind in ("nodes", "partitions")}
    broken = {
        kind: re.sub(r" (?=(CPUAlloc|Gres|RealMemory|State|CfgTRES|QoS|MaxNodes|Nodes)=)", "\n   ",
                     text.replace("\n", "\n\n"))
        for kind, text in texts.items()
    }  # fmt: skip
    assert broken != texts
    whole, parts = (site_from_slurm(SlurmTexts(**each)) for each in (texts, broken))
    assert whole == parts


def test_mixed_nodes_are_a_site_and_equal_ones_stay(tmp_path: Path) -> None:
    equal = "NodeName=n1 CPUTot=4 State=IDLE\nNodeName=n2 CPUTot=4 State=IDLE\n"
    (tmp_path / "nodes.txt").write_text(equal)
    kept = parse_machine(str(tmp_path / "nodes.txt"))
    assert isinstance(kept, Cluster) and kept.shape == "nodes" and kept.procs == 8
    (tmp_path / "nodes.txt").write_text(equal.replace("n2 CPUTot=4", "n2 CPUTot=6"))
    mixed = parse_machine(str(tmp_path / "nodes.txt"))
    assert isinstance(mixed, Site) and mixed.procs == 10 and mixed.name == "nodes"
    assert mixed.as_nodes().total == {"procs": 10}


def test_only_the_rows_of_the_own_cluster_count() -> None:
    texts = SlurmTexts(
        slurm_conf="ClusterName=a\nNodeName=n1 CPUs=1",
        events="Cluster|NodeName|TimeStart|TimeEnd|State|Reason\na|n1|100|200|DOWN*|x|y\n"
        "b|n1|300|400|DRAIN|z\na||1|Unknown||Cluster Registered TRES",
    )
    (outage,) = site_from_slurm(texts).outages
    assert (outage.begin, outage.end, outage.drain, outage.reason) == (100, 200, False, "x|y")


def test_the_documented_site_reads() -> None:
    page = (ROOT / "docs" / "reference" / "site.md").read_text()
    block = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert block is not None
    site = parse_site_toml(block[1])
    assert len(site.nodes) == 104 and site.total["gpu"] == 16


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(
        st.sampled_from(
            [*CONF.splitlines(), "NodeName=", "PartitionName=x Nodes=n[1", "NodeName=a CPUs=-1",
             "PartitionName=y Nodes=zz", "SwitchName=s Nodes=n1", "Licenses=a:b", "\x00"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_any_lines_are_a_site_or_one_sentence(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        site_from_slurm(SlurmTexts(slurm_conf=text, topology_conf=text, gres_conf=text))
    except ShadowtimeError as error:
        assert isinstance(error, ClusterError) and "\n" not in str(error)
