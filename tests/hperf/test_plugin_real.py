"""The submit plug-in and the epilog on a real Slurm: a tag is measured alone, then it shares."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from conftest import ROOT, SLURMS, require_slurm
from shadowtime.hperf.install import Installation
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for

CAPACITY = 34_000
EACH = 3000


def installed(cluster: SlurmCluster) -> Installation:
    """HPerf's files as `shadowtime hperf install` writes them."""
    folder = cluster.conf.parent / "hperf"
    folder.mkdir(exist_ok=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}/src exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return Installation(
        folder=folder,
        store=str(folder / "s.sqlite"),
        capacity=CAPACITY,
        version=cluster.version,
        python=str(python),
    )


def prepare(cluster: SlurmCluster, epilog: str) -> None:
    plan = installed(cluster)
    plan.write()
    shutil.copy(plan.folder / "job_submit.lua", cluster.conf.parent / "job_submit.lua")
    lines = ["JobSubmitPlugins=lua", f"{epilog}={plan.folder / 'hperf-epilog.sh'}"]
    cluster.conf.write_text(cluster.conf.read_text() + "\n".join(lines) + "\n")
    if os.geteuid() == 0:
        for path in [plan.folder, *plan.folder.iterdir()]:
            shutil.chown(path, "slurm", "slurm")


@pytest.fixture(scope="module", params=list(product(("Epilog", "EpilogSlurmctld"), SLURMS)))
def slurm(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """Two nodes; the epilog on the nodes (as root), or at the controller (as SlurmUser).

    SlurmUser is root there, as the user slurm may not be allowed to run this Python.
    """
    epilog, version = request.param
    root = require_slurm(version, accounting=False)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-hperf-"))
    owner = "root" if epilog == "EpilogSlurmctld" and os.geteuid() == 0 else ""
    try:
        with slurm_cluster(
            folder,
            prepare=lambda cluster: prepare(cluster, epilog),
            nodes=2,
            gres=CAPACITY,
            owner=owner,
            root=root,
        ) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def comment_of(slurm: SlurmCluster, job: str) -> str:
    return slurm.run("scontrol", "show", "job", job, check=False)


def running(slurm: SlurmCluster, job: str) -> bool:
    return "JobState=RUNNING" in comment_of(slurm, job)


def used(slurm: SlurmCluster) -> list[int]:
    """Bandwidth allocated on each node."""
    text = slurm.run("scontrol", "show", "node", "-d")
    return [int(number) for number in re.findall(r"GresUsed=membw:(\d+)", text)]


def test_measured_alone_then_shared(slurm: SlurmCluster) -> None:
    """An unknown tag gets an exclusive node once; then its tasks are counted, up to the limit."""
    table = installed(slurm).table
    tagged = ("--ntasks=4", "--time=2", f"--comment=tag=cg,bw={EACH}")
    first = slurm.sbatch(*tagged, script="sleep 1")
    wait_for(lambda: "JobState=COMPLETED" in comment_of(slurm, first), "the first job")
    assert "NumCPUs=16" in comment_of(slurm, first)  # the whole node, for four tasks
    wait_for(lambda: table.read_text() == f"cg\t{EACH}\n", "the epilog")

    jobs = [slurm.sbatch(*tagged, script="sleep 30") for _ in range(8)]
    wait_for(lambda: sum(running(slurm, job) for job in jobs) >= 4, "jobs that share")
    assert re.search(rf"TresPerTask=gres[:/]membw[:=]{EACH}\b", comment_of(slurm, jobs[0]))
    assert "NumCPUs=4" in comment_of(slurm, jobs[0])
    # 11 tasks a node have room: 32 tasks would fit by their cores.
    given = used(slurm)
    assert len(given) == 2 and max(given) <= CAPACITY
    assert sum(given) >= 4 * 4 * EACH
    assert sum(running(slurm, job) for job in jobs) <= 5
    slurm.clear()


def test_a_broken_table_rejects_no_job(slurm: SlurmCluster) -> None:
    """Garbage where the table was: the job is accepted and runs alone."""
    table = installed(slurm).table
    before = table.read_bytes()
    table.write_bytes(b"\xff\xfe garbage")
    job = slurm.sbatch("--ntasks=2", "--time=2", "--comment=tag=cg", script="sleep 1")
    wait_for(lambda: "JobState=COMPLETED" in comment_of(slurm, job), "the job")
    assert "NumCPUs=16" in comment_of(slurm, job)
    table.write_bytes(before)
    plain = slurm.sbatch("--ntasks=2", "--time=2", script="sleep 1")
    wait_for(lambda: "JobState=COMPLETED" in comment_of(slurm, plain), "a job without a tag")
    assert "NumCPUs=2" in comment_of(slurm, plain)
