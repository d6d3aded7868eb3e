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
from shadowtime.live.slurm.release import plan_release
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


def test_a_job_that_slurm_takes_for_impossible_at_the_gate_waits(
    overlapping: SlurmCluster,
) -> None:
    """sched/builtin considers the held job behind one of several partitions; it was once stuck."""
    several = overlapping.sbatch("-p", "a,b", "-n1")
    behind = overlapping.sbatch("-p", "a", "-n1")
    overlapping.run("scontrol", "release", several)  # as a job that is handed to Slurm
    shown = ("scontrol", "--oneliner", "show", "job", behind)
    wait_for(lambda: "Reason=BadConstraints" in overlapping.run(*shown), "Slurm's verdict")
    run = Commands(env={**overlapping.env, **ENVIRONMENT})
    port = drive.make_port(drive.Where(partition="a,b"), run=run)
    drive.choose_shape(port, parse_policy("easy"))
    assert [job.id for job in port.snapshot().waiting] == [behind]
    port.tidy()
    assert "Reason=JobHeldUser" in overlapping.run(*shown)
    assert [job.id for job in port.snapshot().waiting] == [behind]


def test_a_hold_that_slurm_calls_an_operators_is_the_gates_behind_several_partitions(
    overlapping: SlurmCluster,
) -> None:
    """sched/builtin writes why the held job does not start, and then calls that a hold."""
    overlapping.run("scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=test")
    several = overlapping.sbatch("-p", "a,b", "-n1")
    behind, later = (overlapping.sbatch("-p", "a", "-N2") for _ in range(2))
    overlapping.run("scontrol", "release", several)  # as a job that is handed to Slurm
    run = Commands(env={**overlapping.env, **ENVIRONMENT})
    port, again = (drive.make_port(drive.Where(partition="a,b"), run=run) for _ in range(2))
    drive.choose_shape(port, parse_policy("easy"))
    port.snapshot()
    again.recall(port.memory())  # a loop that starts again later
    overlapping.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    shown = ("scontrol", "--oneliner", "show", "job", behind)

    def relabelled() -> bool:
        overlapping.run("scontrol", "update", "PartitionName=a", "State=UP")  # another pass
        return "Reason=JobHeldAdmin" in overlapping.run(*shown)

    wait_for(relabelled, "Slurm's next pass")
    overlapping.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    for found in (again, port):
        drive.choose_shape(found, parse_policy("easy"))
        assert sorted(job.id for job in found.snapshot().waiting) == [behind, later]
    rows = again.look()
    given_back = plan_release(rows, again.touched, "a,b", relabelled=again.relabelled)
    assert sorted(given_back.lines) == [behind, later] and not given_back.stay
    assert any(f"gate's hold of {behind}" in line for line in port.tidy())
    assert "Reason=JobHeldUser" in overlapping.run(*shown)
    assert sorted(job.id for job in port.snapshot().waiting) == [behind, later]
    overlapping.run("scontrol", "hold", behind)  # now it is an operator's
    assert [job.id for job in port.snapshot().waiting] == [later]


def test_the_rest_of_an_array_follows_a_job_submitted_after_it(overlapping: SlurmCluster) -> None:
    """Slurm keeps it in a record of its own, behind the jobs of that time: two tasks were stuck."""
    array = overlapping.sbatch("-p", "a", "-N2", "--array=1-3")
    several = overlapping.sbatch("-p", "a,b", "-n1")
    overlapping.run("scontrol", "release", f"{array}_1")
    left = ("squeue", "-h", "-r", "-j", array, "-o", "%K")
    wait_for(lambda: "1" not in overlapping.run(*left).split(), "the end of the first task")
    overlapping.run("scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=test")
    overlapping.run("scontrol", "release", several)  # as a job that is handed to Slurm
    run = Commands(env={**overlapping.env, **ENVIRONMENT})
    port = drive.make_port(drive.Where(partition="a,b"), run=run)
    drive.choose_shape(port, parse_policy("easy"))
    port.snapshot()
    overlapping.run("scontrol", "update", "NodeName=n1", "State=RESUME")

    def relabelled() -> bool:
        overlapping.run("scontrol", "update", "PartitionName=a", "State=UP")  # another pass
        reasons = overlapping.run("squeue", "-h", "-r", "-j", array, "-o", "%r").split()
        return reasons == ["JobHeldAdmin"] * 2

    wait_for(relabelled, "Slurm's next pass")
    overlapping.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    assert sorted(job.id for job in port.snapshot().waiting) == [f"{array}_2", f"{array}_3"]
    port.tidy()
    reasons = overlapping.run("squeue", "-h", "-r", "-j", array, "-o", "%r").split()
    assert reasons == ["JobHeldUser"] * 2
