"""Holds mean what they say, and leaving leaves nothing: on the daemons themselves."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.test_slurm_hostile_real import gate
from live.test_slurm_real import lasting_until, loop_over
from shadowtime.live.loop import Loop
from shadowtime.live.slurm.release import give_back, plan_release
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for


@pytest.fixture
def gateless(slurm_root: Path | None) -> Iterator[SlurmCluster]:
    """Two nodes, and no gate yet."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-leaving-"))
    try:
        with slurm_cluster(folder, nodes=2, cpus=2, gres=0, root=slurm_root) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def set_up(cluster: SlurmCluster) -> None:
    """The gate comes while jobs wait."""
    gate(cluster)
    cluster.kill("slurmctld")
    cluster.start_controller()


def state(cluster: SlurmCluster, job: str) -> str:
    return cluster.run("squeue", "-h", "-a", "-t", "all", "-j", job, "-o", "%T").strip()


def until(loop: Loop, cluster: SlurmCluster, job: str, wanted: str) -> None:
    def reached() -> bool:
        loop.step()
        return state(cluster, job) == wanted

    wait_for(reached, f"{job} to be {wanted}")


def test_holds_of_users_stay_and_leaving_leaves_nothing(
    gateless: SlurmCluster, tmp_path: Path
) -> None:
    """Held before the gate, requeued and held, released; then every job is Slurm's again."""
    cluster, go = gateless, tmp_path / "go"
    held = cluster.sbatch("-n1", "--hold")
    set_up(cluster)
    loop = loop_over(cluster, "easy", tmp_path)
    runs = cluster.sbatch("-n1", script=lasting_until(go))
    until(loop, cluster, runs, "RUNNING")
    assert state(cluster, held) == "PENDING"  # free nodes, and a hold of its user's

    cluster.run("scontrol", "requeuehold", runs)
    until(loop, cluster, runs, "PENDING")
    for _ in range(3):
        loop.step()
    assert state(cluster, runs) == "PENDING" and "held" in str(loop.port.ineligible[runs])
    cluster.run("scontrol", "release", runs)
    time.sleep(2)  # slurmd starts no job in the second of its last kill
    cluster.run("scontrol", "update", f"JobId={runs}", "StartTime=now")  # Slurm's two minutes
    until(loop, cluster, runs, "RUNNING")
    cluster.run("scontrol", "release", held)
    until(loop, cluster, held, "COMPLETED")

    other = cluster.sbatch("-n1", script=lasting_until(go))
    until(loop, cluster, other, "RUNNING")
    waits = cluster.sbatch("-N2", "--exclusive", "-t", "1")
    late = cluster.sbatch("-N2", "--exclusive", "-t", "1")
    still = cluster.sbatch("-n1", "--hold")
    loop.step()
    cluster.run("scontrol", "update", f"JobId={late}", "StartTime=2096-10-02T07:06:40")
    port = loop.port
    plan = plan_release(
        port.look(), port.touched, "batch", now=port.clock.now(), begins=port.begins
    )
    assert {waits, late} <= plan.lines.keys() and plan.stay.keys() == {still}
    assert set(plan.unmark) == {runs, other}
    assert "nothing was changed" in plan.words()[-1]
    found = give_back(port, plan)
    assert found.held.keys() == {still}
    shown = [cluster.run("scontrol", "show", "job", job) for job in (runs, other, waits, late)]
    assert not any("shadowtime?" in record for record in shown)
    go.touch()  # there is no loop any more
    for job in (runs, other, waits, late):
        wait_for(lambda job=job: state(cluster, job) == "COMPLETED", f"{job} to run by itself")
    assert state(cluster, still) == "PENDING"
