"""The loop on a real mixed site: sixty jobs of every kind in the site model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, require
from shadowtime.live.runner import Commands
from shadowtime.live.slurm import drive, setup
from shadowtime.policy import parse_policy
from shadowtime.slurmtext.squeue import ENVIRONMENT
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm import missing_programs as missing_of_slurm
from shadowtime.testing.slurm_accounting import missing_programs


def test_sixty_jobs_on_a_mixed_site() -> None:
    """None is lost, run twice, refused for what it asks or handed to Slurm; all decided alike.

    How long nodes were idle is printed by the program and not checked here: it depends on how
    busy the machine is.
    """
    missing = missing_of_slurm() + missing_programs()
    require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "live_site.py"), "--policy", "easy"],
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    bad = ("lost", "doubled", "refused_after_release", "handed_to_slurm")
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, 0), found
    assert (found["jobs"], found["completed"], found["passes_decided_differently"]) == (60, 60, 0)
    assert found["decisions"] >= 60


def gate_of_two(cluster: SlurmCluster) -> None:
    """Every job of both partitions to the gate."""
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["a", "b"], default=True, masters=[0])
    setup.carry_out(changes, folder)


@pytest.fixture
def overlapping() -> Iterator[SlurmCluster]:
    """Two nodes in two partitions."""
    missing = missing_of_slurm()
    require("slurm", not missing, f"Slurm is not installed ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-two-"))
    lines = tuple(f"PartitionName={name} Nodes=n[1-2] State=UP" for name in ("a Default=YES", "b"))
    try:
        with slurm_cluster(
            folder, prepare=gate_of_two, nodes=2, cpus=2, partitions=lines
        ) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_what_slurm_does_behind_a_job_of_several_partitions_leaves_the_gate_alone(
    overlapping: SlurmCluster,
) -> None:
    """The rest of an array stays there; a hold at the gate was once relabelled.

    Slurm 22.05's sched/builtin tries the next job as well, whatever its begin time, and may start
    it; that job then runs, and is lost to nobody.
    """
    array = overlapping.sbatch("-p", "a", "-N2", "--array=1-3")
    several = overlapping.sbatch("-p", "a,b", "-n1")
    behind = overlapping.sbatch("-p", "a", "-n1")
    for job in (f"{array}_1", several):  # as jobs that are handed to Slurm
        overlapping.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    ended = ("squeue", "-h", "-a", "-r", "-t", "CD", "-o", "%i")
    gone = {f"{array}_1", several}
    wait_for(lambda: gone <= set(overlapping.run(*ended).split()), "the end of both")
    run = Commands(env={**overlapping.env, **ENVIRONMENT})
    port = drive.make_port(drive.Where(partition="a,b"), run=run)
    drive.choose_shape(port, parse_policy("easy"))
    waiting = {job.id for job in port.snapshot().waiting}
    assert waiting - {behind} == {f"{array}_2", f"{array}_3"}
    if behind not in waiting:
        wait_for(lambda: behind in overlapping.run(*ended).split(), "the job that Slurm started")
