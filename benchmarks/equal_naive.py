"""Compare whole traces with the slow reference: every start time must be equal.

    python benchmarks/equal_naive.py TRACES_FOLDER [--jobs N] [--policy NAME ...] [--trace NAME ...]

The slow reference is shadowtime.verify.pool; a whole trace takes it minutes, under conservative
backfilling much longer, so ``--jobs`` takes the first N jobs only.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from naive import shorthand as naive  # noqa: E402
from shadowtime.cluster import Cluster  # noqa: E402
from shadowtime.engine import simulate  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.trace import read  # noqa: E402
from shadowtime.workload.clean import fit  # noqa: E402

TRACES = {"KTH-SP2-1996-2.1-cln": 100, "SDSC-SP2-1998-4.2-cln": 128}
POLICIES = {
    "fcfs": naive.fcfs,
    "easy": naive.easy,
    "easy-sjbf": lambda jobs, capacity: naive.easy(jobs, capacity, backfill="sjbf"),
    "conservative": naive.conservative,
}


def main() -> int:
    """Print a line per trace and policy; 1 if any start differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    parser.add_argument("--trace", action="append", choices=list(TRACES))
    given = parser.parse_args()
    different = 0
    for name in given.trace or TRACES:
        cluster = Cluster.pool(TRACES[name])
        workload = fit(read(given.folder / f"{name}.swf.gz"), cluster)
        if given.jobs:
            workload = workload.take(np.arange(min(given.jobs, len(workload))))
        jobs = [
            naive.Job(int(i), int(s), (int(p),), int(q), int(r), int(m), int(u))
            for i, s, p, q, r, m, u in zip(
                workload.job_id,
                workload.submit,
                workload.procs,
                workload.request,
                workload.run,
                workload.limit,
                workload.user,
                strict=True,
            )
        ]
        for policy in given.policy or POLICIES:
            begun = time.process_time()
            expected = [row.start for row in POLICIES[policy](jobs, (cluster.procs,)).rows]
            slow = time.process_time() - begun
            starts = simulate(workload, cluster, parse_policy(policy)).start
            wrong = int((starts != np.array(expected)).sum())
            different += wrong
            print(
                f"{name:24} {policy:14} {len(jobs):7,} jobs  {wrong} differ  "
                f"(reference {slow:,.0f} s)",
                flush=True,
            )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
