"""Where readers of Slurm's text once disagreed, one of them reads as the daemons decide."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.slurmtext.sbatch import parse_options
from shadowtime.slurmtext.show_job import parse_details
from shadowtime.slurmtext.times import parse_limit, parse_span
from shadowtime.slurmtext.tres import asked_gres, gres_entries, parse_gres, parse_tres
from shadowtime.testing.slurm import slurm_cluster
from shadowtime.testing.slurm_conf import NodeKind

ASKED = {
    "-n 8 --ntasks-per-node=4": (2, False, {}),
    "-n 3 --ntasks-per-node=2": (2, False, {}),
    "-N 2 --ntasks-per-node=3": (2, False, {}),
    "-n 4 -w n1,n2": (2, False, {}),
    "-n 1 --exclusive": (1, True, {}),
    "-n 1 --exclusive=user": (1, False, {}),
    "--gres=gpu": (1, False, {"gpu": 1}),
    "-n 2 --gpus-per-task=1": (1, False, {"gpu": 1}),
    "-c 3 --gres=gpu:2": (1, False, {"gpu": 2}),
}
"""Options, and the least number of nodes, whether it is alone there, and GRES of the request."""


@pytest.mark.parametrize("options", ASKED)
def test_options_are_read_alike_for_recordings_and_what_ifs(options: str) -> None:
    """There is one reader: -n 8 --ntasks-per-node=4 is two nodes, --exclusive=user shares them."""
    nodes, alone, gres = ASKED[options]
    request = parse_options(options).request
    assert (request.nodes, request.exclusive) == (nodes, alone)
    assert {one.name: one.count for one in request.gres} == gres


def test_every_daemon_reads_the_options_so(slurm_root: Path | None) -> None:
    """NumNodes, sharing and GRES that slurmctld shows for each of the submissions."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-options-"))
    kind = NodeKind(count=4, cpus=4, memory=8000, gres=(("gpu", 2),))
    try:
        with slurm_cluster(folder, kinds=(kind,), root=slurm_root) as cluster:
            for options, (nodes, alone, gres) in ASKED.items():
                job = cluster.sbatch("--begin=now+9999", *options.split(), script="true")
                shown = cluster.run("scontrol", "--oneliner", "show", "job", job)
                fields = dict(re.findall(r"(\S+?)=(\S*)", shown))
                assert int(fields["NumNodes"].partition("-")[0]) == nodes, options
                sharing = fields.get("Exclusive", fields["OverSubscribe"])
                assert (sharing == ("NODE" if "Exclusive" in fields else "NO")) == alone, options
                asked = ",".join(fields.get(f"TresPer{per}", "") for per in ("Node", "Job", "Task"))
                assert asked_gres(asked) == gres, options
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("text", "family", "asked"),
    [
        ("gres:gpu", {"gpu": 1}, {"gpu": 1}),
        ("gres/gpu", {"gpu": 1}, {"gpu": 1}),
        ("gres/gpu=2", {"gpu": 2}, {"gpu": 2}),
        ("gres:gpu:a100:2", {"gpu": 2, "gpu:a100": 2}, {"gpu:a100": 2}),
        ("gpu:1g.5gb:7", {"gpu": 7, "gpu:1g.5gb": 7}, {"gpu:1g.5gb": 7}),
        ("cpu=3,gres/gpu=1", {"gpu": 1}, {"gpu": 1}),
        ("membw(CNT:33000),gpu:2(IDX:0,2)", {"membw": 33000, "gpu": 2}, {"membw": 33000, "gpu": 2}),
        ("gpu:4(S:0-1),membw:34K", {"gpu": 4, "membw": 34816}, {"gpu": 4, "membw": 34816}),
        ("N/A", {}, {}),
        ("(null)", {}, {}),
        ("none", {}, {}),
    ],
)
def test_gres(text: str, family: dict[str, int], asked: dict[str, int]) -> None:
    """Every notation of 22.05 to 26.05: requests, nodes, and what jobs hold."""
    assert parse_gres(text) == family
    assert asked_gres(text) == asked


def test_what_is_not_used_up_is_no_request() -> None:
    assert gres_entries("gpu:no_consume:4") == ()


def test_spans_and_limits_are_one_notation() -> None:
    """1-03:04 is a day, three hours and four minutes, as Slurm reads it; memory counts MB."""
    assert parse_span("1-03:04") == parse_limit("1-03:04") == 97_440
    assert parse_tres("mem=500")["mem"] == 500 << 10


SINCE_26 = (
    "JobId=7 JobName=x ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes={nodes} NumCPUs=8 "
    "NumTasks=8 CPUs/Task=1 OverSubscribe=NO Exclusive=NO Contiguous=0 "
    "SubmitLine=sbatch {options} a.sh WorkDir=/x StdErr="
)


@pytest.mark.parametrize(
    ("nodes", "options", "asked"),
    [
        ("1-8", "-n 8", (0, 0)),
        ("2-8", "-n 8 -N 2-8", (2, 8)),
        ("2-4", "-n 8 -N 2-4", (2, 4)),
        ("2-2", "-n 8 --ntasks-per-node=4", (2, 2)),
    ],
)
def test_a_range_of_nodes_that_nobody_asked_for(
    nodes: str, options: str, asked: tuple[int, int]
) -> None:
    """Since 26.05 -n 8 shows NumNodes=1-8; the submission tells whether that was requested."""
    [(_, found)] = parse_details(SINCE_26.format(nodes=nodes, options=options))
    assert (found.nodes, found.most) == asked


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ("PartitionName=p Nodes=n1 OverSubscribe=EXCLUSIVE", True),
        ("PartitionName=p Nodes=n1 OverSubscribe=NO Exclusive=NODE", True),
        ("PartitionName=p Nodes=n1 OverSubscribe=NO Exclusive=NO", False),
    ],
)
def test_exclusive_partitions(line: str, alone: bool) -> None:
    """OverSubscribe=EXCLUSIVE up to 25.11, Exclusive=NODE since 26.05, in both of its places."""
    node = "NodeName=n1 CPUTot=4 RealMemory=1000 State=IDLE"
    shown = site_from_slurm(SlurmTexts(nodes=node, partitions=line))
    conf = site_from_slurm(SlurmTexts(slurm_conf=f"NodeName=n1 CPUs=4\n{line}\n"))
    assert shown.partitions[0].exclusive == conf.partitions[0].exclusive == alone
    assert not shown.ignored
