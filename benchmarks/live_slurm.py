"""Sixty jobs on a real eight-node Slurm under a policy, beside what the simulator says of them.

    python benchmarks/live_slurm.py --policy easy
    python benchmarks/live_slurm.py --policy pv-easy --jobs 60 --seed 1 --queue 10000

Starts a private Slurm on loopback (Debian's munge, slurmctld, slurmd, slurm-client), submits the
jobs, drives them with the live loop and prints the figures as JSON. ``--queue`` also measures a
snapshot of that many waiting tasks.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from shadowtime.cluster import Cluster  # noqa: E402
from shadowtime.engine import simulate  # noqa: E402
from shadowtime.live.record import read_passes  # noqa: E402
from shadowtime.live.runner import Commands  # noqa: E402
from shadowtime.live.slurm import drive, setup  # noqa: E402
from shadowtime.live.slurm.text import ENVIRONMENT  # noqa: E402
from shadowtime.live.store import StateFile  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster  # noqa: E402
from shadowtime.workload import Workload  # noqa: E402

if TYPE_CHECKING:
    from shadowtime.live.loop import Loop, Step

NODES = 8


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Jobs on a real Slurm under a policy.")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queue", type=int, default=0)
    chosen = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-bench-"))
    try:
        with slurm_cluster(
            folder, prepare=gate, nodes=NODES, cpus=16, settings=["MaxArraySize=20001"]
        ) as cluster:
            found = measure(cluster, chosen.policy, jobs(chosen.jobs, chosen.seed), folder)
            if chosen.queue:
                found |= snapshot_of(cluster, chosen.queue)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found, indent=1))
    return 0


def gate(cluster: SlurmCluster) -> None:
    """As `shadowtime live slurm setup` leaves the configuration."""
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0])
    setup.carry_out(changes, folder)


def jobs(count: int, seed: int) -> Workload:
    """Whole-node jobs, a second apart on average, that use part of what they ask for."""
    draw = np.random.default_rng(seed)
    run = draw.integers(2, 9, count)
    return Workload.build(
        submit=np.cumsum(draw.integers(0, 3, count)),
        run=run,
        procs=16 * draw.choice([1, 1, 2, 3, 4, 6], count),
        request=60 * draw.integers(1, 4, count),
        user=draw.integers(0, 3, count),
    )


def loop_over(cluster: SlurmCluster, policy: str, folder: Path) -> Loop:
    """A loop that acts and records."""
    run = Commands(env={**cluster.env, **ENVIRONMENT})
    port = drive.make_port(drive.Where(), run=run)
    return drive.make_loop(
        port,
        parse_policy(policy),
        StateFile(folder / "live.json"),
        act=True,
        record=folder / "passes.jsonl",
        tell=lambda line: print(f"{time.time():.2f} {line}", file=sys.stderr),
    )


def measure(cluster: SlurmCluster, policy: str, work: Workload, folder: Path) -> dict[str, Any]:
    """Submit on time, drive, and compare with the simulation."""
    log = folder / "times.log"
    log.touch()
    log.chmod(0o666)
    loop = loop_over(cluster, policy, folder)
    loop.step()  # whatever must be compiled is compiled before the clock runs
    began = time.time()
    ids: dict[str, int] = {}
    submitted = threading.Event()

    def submit_all() -> None:
        for at in range(len(work)):
            time.sleep(max(0.0, began + int(work.submit[at]) - time.time()))
            script = (
                f'echo "$SLURM_JOB_ID begin $(date +%s.%N)" >> {log}\n'
                f"sleep {work.run[at]}\n"
                f'echo "$SLURM_JOB_ID end $(date +%s.%N)" >> {log}'
            )
            nodes, minutes = work.procs[at] // 16, work.request[at] // 60
            job = cluster.sbatch(
                f"--nodes={nodes}", "--exclusive", f"--time={minutes}", script=script
            )
            ids[job] = at
        submitted.set()

    released: dict[str, float] = {}
    lag: list[float] = []

    def after(step: Step) -> None:
        now = time.time()
        for outcome in step.outcomes:
            if outcome.done and hasattr(outcome.decision, "place"):
                released[outcome.decision.job] = now
                ends = [t for _, what, t in lines(log) if what == "end" and t < now]
                submits = [began + int(work.submit[at]) for at in ids.values()]
                lag.append(now - max(ends + [t for t in submits if t < now]))

    feeder = threading.Thread(target=submit_all)
    feeder.start()
    loop.run(
        after=after,
        stopped=lambda: submitted.is_set() and ended(log) >= len(work),
    )
    feeder.join()
    begins: dict[str, list[float]] = {}
    for job, what, when in lines(log):
        if what == "begin":
            begins.setdefault(job, []).append(when)
    wanted = simulate(work, Cluster.pool(16 * NODES), parse_policy(policy))
    real = {ids[job]: times[-1] - began for job, times in begins.items()}
    waits = [real[at] - int(work.submit[at]) for at in range(len(work))]
    slurm = [begins[job][-1] - when for job, when in released.items() if job in begins]
    alike = different = decisions = 0
    for found in read_passes(folder / "passes.jsonl"):
        same = found.decide_again(parse_policy(policy)) == found.decisions
        alike, different = alike + same, different + (not same)
        decisions += len(found.decisions)
    return {
        "policy": policy,
        "jobs": len(work),
        "completed": ended(log),
        "runs_beyond_the_first": sum(len(times) - 1 for times in begins.values()),
        "makespan_s": round(max(when for _, _, when in lines(log)) - began, 1),
        "makespan_simulated_s": int(wanted.end.max()),
        "wait_mean_s": round(statistics.mean(waits), 2),
        "wait_mean_simulated_s": round(float((wanted.start - work.submit).mean()), 2),
        "loop_adds_median_s": round(statistics.median(lag), 2),
        "slurm_start_median_s": round(statistics.median(slurm), 2),
        "passes": alike + different,
        "decisions": decisions,
        "passes_decided_differently": different,
    }


def lines(log: Path) -> list[tuple[str, str, float]]:
    """What the jobs wrote down."""
    found = (line.split() for line in log.read_text().splitlines())
    return [(job, what, float(when)) for job, what, when in found]


def ended(log: Path) -> int:
    """How many jobs have come to their own end."""
    return len({job for job, what, _ in lines(log) if what == "end"})


def snapshot_of(cluster: SlurmCluster, count: int) -> dict[str, Any]:
    """A look at a long queue, the commands included; the second one, as the loop takes them."""
    cluster.sbatch(f"--array=1-{count}", "--ntasks=1")
    port = drive.make_port(drive.Where(), run=Commands(env={**cluster.env, **ENVIRONMENT}))
    port.snapshot()
    began = time.perf_counter()
    state = port.snapshot()
    return {"queue": len(state.waiting), "snapshot_s": round(time.perf_counter() - began, 3)}


if __name__ == "__main__":
    sys.exit(main())
