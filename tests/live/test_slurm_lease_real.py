"""Nobody waits for a dead loop: on every Slurm, leases end and Slurm schedules by itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from live.test_slurm_real import finish, loop_over
from shadowtime.live.slurm import setup
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for


def with_a_short_lease(cluster: SlurmCluster) -> None:
    """A gate whose leases end at the next such second of a minute."""
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0], lease=5)
    setup.carry_out(changes, folder)


def test_a_dead_loop_keeps_nobody_waiting(slurm_root: Path | None, tmp_path: Path) -> None:
    """All but the held job run; that one runs when it is released; then a loop takes over."""
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-lease-"))
    go = tmp_path / "go"
    try:
        with slurm_cluster(
            folder, nodes=2, cpus=2, gres=0, root=slurm_root, prepare=with_a_short_lease
        ) as cluster:
            before = cluster.sbatch(
                "-N2", "--exclusive", script=f"until [ -e {go} ]; do sleep 0.2; done"
            )
            held = cluster.sbatch("-n1", "--hold")
            plain = cluster.sbatch("-n1")
            array = cluster.sbatch("-n1", "--array=1-2")
            loop = loop_over(cluster, "easy", tmp_path)
            loop.port.lease = 5
            wait_for(lambda: before in running(cluster, loop), "the first job")
            go.touch()  # from here on there is no loop
            wanted = {before, plain, f"{array}_1", f"{array}_2"}
            wait_for(lambda: wanted <= ended(cluster), "Slurm to run every job")
            assert held not in ended(cluster)
            cluster.run("scontrol", "release", held)
            wait_for(lambda: held in ended(cluster), "the job that was released")
            again = loop_over(cluster, "easy", tmp_path)
            late = cluster.sbatch("-n1")
            finish(again)
            assert late in ended(cluster)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def running(cluster: SlurmCluster, loop: object) -> list[str]:
    loop.step()  # type: ignore[attr-defined]
    return cluster.run("squeue", "-h", "-t", "R", "-o", "%i").split()


def ended(cluster: SlurmCluster) -> set[str]:
    return set(cluster.run("squeue", "-h", "-a", "-r", "-t", "CD", "-o", "%i").split())
