"""Every Slurm that is installed or fetched starts as a private cluster and runs jobs."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from shadowtime.testing.slurm import slurm_cluster, wait_for


def test_a_cluster_of_every_version_runs_jobs(slurm_root: Path | None) -> None:
    """The commands of the version that was asked for talk to daemons of the same one."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-version-"))
    try:
        with slurm_cluster(folder, nodes=2, gres=0, accounting=True, root=slurm_root) as cluster:
            version = cluster.run("sbatch", "--version").split()[-1]
            if slurm_root is not None:
                wanted = tuple(map(int, slurm_root.name.removeprefix("slurm-").split(".")))
                # The suite of the newest one moves on.
                assert tuple(map(int, version.split(".")))[:2] >= wanted
            shown = cluster.run("scontrol", "show", "config")
            found = re.search(r"(?m)^SLURM_VERSION\s*= (\S+)$", shown)
            assert found and found[1] == version
            job = cluster.sbatch("-n", "2", script="true")
            words = ("sacct", "-X", "-n", "-P", "-j", job, "--format=JobIDRaw,State,NCPUS")
            wait_for(lambda: f"{job}|COMPLETED|2" in cluster.run(*words), "the job's end in sacct")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
