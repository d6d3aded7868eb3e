"""Sixty jobs on a real eight-node Slurm under a policy, beside a simulation of them.

    python benchmarks/live_slurm.py --policy easy
    python benchmarks/live_slurm.py --policy pv-easy --jobs 60 --seed 1
    python benchmarks/live_slurm.py --policy lessc
    python benchmarks/live_slurm.py --alone
    python benchmarks/live_slurm.py --policy easy --jobs 0 --idle 120

Starts a private Slurm on loopback (Debian's munge, slurmctld, slurmd, slurm-client), submits the
jobs, drives them with the live loop and prints the figures as JSON. ``--alone`` leaves the same
jobs to Slurm itself (first come, first served): its own delays to compare with. ``--idle``
measures the processor time of the command for that many seconds in which nothing happens. The jobs
of lessc and hperf share nodes, and the most bandwidth that was given out on a node is printed.
benchmarks/live_long_queue.py measures reading and deciding with a long queue.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.live_latency import SCRIPT, Timed, delays, marks  # noqa: E402
from benchmarks.live_loads import CPUS, Load, bandwidth_watched, load_for  # noqa: E402

from shadowtime.live.heartbeat import heartbeat_of  # noqa: E402
from shadowtime.live.record import read_passes  # noqa: E402
from shadowtime.live.runner import Commands  # noqa: E402
from shadowtime.live.slurm import drive  # noqa: E402
from shadowtime.live.store import StateFile  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.slurmtext.squeue import ENVIRONMENT  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for  # noqa: E402

if TYPE_CHECKING:
    from shadowtime.live.loop import Loop

NODES = 8


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Jobs on a real Slurm under a policy.")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--idle", type=int, default=0, metavar="SECONDS")
    parser.add_argument("--alone", action="store_true", help="without the loop")
    chosen = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-bench-"))
    try:
        load = load_for(chosen.policy, max(1, chosen.jobs), chosen.seed, chosen.nodes)
        with slurm_cluster(
            folder,
            prepare=None if chosen.alone else load.prepare,
            nodes=chosen.nodes,
            cpus=CPUS,
            owner=load.owner,
        ) as cluster:
            found: dict[str, Any] = {}
            if chosen.jobs:
                policy = "" if chosen.alone else chosen.policy
                found |= measure(cluster, policy, load, folder)
            if chosen.idle:
                found |= idle_loop(cluster, chosen.policy, chosen.idle, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found, indent=1))
    return 0


SETTLE = 60
"""Seconds without events after which a loop polls rarely."""


def idle_loop(cluster: SlurmCluster, policy: str, seconds: int, folder: Path) -> dict[str, Any]:
    """The processor time of the command, and of those that it runs, while nothing happens."""
    words = ["live", "slurm", "--policy", policy, "--apply", "--state", str(folder / "idle.json")]
    loop = subprocess.Popen(
        [sys.executable, "-m", "shadowtime", *words], env=cluster.env, stdout=subprocess.DEVNULL
    )
    try:
        wait_for(heartbeat_of(folder / "idle.json").exists, "the loop to look")
        time.sleep(SETTLE)
        before = processor_times(loop.pid)
        time.sleep(seconds)
        after = processor_times(loop.pid)
    finally:
        loop.terminate()
        loop.wait(60)
    own, others = (round(100 * (b - a) / seconds, 2) for a, b in zip(before, after, strict=True))
    return {"idle_seconds": seconds, "loop_percent": own, "commands_percent": others}


def processor_times(pid: int) -> tuple[float, float]:
    """Seconds of a process, and of the children that it has waited for."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system, children, children_system = (int(word) for word in words[11:15])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + system) / tick, (children + children_system) / tick


def loop_over(run: Timed, policy: str, folder: Path) -> Loop:
    """A loop that acts and records."""
    return drive.make_loop(
        drive.make_port(drive.Where(), run=run),
        parse_policy(policy),
        StateFile(folder / "live.json"),
        act=True,
        record=folder / "passes.jsonl",
        tell=lambda line: print(f"{time.time():.2f} {line}", file=sys.stderr),
    )


def commands(cluster: SlurmCluster) -> Timed:
    """Slurm's commands, timed."""
    return Timed(Commands(env={**cluster.env, **ENVIRONMENT}))


def measure(cluster: SlurmCluster, policy: str, load: Load, folder: Path) -> dict[str, Any]:
    """Submit on time, drive (without a policy: Slurm does), and compare with the simulation."""
    work = load.work
    log = folder / "times.log"
    log.touch()
    log.chmod(0o666)
    run = commands(cluster)
    loop = loop_over(run, policy, folder) if policy else None
    if loop is not None:
        loop.step()  # whatever must be compiled is compiled before the clock runs
    run.calls.clear()
    began = time.time()
    ids: dict[str, int] = {}
    submitted: dict[str, float] = {}
    all_in = threading.Event()

    def submit_all() -> None:
        for at in range(len(work)):
            time.sleep(max(0.0, began + int(work.submit[at]) - time.time()))
            now = time.time()
            job = cluster.sbatch(
                *load.options(at),
                f"--time={work.request[at] // 60}",
                script=SCRIPT.format(log=log, seconds=work.run[at]),
            )
            ids[job], submitted[job] = at, now
        all_in.set()

    def finished() -> bool:
        return all_in.is_set() and ended(log) >= len(work)

    feeder = threading.Thread(target=submit_all)
    feeder.start()
    with bandwidth_watched(cluster) if load.shared else nullcontext([0]) as most:
        if loop is not None:
            loop.run(stopped=finished)
        else:
            wait_for(finished, "the jobs to end", 900)
    feeder.join()
    took = time.time() - began
    written = marks(log)
    begins = {mark.job: mark.when for mark in written if mark.what == "begin"}
    print(log.read_text(), file=sys.stderr)
    waits = [begins[job] - began - int(work.submit[at]) for job, at in ids.items()]
    found: dict[str, Any] = {
        "policy": policy or "Slurm alone",
        "jobs": len(work),
        "completed": ended(log),
        "runs_beyond_the_first": sum(mark.what == "begin" for mark in written) - len(begins),
        "makespan_s": round(max(mark.when for mark in written) - began, 1),
        "wait_mean_s": round(statistics.mean(waits), 2),
        **delays(written, submitted, run.released, shared=load.shared),
    }
    if load.shared:
        found["most_bandwidth_on_a_node"] = most[0]
    if policy:
        starts = load.starts()
        found |= {
            "makespan_simulated_s": int((starts + work.run).max()),
            "wait_mean_simulated_s": round(float((starts - work.submit).mean()), 2),
            "commands_a_second": round(len(run.calls) / took, 1),
            **decided_again(folder / "passes.jsonl", policy),
        }
    return found


def decided_again(recorded: Path, policy: str) -> dict[str, int]:
    """Every recorded pass, decided again by the simulator's code."""
    alike = different = decisions = 0
    for found in read_passes(recorded):
        same = found.decide_again(parse_policy(policy)) == found.decisions
        alike, different = alike + same, different + (not same)
        decisions += len(found.decisions)
    return {
        "passes": alike + different,
        "decisions": decisions,
        "passes_decided_differently": different,
    }


def ended(log: Path) -> int:
    """How many jobs have come to their own end."""
    return len({mark.job for mark in marks(log) if mark.what == "end"})


if __name__ == "__main__":
    sys.exit(main())
