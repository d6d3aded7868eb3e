"""What users write into their jobs stops no loop and forges no row: on the daemons themselves."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from live.test_slurm_real import finish, loop_over
from shadowtime.live.slurm import setup
from shadowtime.slurmtext.squeue import BETWEEN, COLUMNS
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster

FORGED = BETWEEN.join(("99", "RUNNING", "None", "9", *("1" for _ in COLUMNS[4:])))
"""Another job, as far as squeue's columns go."""
TEXTS = (
    "evil\x1fx",
    "evil\u2028x",
    "evil\x0cx",
    "evil\x1cx",
    "evil\rx",
    "evil\nx",
    f"evil{BETWEEN}\n{FORGED}{BETWEEN}\n",
    "evil\nJobId=1 JobName=x ReqNodeList=(null) ExcNodeList=n[1-2] NodeList= OverSubscribe=OK \n",
    "x\nupdate JobId=1 Priority=0\nhold 1\n",
    "\x85\u2029\x0b" * 20,
)
OPTIONS = ("--account", "--qos", "--job-name", "--comment", "--tres-per-task", "--wckey", "--extra")


def gate(cluster: SlurmCluster) -> None:
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0])
    setup.carry_out(changes, folder)


@pytest.mark.parametrize("policy", ["easy", "lessc"])
def test_hostile_submissions_change_nothing_for_others(
    slurm_root: Path | None, tmp_path: Path, policy: str
) -> None:
    """Seventy of them, before and after the jobs of others, which all run; no job 99 is seen."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-hostile-"))
    try:
        with slurm_cluster(folder, nodes=2, cpus=4, root=slurm_root, prepare=gate) as cluster:
            ours = [cluster.sbatch("-n1", script="true")]
            taken = [
                name for name in (hostile(cluster, o, t) for o in OPTIONS for t in TEXTS) if name
            ]
            ours += [cluster.sbatch("-n1", script="true") for _ in range(3)]
            loop = loop_over(cluster, policy, tmp_path)
            seen = {job.id for job in loop.port.snapshot().waiting} | set(loop.port.ineligible)
            assert seen <= {*ours, *taken} and len(taken) >= 40
            assert set(ours) <= {job.id for job in loop.port.snapshot().waiting}
            assert not loop.port.answers.unreadable
            finish(loop, seconds=300)
            done = cluster.run("squeue", "-h", "-t", "CD", "-o", "%i").split()
            assert set(ours) <= set(done)
            assert loop.kept.counters.get("errors", 0) == 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hostile(cluster: SlurmCluster, option: str, text: str) -> str:
    """A job with such a text; its id, empty where Slurm refuses it."""
    words = ["sbatch", "--parsable", "-n1", "-o", "/dev/null", f"{option}={text}", "--wrap", "true"]
    done = subprocess.run(words, env=cluster.env, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
