"""Sweeps as jobs of a real Slurm: an array that is killed and submitted again, workers of Parsl."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require
from shadowtime.api.sweep import load_log
from shadowtime.study.sweep import Shards, run_plan
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.study.sweep.scale import slurm_script
from shadowtime.study.sweep.shards import write_table
from shadowtime.testing.slurm import SlurmCluster, missing_programs, slurm_cluster, wait_for
from study.sweep.worlds import GATE, command, write_plan

TASKS = 3
RUNS = 240
PATIENCE = 900


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    """Two nodes of two processors."""
    missing = missing_programs()
    require("slurm", not missing, f"Slurm is not installed ({', '.join(missing)})")
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-sweep-"))
    try:
        with slurm_cluster(folder, nodes=2, cpus=2) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table_bytes(folder: Path) -> bytes:
    write_table(Shards(folder).collect(), folder / "table.parquet")
    return (folder / "table.parquet").read_bytes()


def test_an_array_that_is_killed_and_submitted_again(cluster: SlurmCluster, tmp_path: Path) -> None:
    """What was written is kept, the rest runs, and the table equals that of one local process."""
    gate = GATE.replace("if not self.open:", "if not self.open and view.capacity[0] == 300:")
    (tmp_path / "gate.py").write_text(gate)
    path = write_plan(tmp_path, ["easy(reserve=1..7)", "gate.py:Gate"], shake=14)
    path.write_text(path.read_text().replace('["pool:256"]', '["pool:256", "pool:300"]'))
    folder = tmp_path / "r"
    shards = Shards(folder)
    shards.make()
    script = tmp_path / "sweep.sh"
    script.write_text(slurm_script(str(path), str(folder), tasks=TASKS))

    def submit() -> str:
        return cluster.run("sbatch", "--parsable", str(script)).strip().split(";")[0]

    def empty() -> bool:
        return not cluster.run("squeue", "-h", "-a").strip()

    job = submit()
    waiting = "a task at the gate, with shards written"
    wait_for(lambda: (tmp_path / "pid").exists() and len(shards.files()) > 0, waiting, PATIENCE)
    cluster.run("scancel", "--signal=KILL", "--full", job)
    cluster.run("scancel", job)
    wait_for(empty, "the array to be gone", PATIENCE)
    kept = len(shards.done())
    assert 0 < kept < RUNS
    (tmp_path / "go").touch()
    submit()
    wait_for(empty, "the second array to end", PATIENCE)
    logs = "".join(one.read_text() for one in sorted(folder.glob("task-*.log")))
    assert len(shards.done()) == RUNS, logs
    run_plan(read_plan(path), tmp_path / "local", load=load_log, workers=1)
    assert table_bytes(folder) == table_bytes(tmp_path / "local")


def test_workers_as_jobs_one_of_them_killed(cluster: SlurmCluster, tmp_path: Path) -> None:
    """504 simulations through Parsl; a worker dies at the gate, and its runs are made again."""
    pytest.importorskip("parsl", reason="the extra scale is not installed")
    (tmp_path / "gate.py").write_text(GATE)
    path = write_plan(tmp_path, ["easy(reserve=1..7)", "gate.py:Gate"], shake=62)
    folder = tmp_path / "r"
    site = ("partition=batch", "blocks=2", "address=127.0.0.1", "walltime=00:20:00")
    words = ["sweep", str(path), "-o", str(folder), "--on", "slurm"]
    words += [word for text in site for word in ("--site", text)]
    with subprocess.Popen(
        command(*words), env=cluster.env, stderr=subprocess.PIPE, text=True
    ) as it:
        try:
            gone = (tmp_path / "pid").exists
            wait_for(lambda: gone() or it.poll() is not None, "a worker at the gate", PATIENCE)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
            (tmp_path / "go").touch()
            _, errors = it.communicate(timeout=PATIENCE)
        finally:
            it.kill()
    assert it.returncode == 0, errors
    assert len(Shards(folder).done()) == 8 * 63
    run_plan(read_plan(path), tmp_path / "local", load=load_log, workers=1)
    assert table_bytes(folder) == table_bytes(tmp_path / "local")
    wait_for(lambda: not cluster.run("squeue", "-h", "-a").strip(), "the workers to end", PATIENCE)
