"""Reading a real Slurm with a long queue, deciding about it and acting: wall time of each.

    python benchmarks/live_long_queue.py --policy easy --queue 10000 --nodes 200
    python benchmarks/live_long_queue.py --policy easy,lxfw,conservative --site --nodes 1000

Starts a private Slurm on loopback with a real slurmd for every node, fills all nodes but a few
with running jobs, submits the queue and prints the figures of each policy as JSON. Without
``--site`` the nodes are equal and the policy sees a pool. With it there are two kinds of nodes
with memory and generic resources, three partitions that overlap, QOS limits in a real slurmdbd
and a reservation, and the jobs are of the twenty kinds of benchmarks/live_site.py.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import mixed_site as mixed  # noqa: E402
from benchmarks.live_latency import Timed  # noqa: E402
from benchmarks.live_loads import CPUS, gate  # noqa: E402

from shadowtime.live.runner import Commands  # noqa: E402
from shadowtime.live.slurm import drive  # noqa: E402
from shadowtime.live.store import StateFile  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.slurmtext.squeue import ENVIRONMENT  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, become, slurm_cluster, wait_for  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PASSES = 5
"""Passes whose median is reported."""
SHELLS = 4
"""Shells that submit side by side."""


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="The live loop before a long queue.")
    parser.add_argument("--policy", default="easy", help="several, separated by commas")
    parser.add_argument("--queue", type=int, default=10000, help="waiting jobs")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--site", action="store_true", help="mixed nodes, partitions and limits")
    chosen = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-queue-"))
    folder.chmod(0o755)
    scene = on_site(chosen.nodes, chosen.queue) if chosen.site else on_pool(chosen.nodes)
    try:
        with slurm_cluster(folder / "slurm", **scene.options) as cluster:
            scene.ready(cluster)
            fill(cluster, scene, folder)
            submit(cluster, scene, chosen.queue, folder)
            for name in chosen.policy.split(","):
                found = measure(cluster, scene, name, folder)
                print(json.dumps(found, indent=1), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A cluster and what is submitted to it."""

    options: dict[str, Any]
    """What :func:`shadowtime.testing.slurm.slurm_cluster` takes."""
    where: drive.Where
    shape: Any
    filling: tuple[tuple[str, ...], ...]
    """Jobs that leave only a few nodes idle."""
    waiting: tuple[tuple[str, ...], ...]
    """The options of the queue's jobs, used in turn."""
    small: tuple[str, ...]
    """A job that can start at once."""
    user: str = ""
    ready: Callable[[SlurmCluster], None] = lambda cluster: None


def on_pool(nodes: int) -> Scene:
    """Equal nodes, of which one large job leaves one idle; every job needs two."""
    return Scene(
        options={"nodes": nodes, "cpus": CPUS, "prepare": gate},
        where=drive.Where(),
        shape=None,
        filling=((f"--nodes={nodes - 1}", "--exclusive", "--time=60"),),
        waiting=(("--nodes=2", "--exclusive", "--time=20"),),
        small=("--nodes=1", "--exclusive", "--time=20"),
    )


def on_site(nodes: int, queue: int) -> Scene:
    """The mixed site; running jobs on five nodes each leave at least five of each kind idle."""
    user = mixed.submitter()
    site = mixed.site_of(nodes)
    whole = {"cpu": site["kinds"][0].count // 5 - 1, "gpu": site["kinds"][1].count // 5 - 1}

    def ready(cluster: SlurmCluster) -> None:
        mixed.add_limits(cluster, user)
        mixed.reserve(cluster, user, begin=7200)

    return Scene(
        options={**site, "prepare": mixed.prepare},
        where=drive.Where(partition=",".join(mixed.NAMES)),
        shape="site",
        filling=tuple(
            ("-p", name, "-N5", "--exclusive", "--time=60")
            for name, count in whole.items()
            for _ in range(count)
        ),
        waiting=tuple(
            job.options
            for job in mixed.draw_mixed(1, queue)
            if job.tasks == 1 and "afterany:LAST" not in job.options
        ),
        small=("-p", "cpu", "-n1", "--time=1"),
        user=user,
        ready=ready,
    )


def loop_for(cluster: SlurmCluster, scene: Scene, policy: str, state: Path) -> tuple[Any, ...]:
    """The timed commands, the port and a loop that acts."""
    run = Timed(Commands(env={**cluster.env, **ENVIRONMENT}))
    port = drive.make_port(scene.where, run=run)
    loop = drive.make_loop(
        port, parse_policy(policy), StateFile(state), shape=scene.shape, act=True
    )
    return run, port, loop


def fill(cluster: SlurmCluster, scene: Scene, folder: Path) -> None:
    """Start the jobs that hold the nodes."""
    for options in scene.filling:
        cluster.sbatch(*options, script="sleep 3600", as_user=scene.user)
    *_, loop = loop_for(cluster, scene, "easy", folder / "fill.json")

    def running() -> bool:
        loop.step()
        states = cluster.run("squeue", "-h", "-o", "%t").split()
        return states.count("R") == len(scene.filling)

    wait_for(running, "the nodes to be filled", 900)


def submit(cluster: SlurmCluster, scene: Scene, count: int, folder: Path) -> None:
    """Submit the queue, from several shells at once."""
    script = folder / "job.sh"
    script.write_text("#!/bin/sh\nsleep 600\n")
    sbatch = (*(become(scene.user) if scene.user else ()), "sbatch", "--output=/dev/null")
    shells = []
    for first in range(SHELLS):
        jobs = (scene.waiting[k % len(scene.waiting)] for k in range(first, count, SHELLS))
        lines = [f"{shlex.join((*sbatch, *job, str(script)))} >/dev/null" for job in jobs]
        batch = folder / f"submit-{first}.sh"
        batch.write_text("\n".join(lines))
        shells.append(subprocess.Popen(["sh", str(batch)], env=cluster.env, cwd=folder))
    for shell in shells:
        shell.wait()


def measure(cluster: SlurmCluster, scene: Scene, policy: str, folder: Path) -> dict[str, Any]:
    """Looks and passes of one policy, each after one more submission; then one that acts."""
    run, port, loop = loop_for(cluster, scene, policy, folder / f"queue-{policy}.json")
    first = timed(run, port.snapshot)
    looks = [timed(run, port.snapshot) for _ in range(PASSES)]
    loop.act = False
    for _ in range(2):
        loop.step()  # compiles, and remembers all jobs
    passes = []
    for _ in range(PASSES):
        cluster.sbatch(*scene.waiting[0], as_user=scene.user)
        passes.append(timed(run, loop.step))
    loop.act = True
    cluster.sbatch(*scene.small, script="sleep 600", as_user=scene.user)
    act = timed(run, loop.step)
    return {
        "policy": policy,
        "queue": len(port.snapshot().waiting),
        "nodes": cluster.nodes,
        "running": len(scene.filling),
        "first_look_s": first,
        "look_s": middle(looks),
        "look_and_decide_s": middle(passes),
        "look_decide_look_start_look_s": act,
        "started": loop.kept.counters.get("started", 0),
    }


def timed(run: Timed, what: Callable[[], object]) -> dict[str, float]:
    """Wall time: of Slurm's commands, and of Python."""
    run.calls.clear()
    began = time.perf_counter()
    what()
    wall = time.perf_counter() - began
    slurm = run.seconds()
    return {"wall": round(wall, 3), "commands": round(slurm, 3), "python": round(wall - slurm, 3)}


def middle(values: list[dict[str, float]]) -> dict[str, float]:
    """The median of each part."""
    return {part: statistics.median(value[part] for value in values) for part in values[0]}


if __name__ == "__main__":
    sys.exit(main())
