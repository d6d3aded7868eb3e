"""Compile the passes that a study needs before it begins: all of them at once, on all cores.

Compiling holds Python's lock, so threads would take turns: each pass is compiled by a process of
its own, which leaves it in the cache. That is an optimisation only: a pass that is not found there
is compiled when it first runs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cluster import Cluster
from shadowtime.engine import plan
from shadowtime.engine.simulate import simulate
from shadowtime.kernel import library
from shadowtime.kernel.jit import compiles
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

if TYPE_CHECKING:
    import subprocess

ENGINE = Path(__file__).resolve().parent

COST = {
    "site-general": 120,
    "site-conservative": 100,
    "general": 85,
    "priority": 35,
    "conservative": 25,
    "select": 15,
    "pool": 18,
    "easy": 15,
    "venture": 12,
}
"""Seconds that compiling a pass takes, about: the longest goes first."""

EXAMPLE = {
    "site-general": "lxfw",
    "site-conservative": "conservative",
    "general": "lxfw(estimate=last)",
    "priority": "lxfw",
    "venture": "pv-easy",
    "conservative": "conservative",
    "select": "los",
    "pool": "ibb",
    "easy": "easy",
}
"""A policy that each pass carries out, on a pool or on a site."""


def pass_of(policy: Any, cluster: Cluster) -> str:
    """The pass that carries out a policy; empty where none of these does (own code, nodes).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> [pass_of(parse_policy(name), Cluster.pool(4)) for name in ("easy-sjbf", "lxfw")]
    ['easy', 'priority']
    """
    own_code = hasattr(policy, "decide") or hasattr(policy, "simulate")
    if own_code or cluster.shape == "nodes":
        return ""
    if cluster.shape == "site":
        if policy.reserve.sunny:
            return ""  # plain Python around small questions
        return "site-conservative" if policy.keeps_promises else "site-general"
    if policy.backfill.selects:
        return "" if policy.backfill.changes else "select"
    if policy.reserve.kept:
        return "conservative"
    if plan.is_plain_easy(policy, cluster):
        return "easy"
    if plan.is_pool_of_resources(policy, cluster):
        return "pool"
    if plan.is_priority_order(policy, cluster):
        return "priority"
    return "venture" if plan.is_venture(policy, cluster) else "general"


def cold(policies: Sequence[Any], cluster: Cluster) -> list[str]:
    """The passes of these policies that are not in the cache, the longest to compile first."""
    if not compiles():
        return []
    needed = {pass_of(policy, cluster) for policy in policies} & set(COST)
    missing = [name for name in needed if not is_compiled(name)]
    return sorted(missing, key=lambda name: -COST[name])


def is_compiled(name: str) -> bool:
    """True if a pass lies in the library of this installation or in the cache."""
    folder, file = ("site", name[5:]) if name.startswith("site-") else ("passes", name)
    run: Any = import_module(f"shadowtime.engine.{folder}.{file}").run
    if library.holds(run.py_func):
        return True
    from shadowtime.kernel.numba_cache import cache_folder

    return any(cache_folder(ENGINE / folder / f"{file}.py").glob(f"{file}.run-*.nbi"))


def warm(
    policies: Sequence[Any],
    cluster: Cluster,
    *,
    cores: int = 2,
    announce: Callable[[Sequence[str]], None] = lambda passes: None,
    finished: Callable[[str], None] = lambda name: None,
) -> list[str]:
    """Compile every pass of these policies that is not compiled yet; returns those.

    ``announce`` gets what is missing beforehand, ``finished`` each pass as it is done.
    """
    import queue

    missing = cold(policies, cluster)
    if missing:
        announce(missing)
    if len(missing) < 2:  # nothing to share out: it is compiled where it is needed
        return missing
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in missing:
        jobs.put(name)
    running: list[subprocess.Popen[bytes]] = []
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                name = jobs.get_nowait()
            except queue.Empty:
                return
            process = _compile_elsewhere(name)
            running.append(process)
            process.wait()
            finished(name)

    workers = [
        threading.Thread(target=work, daemon=True) for _ in range(min(max(1, cores), len(missing)))
    ]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        stopped.set()
        for process in running:
            if process.poll() is None:
                process.terminate()
    return missing


def _compile_elsewhere(name: str) -> subprocess.Popen[bytes]:
    """A process that compiles one pass and prints nothing."""
    import subprocess

    code = f"from shadowtime.engine.warm import compile_pass; compile_pass({name!r})"
    return subprocess.Popen(
        [sys.executable or "python3", "-P", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def compile_pass(name: str) -> None:
    """Compile one pass by running three jobs through it.

    The collector of reference cycles is off meanwhile: it finds nothing worth its time in what a
    compiler keeps (a tenth of the time, measured).
    """
    import gc

    from shadowtime.cluster.site import Node, Site

    machine: Any = Cluster.pool(4)
    if name.startswith("site-"):
        machine = Site(nodes=(Node(name="n", amounts=(4,)),))
    jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    was_on = gc.isenabled()
    gc.disable()
    try:
        simulate(jobs, machine, parse_policy(EXAMPLE[name]))
    finally:
        if was_on:
            gc.enable()
