"""Which jobs count in the QOS of a partition, on real Slurms (spec: slurm 6.3)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SLURMS, require_slurm
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm_recording import SETTINGS

PARTITIONS = [
    "PartitionName=batch Nodes=n[1-2] Default=YES MaxTime=60 State=UP",
    "PartitionName=gpu Nodes=n[3-4] MaxTime=60 State=UP",
]


@pytest.fixture(scope="module", params=SLURMS)
def cluster(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """Two partitions with their own scheduler, one of them with a QOS of four cpus per user."""
    root = require_slurm(request.param)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-part-qos-"))
    settings = [*SETTINGS, "AccountingStorageEnforce=limits,qos"]
    try:
        with slurm_cluster(
            folder, nodes=4, cpus=4, gres=0, accounting=True, partitions=PARTITIONS,
            settings=settings, root=root,
        ) as made:  # fmt: skip
            for line in (
                "add account project", "add user root account=project",
                "add qos few MaxTRESPerUser=cpu=4", "modify user root set qos+=few,normal",
            ):  # fmt: skip
                made.run("sacctmgr", "--immediate", *line.split(), check=False)
            wait_for(lambda: _set(made), "slurmctld to know the QOS")
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _set(cluster: SlurmCluster) -> bool:
    cluster.run("scontrol", "update", "PartitionName=gpu", "QOS=few", check=False)
    return "QoS=few" in cluster.run("scontrol", "show", "partition", "gpu", check=False)


def submit(cluster: SlurmCluster, *options: str) -> str:
    return cluster.sbatch("--ntasks=4", "--time=10", *options, script="sleep 600")


def seen(cluster: SlurmCluster, job: str) -> str:
    return cluster.run("squeue", "-h", "-j", job, "-o", "%T %r").strip()


def test_jobs_in_the_partition_and_of_the_qos_count(cluster: SlurmCluster) -> None:
    """Those elsewhere do not: the model counts the same (test_policy.py)."""
    elsewhere = [submit(cluster) for _ in range(2)]
    for job in elsewhere:
        wait_for(lambda one=job: seen(cluster, one).startswith("RUNNING"), f"{job} to run")  # type: ignore[misc]
    first, second = submit(cluster, "-p", "gpu"), submit(cluster, "-p", "gpu")
    wait_for(lambda: seen(cluster, first).startswith("RUNNING"), "the first one in gpu to run")
    wait_for(lambda: "MaxCpuPerUser" in seen(cluster, second), "the second one to be over it")
    cluster.run("scancel", *elsewhere, first, second)
    wait_for(lambda: not cluster.run("squeue", "-h").strip(), "an empty queue")
    of_it = submit(cluster, "-q", "few")
    wait_for(lambda: seen(cluster, of_it).startswith("RUNNING"), "the job of the QOS to run")
    inside = submit(cluster, "-p", "gpu")
    wait_for(lambda: "MaxCpuPerUser" in seen(cluster, inside), "the one in gpu to be over it")
