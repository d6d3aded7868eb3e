"""A run without compiling anything: the same kernels as plain Python, in a process of its own.

Compiling a pass takes longer than a small run takes in plain Python. So the first small run on a
machine need not wait for the compiler; the result is the same, job by job.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import ShadowtimeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.cluster import Cluster
    from shadowtime.policy import Policy
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

LOOPS_BY_NUMPY = "from shadowtime.kernel.numpy_vector import replace_loops; replace_loops();"
"""What a process that compiles nothing does first."""
CODE = f"{LOOPS_BY_NUMPY} from shadowtime.engine.uncompiled import serve; serve()"


def warn(reason: str) -> None:
    """Where nothing else reports that a run was compiled after all."""
    warnings.warn(reason, RuntimeWarning, stacklevel=3)


def simulate_uncompiled(
    workload: Workload,
    cluster: Cluster,
    policy: Policy | Any,
    *,
    report: Callable[[str], None] = warn,
) -> Schedule:
    """Like :func:`shadowtime.engine.simulate`, hundreds of times slower, ready at once.

    A policy that cannot be handed to another process (a function of a user's own file) is run
    here, compiled; so is a run that breaks there. ``report`` gets the reason.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> simulate_uncompiled(jobs, Cluster.pool(4), parse_policy("easy")).start.tolist()
    [0, 9, 2]
    """
    import subprocess

    from shadowtime.engine.simulate import simulate

    name = getattr(policy, "name", type(policy).__name__)
    try:
        task = pickle.dumps((workload, cluster, policy))
    except (pickle.PicklingError, AttributeError, TypeError):
        report(f"{name} exists in this process only, so it is compiled")
        return simulate(workload, cluster, policy)
    done = subprocess.run(
        [sys.executable or "python3", "-P", "-c", CODE],
        input=task,
        capture_output=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=False,
    )
    if done.returncode != 0:
        printed = done.stderr.decode(errors="replace").strip().splitlines()
        why = printed[-1] if printed else f"exit code {done.returncode}"
        report(f"{name} could not be run without compiling ({why}), so it is compiled")
        return simulate(workload, cluster, policy)
    kind, content = pickle.loads(done.stdout)
    if kind == "refused":
        raise content
    schedule: Schedule = content
    return schedule


def serve() -> None:
    """The other process: a pickled task on standard input, the schedule on standard output.

    A sum that leaves a small type is an error here: the compiler counts in 64 bits, plain NumPy
    does not, and a schedule that differs is no schedule.
    """

    from shadowtime.engine.simulate import simulate

    workload, cluster, policy = pickle.load(sys.stdin.buffer)
    answer: tuple[str, Any]
    try:
        with np.errstate(over="raise"):
            answer = "done", simulate(workload, cluster, policy)
    except ShadowtimeError as error:
        answer = "refused", error
    sys.stdout.buffer.write(pickle.dumps(answer))
