"""What the benchmark runs on: the archive's logs where they are, generated jobs where not."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.cluster import Cluster
from shadowtime.cluster.spec import parse_cluster
from shadowtime.trace import read, write_swf
from shadowtime.workload.clean import fit
from shadowtime.workload.lublin import lublin_workload
from shadowtime.workload.scale import to_load
from shadowtime.workload.tsafrir import tsafrir_estimates

if TYPE_CHECKING:
    from shadowtime.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
LOGS = {
    "SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "KTH": "KTH-SP2-1996-2.1-cln.swf.gz",
    "LANL-CM5": "LANL-CM5-1994-4.1-cln.swf.gz",
    "CTC": "CTC-SP2-1996-3.1-cln.swf.gz",
}
STAND_INS = {
    "SDSC-BLUE": (232_536, 1152, 0.75),
    "SDSC-SP2": (54_034, 128, 0.8),
    "KTH": (28_474, 100, 0.7),
    "LANL-CM5": (122_060, 1024, 0.74),
    "CTC": (77_199, 432, 0.75),
}
"""Jobs, processors and load of what is generated where a log is missing."""
PROCS = 1024
MAX_ESTIMATE = 50 * 3600


def log_path(name: str) -> Path | None:
    """A log of the archive, from SHADOWTIME_TRACES or ../shared/traces; None if it is not there."""
    given = os.environ.get("SHADOWTIME_TRACES")
    path = (Path(given) if given else ROOT.parent / "shared" / "traces") / LOGS[name]
    return path if path.is_file() else None


def path_of(name: str, folder: Path) -> Path:
    """The log, or a generated stand-in written to ``folder``."""
    found = log_path(name)
    if found is not None:
        return found
    path = folder / f"{name}-generated.swf.gz"
    if not path.is_file():
        jobs, procs, load = STAND_INS[name]
        write_swf(generated(jobs, load, procs=procs), path)
    return path


def title_of(name: str) -> str:
    """How a table calls the log: it must not pass for one that it is not."""
    return name if log_path(name) is not None else f"generated jobs in place of {name}"


@cache
def workload_of(name: str) -> tuple[Workload, Cluster]:
    """The jobs of a log, or of its stand-in, and their machine."""
    path = log_path(name)
    if path is None:
        jobs, procs, load = STAND_INS[name]
        return generated(jobs, load, procs=procs), Cluster.pool(procs)
    workload = read(path)
    cluster = parse_cluster(None, machine=workload.machine)
    return fit(workload, cluster), cluster


@cache
def generated(jobs: int, load: float, *, procs: int = PROCS) -> Workload:
    """Jobs by Lublin and Feitelson's model with Tsafrir's estimates, arriving at a load."""
    drawn = lublin_workload(jobs, seed=1, procs=procs)
    return to_load(tsafrir_estimates(drawn, max_estimate=MAX_ESTIMATE, seed=1), procs, load)
