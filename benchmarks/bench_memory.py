"""Peak memory of a million jobs, each case in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.inputs import PROCS, generated
from benchmarks.rows import Row
from benchmarks.timing import python

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = 1_000_000
COLUMNS = ("submit", "run", "request", "procs")


def memory(folder: Path) -> Iterator[Row]:
    """EASY at load 0.9: simulate() from arrays, and the whole command on a file."""
    from shadowtime.trace import write_swf

    workload = generated(JOBS, 0.9)
    arrays, log = folder / "million.npy", folder / "million.swf.gz"
    np.save(arrays, np.stack([getattr(workload, name) for name in COLUMNS]))
    write_swf(workload, log)
    here = str(Path(__file__))
    python([here, "arrays", str(arrays)])  # compiles, if that is still to be done
    yield Row(
        what=f"peak memory, {JOBS:,} jobs, EASY, simulate() from arrays",
        value=_peak_of(here, "arrays", str(arrays)), unit="MB", bar=600.0, clock="-",
    )  # fmt: skip
    yield Row(
        what=f"peak memory, {JOBS:,} jobs, `shadowtime simulate` on a .swf.gz",
        value=_peak_of(here, "log", str(log)), unit="MB", bar=600.0, clock="-",
    )  # fmt: skip


def _peak_of(*words: str) -> float:
    return float(python(words).output.splitlines()[-1])


def peak_megabytes() -> float:
    """The most memory this process ever held.

    Not ru_maxrss where the system has a better figure: a process inherits it at exec.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def simulate_arrays(path: str) -> None:
    """EASY on columns from a file."""
    from shadowtime.cluster import Cluster
    from shadowtime.engine import simulate
    from shadowtime.policy import parse_policy
    from shadowtime.workload import Workload

    columns = dict(zip(COLUMNS, np.load(path, mmap_mode=None), strict=True))
    simulate(Workload.build(**columns), Cluster.pool(PROCS), parse_policy("easy"))


def simulate_log(path: str) -> None:
    """The command, in this process."""
    from shadowtime.cli import main

    sys.argv = ["shadowtime", "simulate", path, "--cluster", f"pool:{PROCS}", "--policy", "easy"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    {"arrays": simulate_arrays, "log": simulate_log}[sys.argv[1]](sys.argv[2])
    print(peak_megabytes())
