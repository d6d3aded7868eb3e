"""A killed test run leaves no daemons behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from conftest import ROOT, require
from shadowtime.testing.slurm import missing_programs, wait_for
from shadowtime.testing.watchdog import processes_with

START = """
import sys
from pathlib import Path
from shadowtime.testing.slurm import slurm_cluster
with slurm_cluster(Path(sys.argv[1]), nodes=1) as cluster:
    cluster.sbatch("--ntasks=1", script="sleep 600")
    print("up", flush=True)
    sys.stdin.read()
"""


def test_daemons_and_jobs_end_with_the_process_that_started_them() -> None:
    """Killed with -9: controller, node, munge and the running job end too, and nothing else.

    A process that merely talks to the same cluster, with the same SLURM_CONF, is not ended.
    """
    missing = missing_programs()
    require("slurm", not missing, f"Slurm is not installed ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-watchdog-"))
    setting = f"SLURM_CONF={folder / 'etc' / 'slurm.conf'}"

    def names() -> set[str]:
        found = set()
        for pid in processes_with(setting):
            try:
                found.add(Path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:  # it has just ended
                continue
        return found

    wanted = {"munged", "slurmctld", "slurmd", "sleep", "cat"}
    bystander = subprocess.Popen(
        ["cat"],
        env={"PATH": "/usr/bin:/bin", "SLURM_CONF": str(folder / "etc" / "slurm.conf")},
        stdin=subprocess.PIPE,
    )
    try:
        starter = subprocess.Popen(
            [sys.executable, "-c", START, str(folder)],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        wait_for(lambda: wanted <= names(), "the job to run")
        starter.kill()
        starter.communicate()
        wait_for(lambda: processes_with(setting) == [bystander.pid], "the watchdog")
        assert bystander.poll() is None
    finally:
        bystander.communicate()
        shutil.rmtree(folder, ignore_errors=True)
