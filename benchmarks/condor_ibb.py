"""Section 4.3 of the IBB paper on a real HTCondor pool: 54 jobs, one second apart, on four nodes.

    python benchmarks/condor_ibb.py [--seeds N] [--jobs N] [--schedulers A,B] [--at-once N] [-o OUT]

The pool is the one of the tests (scripts/install --system gets the daemons): four nodes with one
static slot each, gangs of whole nodes in the parallel universe, as the paper's dedicated scheduler
runs them. `sleep` stands in for the NAS benchmarks. Native FIFO and native best-fit are HTCondor's
own; the others are Shadowtime's live loop. Each is shown beside a simulation of the same
jobs. OUT gets every job of every run, a JSON object a line; runs that are in it already are not
repeated, so an interrupted study can be resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

NODES, CPUS, MEMORY = 4, 8, 8192
START_COSTS = 2
"""Seconds that the simulation adds to every run: what a start and an end cost on this pool."""

SCHEDULERS = {
    "native-fifo": "fcfs",
    "native-best-fit": "greedy",
    "fcfs": "fcfs",
    "easy": "easy",
    "bb": "bb",
    "ibb": "ibb",
}
"""The scheduler, and the policy that simulates it."""


def jobs_of(seed: int, count: int) -> list[dict[str, int]]:
    """The jobs of a seed: most are small and short, a few take the whole machine."""
    random = np.random.default_rng(seed)
    found = []
    for at in range(count):
        run = int(random.choice([1, 2, 3, 6], p=[0.4, 0.3, 0.2, 0.1]))
        found.append(
            {
                "submit": at,
                "nodes": int(random.choice([1, 2, 4], p=[0.6, 0.25, 0.15])),
                "run": run,
                "request": int(run * random.choice([1, 2, 3])),
                "memory": int(random.choice([512, 2048, 6144])),
            }
        )
    return found


def run_one(scheduler: str, seed: int, count: int) -> dict[str, Any]:
    """One scheduler, one seed, on a pool of its own."""
    import htcondor2

    from condor_pool import STATIC, running_pool
    from condor_tools import history, loop_on, submit

    native = scheduler.startswith("native-")
    fifo = scheduler != "native-best-fit"
    with running_pool(slots=STATIC, extra=f"DEDICATED_SCHEDULER_USE_FIFO = {fifo}\n") as pool:
        plan = jobs_of(seed, count)
        ids: list[str] = []
        began = time.time()

        def over() -> bool:
            while len(ids) < count and time.time() >= began + plan[len(ids)]["submit"]:
                job = plan[len(ids)]
                ids.append(
                    submit(
                        pool,
                        job["run"],
                        hosts=job["nodes"],
                        cpus=CPUS,
                        memory=job["memory"],
                        limit=job["request"],
                        managed=not native,
                    )
                )
            if len(ids) < count:
                return False
            try:
                return not pool.schedd().query("true", projection=["ClusterId"])
            except htcondor2.HTCondorException:  # busy: try again
                return False

        if native:
            while not over():
                time.sleep(0.2)
        else:
            loop, _ = loop_on(pool, scheduler)
            loop.run(stopped=over)
        past = history(pool)
        deaths = (pool.folder / "log" / "MasterLog").read_text().count("died due to signal")
    rows = []
    for job, record in zip(plan, (past[one] for one in ids), strict=True):
        rows.append(
            job
            | {
                "submitted": int(record["QDate"]),
                "start": int(record["JobCurrentStartDate"]),
                "end": int(record["CompletionDate"]),
                "starts": int(record.get("NumJobStarts", 0)),
            }
        )
    return {"scheduler": scheduler, "seed": seed, "jobs": rows, "daemons_died": deaths}


def simulated(result: dict[str, Any]) -> list[dict[str, int]]:
    """The same jobs, submitted when they really were, in a simulation."""
    from shadowtime.cluster import Cluster
    from shadowtime.engine import simulate
    from shadowtime.policy import parse_policy
    from shadowtime.workload import Workload

    rows = result["jobs"]
    first = min(row["submitted"] for row in rows)
    work = Workload.build(
        submit=[row["submitted"] - first for row in rows],
        run=[row["run"] + START_COSTS for row in rows],
        request=[row["request"] + START_COSTS for row in rows],
        procs=[row["nodes"] * CPUS for row in rows],
        demand={"memory": [row["nodes"] * row["memory"] for row in rows]},
    )
    machine = Cluster.pool(NODES * CPUS, memory=NODES * MEMORY)
    made = simulate(work, machine, parse_policy(SCHEDULERS[result["scheduler"]]))
    return [
        row | {"submitted": int(s), "start": int(b), "end": int(e)}
        for row, s, b, e in zip(rows, made.submit, made.start, made.end, strict=True)
    ]


def figures(rows: list[dict[str, int]]) -> dict[str, float]:
    """The paper's three means, and how the widest jobs fare."""
    waits = [row["start"] - row["submitted"] for row in rows]
    responses = [row["end"] - row["submitted"] for row in rows]
    slow = [
        response / max(1, row["end"] - row["start"])
        for response, row in zip(responses, rows, strict=True)
    ]
    wide = [row for row in rows if row["nodes"] == NODES]
    passed = [
        sum(o["submitted"] > row["submitted"] and o["start"] < row["start"] for o in rows)
        for row in wide
    ]
    return {
        "wait": fmean(waits),
        "response": fmean(responses),
        "slowdown": fmean(slow),
        "widest_wait": fmean([row["start"] - row["submitted"] for row in wide] or [0.0]),
        "widest_wait_max": max([row["start"] - row["submitted"] for row in wide] or [0]),
        "overtaken_by": max(passed or [0]),
        "makespan": max(row["end"] for row in rows) - min(row["submitted"] for row in rows),
    }


def table(results: list[dict[str, Any]]) -> str:
    """Measured and simulated figures, a row per scheduler, as Markdown."""
    from shadowtime.metrics.intervals import interval

    names = ("wait", "response", "slowdown", "widest_wait", "overtaken_by", "makespan")
    lines = ["| scheduler | | " + " | ".join(n.replace("_", " ") for n in names) + " |",
             "|---" * (len(names) + 2) + "|"]  # fmt: skip
    for scheduler in SCHEDULERS:
        mine = [one for one in results if one["scheduler"] == scheduler]
        if not mine:
            continue
        for what, rows in (("real", [one["jobs"] for one in mine]),
                           ("simulated", [simulated(one) for one in mine])):  # fmt: skip
            each = [figures(one) for one in rows]
            cells = []
            for name in names:
                values = [one[name] for one in each]
                found = interval(values)
                half = f" ± {found.half:.1f}" if found else ""
                cells.append(f"{fmean(values):.1f}{half}")
            lines.append(f"| {scheduler} | {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=54)
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS))
    parser.add_argument(
        "--at-once", type=int, default=1, help="pools side by side; 6: all of a seed"
    )
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("SCHEDULER", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options.one[0], int(options.one[1]), options.jobs)))
        return
    done_before = []
    if options.out and options.out.exists():
        done_before = [json.loads(line) for line in options.out.read_text().splitlines()]
    known = {(one["scheduler"], one["seed"]) for one in done_before}
    wanted = [(s, n) for n in range(1, options.seeds + 1) for s in options.schedulers.split(",")]
    runs = [run for run in wanted if run not in known]

    def apart(run: tuple[str, int]) -> dict[str, Any] | None:
        """A process of its own: the bindings know one pool per process."""
        command = [
            sys.executable,
            __file__,
            "--jobs",
            str(options.jobs),
            "--one",
            run[0],
            str(run[1]),
        ]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
        if done.returncode != 0:
            print(f"{run[0]}, seed {run[1]}: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        values = figures(result["jobs"])
        shown = ", ".join(f"{name} {value:.1f}" for name, value in values.items())
        if result["daemons_died"]:
            shown += f" (daemons of the pool died {result['daemons_died']} times)"
        print(f"{run[0]}, seed {run[1]}: {shown}", file=sys.stderr, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
        return result

    with ThreadPoolExecutor(options.at_once) as side_by_side:
        fresh = [one for one in side_by_side.map(apart, runs) if one is not None]
    results = [one for one in done_before if (one["scheduler"], one["seed"]) in wanted] + fresh
    print(f"{options.jobs} jobs, {options.seeds} seeds, load average {os.getloadavg()[1]:.1f}\n")
    print(table(results))
    extra = [row["end"] - row["start"] - row["run"] for one in results for row in one["jobs"]]
    print(f"\na run lasts {median(extra):.0f} s (median) longer than the job sleeps")
    if len(fresh) < len(runs):
        sys.exit(f"{len(runs) - len(fresh)} of {len(runs)} runs failed")


if __name__ == "__main__":
    main()
