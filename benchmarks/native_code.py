"""The C twins: compiled when the benchmark runs, into a temporary folder."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.estimates import known_at_submission
from shadowtime.policy import estimate, order, reserve

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.policy import Policy
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

SOURCES = Path(__file__).resolve().parent / "native"
FLAGS = ("-O2", "-march=native", "-ffp-contract=off", "-std=c11", "-shared", "-fPIC")
"""No contraction: a fused multiply-add rounds once where the engine rounds twice, and ties flip."""


def compiler() -> str | None:
    """The C compiler, None if there is none."""
    return shutil.which("gcc") or shutil.which("cc")


def compiler_version() -> str:
    """What the compiler calls itself."""
    path = compiler()
    if path is None:
        return "none"
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout.split("\n")[0]


@dataclass(frozen=True)
class Twin:
    """A compiled algorithm with its input and room for its output, ready to be timed."""

    function: Any
    arguments: tuple[Any, ...]
    output: dict[str, Any]

    def run(self) -> int:
        """One run from the arrays; returns the number of passes."""
        passes = int(self.function(*self.arguments))
        if passes < 0:
            raise MemoryError("the C twin found no memory")
        return passes

    def check_equal(self, schedule: Schedule) -> None:
        """Refuse a yardstick that measures something else: every column of every job is equal."""
        passes = self.run()
        for name, column in self.output.items():
            other = getattr(schedule, name)
            if not np.array_equal(column, other):
                job = int(np.flatnonzero(column != other)[0])
                raise AssertionError(
                    f"the C twin of {schedule.policy} is no yardstick: {name} of job "
                    f"{schedule.job_id[job]} is {column[job]} in C and {other[job]} in the engine"
                )
        if passes != schedule.counters["passes"]:
            raise AssertionError(
                f"the C twin of {schedule.policy} made {passes} passes, "
                f"the engine {schedule.counters['passes']}"
            )


def twin(name: str, workload: Workload, cluster: Cluster, policy: Policy, folder: Path) -> Twin:
    """Compile ``native/NAME.c`` and hand it the columns of a workload."""
    path = compiler()
    if path is None:
        raise FileNotFoundError("there is no C compiler")
    library = folder / f"{name}.so"
    subprocess.run(
        [path, *FLAGS, str(SOURCES / f"{name}.c"), "-o", str(library), "-lm"], check=True
    )
    function = getattr(ctypes.CDLL(str(library)), name)
    known = known_at_submission(policy.estimate, workload)
    if not (isinstance(policy.estimate, estimate.Requested) and known.safe):
        raise ValueError("the C twins know requested times only, which no job may outlive")
    n = len(workload)
    output = {
        "start": np.empty(n, np.int64),
        "reason": np.empty(n, np.int8),
        "promised": np.empty(n, np.int64),
        "blocked_at": np.empty(n, np.int64),
    }
    columns = (workload.submit, workload.effective_run, known.estimate, workload.procs)
    arguments = [
        ctypes.c_int64(n),
        ctypes.c_int64(cluster.total["procs"]),
        *(_pointer(column) for column in columns),
        *(_pointer(column) for column in output.values()),
    ]
    if isinstance(policy.order, order.Weighted) and isinstance(policy.reserve, reserve.Depth):
        part = policy.order
        arguments.append(_pointer(np.array([part.expansion, part.wait, part.procs], np.float64)))
        arguments.append(ctypes.c_int64(policy.reserve.jobs))
    function.restype = ctypes.c_int64
    function.argtypes = [type(argument) for argument in arguments]
    return Twin(function, tuple(arguments), output)


def _pointer(column: Any) -> Any:
    """A pointer that keeps its array alive."""
    return np.ascontiguousarray(column).ctypes.data_as(ctypes.c_void_p)
