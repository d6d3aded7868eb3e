"""A run without compiling anything: the same kernels as plain Python, in a process of its own.

Compiling a pass takes longer than a small run takes in plain Python. So the first small run on a
machine need not wait for the compiler; the result is the same, job by job.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.simulate import simulate
from shadowtime.engine.watch import Watch
from shadowtime.errors import ShadowtimeError
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
    watch: Watch | None = None,
) -> Schedule:
    """Like :func:`shadowtime.engine.simulate`, hundreds of times slower, ready at once.

    A policy that cannot be handed to another process (a function of a user's own file) is run
    here, compiled; so is a run that breaks there. ``report`` gets the reason. A run in the other
    process is too short to be watched.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> simulate_uncompiled(jobs, Cluster.pool(4), parse_policy("easy")).start.tolist()
    [0, 9, 2]
    """
    import signal

    from shadowtime.child_process import PYTHON, Child, ChildEnded, packed

    name = getattr(policy, "name", type(policy).__name__)
    try:
        task = packed((workload, cluster, policy))
    except (pickle.PicklingError, AttributeError, TypeError):
        report(f"{name} exists in this process only, so it is compiled")
        return simulate(workload, cluster, policy, watch=watch)
    child = None
    try:
        child = Child((*PYTHON, CODE), task, env={"NUMBA_DISABLE_JIT": "1"})
        schedule, refusal = child.receive()
    except (ChildEnded, OSError) as failure:  # OSError: no process, no room for the task
        if child is not None and child.process.returncode == -signal.SIGINT:
            raise KeyboardInterrupt from None  # of a thread, which gets no Ctrl-C itself
        report(f"{name} could not be run without compiling ({failure}), so it is compiled")
        return simulate(workload, cluster, policy, watch=watch)
    finally:
        if child is not None:
            child.end()
    if refusal is not None:
        raise refusal
    found: Schedule = schedule
    return found


def serve() -> None:
    """The other process: answers a task with the schedule, or with the error that rejected it."""
    from shadowtime.child_process import Tasks

    tasks = Tasks(interruptible=True)
    for workload, cluster, policy in tasks:
        tasks.answer(answer(workload, cluster, policy))


def answer(
    workload: Workload, cluster: Cluster, policy: Policy | Any
) -> tuple[Schedule | None, ShadowtimeError | None]:
    """What is answered to a task: a schedule, or else our error.

    A sum that leaves a small type is an error here: the compiler counts in 64 bits, plain NumPy
    does not, so the schedule would differ.
    """
    try:
        with np.errstate(over="raise"):
            return simulate(workload, cluster, policy), None
    except ShadowtimeError as error:
        return None, error
