"""Which types each compiled entry is called with, found by running examples as plain Python.

    python distribution/library/record.py RECORD [FILE ...]   # writes a pickle: entries, pointers

The examples are the package's own: every catalogue policy on every shape of machine, and the
examples in the docstrings of the rooms that have compiled code. An entry that no example calls
fails the build (build.py): it would be compiled on the user's machine. If files of the package are
named (report/rows.py), only the examples in their docstrings are run.
"""

from __future__ import annotations

import doctest
import os
import pickle
import sys
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numba
import numpy as np

from shadowtime.kernel import jit
from shadowtime.kernel.library import name_of

ROOMS = ("kernel", "engine", "metrics", "trace", "report")
"""Rooms with entries."""
JOBS = 12
CROWD = 40


@dataclass
class Record:
    """Functions by their name in the list: module, and the types of the arguments seen."""

    entries: dict[str, tuple[str, list[tuple[Any, ...]]]] = field(default_factory=dict)
    pointers: dict[str, tuple[str, Any]] = field(default_factory=dict)


RECORD = Record()


class RecordedPointer(jit.Pointer):
    """Plain Python with the type of a pointer."""


def recorded_entry(function: Any) -> Any:
    """Note the types of the arguments of every call."""
    seen = RECORD.entries.setdefault(name_of(function)[1], (function.__module__, []))[1]

    @wraps(function)  # its docstring has an example
    def noted(*arguments: Any) -> Any:
        kinds = tuple(numba.typeof(argument) for argument in arguments)
        if kinds not in seen:
            seen.append(kinds)
        return function(*arguments)

    noted.py_func = noted  # type: ignore[attr-defined]  # where plain Python is preferred
    return noted


def recorded_cfunc(signature: Any, **options: Any) -> Any:
    """Note that there is such a pointer."""

    def noted(function: Any) -> Any:
        RECORD.pointers[name_of(function)[1]] = (function.__module__, signature)
        return RecordedPointer(function, signature, options)

    return noted


def run_examples(files: list[str]) -> None:
    """Everything that calls entries: docstrings first, then the catalogue."""
    if files:
        run_docstrings(
            [f"shadowtime.{file.removesuffix('.py').replace('/', '.')}" for file in files]
        )
        return
    for room in ROOMS:
        package = import_module(f"shadowtime.{room}")
        run_docstrings([f.name for f in walk_packages(package.__path__, f"{package.__name__}.")])
    run_catalogue()
    run_others()


def run_docstrings(modules: list[str]) -> None:
    """The examples in the docstrings of some modules."""
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules:
        for test in finder.find(import_module(name)):
            runner.run(test, out=lambda text: None)  # the suite sees to what they print


def run_catalogue() -> None:
    """Every policy on every shape of machine; whoever is not defined on one is refused there."""
    from shadowtime.cluster import Cluster, Host
    from shadowtime.cluster.contention import node_cluster
    from shadowtime.engine import simulate
    from shadowtime.errors import ShadowtimeError
    from shadowtime.policy import catalogue, parse_policy
    from shadowtime.testing import small_host_worlds
    from shadowtime.workload import Workload

    draw = np.random.default_rng(5)
    run = draw.integers(1, 500, JOBS)
    jobs = Workload.build(
        submit=np.sort(draw.integers(0, 300, JOBS)),
        run=run,
        procs=draw.integers(1, 5, JOBS),
        request=run * 2,
        user=draw.integers(0, 3, JOBS),
        demand={"memory": draw.integers(1, 9, JOBS)},
    )
    one = jobs.replace(resources=("procs",), demand=jobs.demand[:, :1])
    slowed = one.replace(extra={"bandwidth": draw.choice([0, 500, 2000], JOBS)})
    hosts = Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(Host(f"h{k}", (4, 20)) for k in range(2)),
    )
    places = [
        (one, Cluster.pool(5)),
        (jobs, Cluster.pool(5, memory=20)),
        (jobs, hosts),
        (slowed, node_cluster(3, bandwidth=6000)),
        *((workload, cluster) for _, workload, cluster in small_host_worlds()[:2]),
    ]
    names = [policy.name for policy in catalogue()]
    for workload, cluster in places:
        for name in [*names, "lxfw(estimate=last)", "easy(estimate=last-two)"]:
            try:
                simulate(workload, cluster, parse_policy(name))
            except ShadowtimeError:
                continue


class Impatient:
    """A policy object: starts what fits and stops one job, so that every step is called."""

    name = "impatient"

    def decide(self, view: Any) -> Any:
        """Everything that fits; the second pass stops a running job."""
        from shadowtime.policy.view import Start, Stop

        if view.running and view.now > 0 and not self.stopped:
            self.stopped = True
            yield Stop(view.running[0].id)
        free = view.free[0]
        for job in view.waiting:
            if job.procs <= free:
                free -= job.procs
                yield Start(job.id)

    stopped = False


def run_others() -> None:
    """Promises that are kept on a site and on a live machine; a policy object."""
    from shadowtime.cluster import Cluster, Host
    from shadowtime.cluster.site import Node, Site
    from shadowtime.engine import simulate
    from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob, decide
    from shadowtime.engine.site.live_pass import decide_site
    from shadowtime.engine.site.plans import Run, SiteJobs
    from shadowtime.policy import parse_policy
    from shadowtime.policy.estimate import LastTwo
    from shadowtime.workload import Workload

    kept = parse_policy("conservative")
    site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    simulate(jobs, site, kept)
    running = {0: Run(start=0, tasks={"a": 4})}
    decide_site(kept, site, SiteJobs(now=2, jobs=jobs, running=running))
    state = Snapshot(
        now=2,
        cluster=Cluster(shape="nodes", hosts=(Host("n1", (4,)),)),
        running=(RunningJob(id="1", submit=0, need=(3,), request=9, start=0),),
        waiting=(WaitingJob(id="2", submit=1, need=(4,), request=5),),
    )
    decide(kept, state)
    for machine in (Cluster.pool(6), site):
        simulate(jobs, machine, Impatient())
        learning = Impatient()
        learning.estimate = LastTwo()  # type: ignore[attr-defined]
        simulate(jobs, machine, learning)
    run_crowd_on_site(site)


def run_crowd_on_site(site: Any) -> None:
    """Every policy on a site with a queue: reservations, ventures, stopped jobs."""
    from shadowtime.engine import simulate
    from shadowtime.errors import ShadowtimeError
    from shadowtime.policy import catalogue, parse_policy
    from shadowtime.policy.estimate import Predicted
    from shadowtime.workload import Workload

    draw = np.random.default_rng(3)
    run = draw.integers(1, 500, CROWD)
    jobs = Workload.build(
        submit=np.sort(draw.integers(0, 900, CROWD)),
        run=run,
        procs=draw.integers(1, 7, CROWD),
        request=run * draw.integers(1, 20, CROWD),
        user=draw.integers(0, 4, CROWD),
    )
    for policy in catalogue():
        for text in (policy.name, f"{policy.name}(estimate=last)"):
            try:
                simulate(jobs, site, parse_policy(text))
            except ShadowtimeError:
                continue
    guess = Predicted(half, memory=1, learners=(("start", count_start),))
    simulate(jobs, site, parse_policy("pv-easy").replace(estimate=guess))


def half(now: int, job: Any, user: Any) -> float:
    """A prediction of a user's own."""
    return float(job.request / (2 + user[0]))


def count_start(now: int, job: Any, user: Any) -> None:
    """What it learns."""
    user[0] += 1


def main(target: str, files: list[str]) -> int:
    """Record and write; what no example calls has no types."""
    jit.entry = recorded_entry  # type: ignore[assignment]
    jit.cached_cfunc = recorded_cfunc
    jit.own_cfunc = lambda signature, function: RecordedPointer(function, signature, {})
    run_examples(files)
    from fillers import fillers  # behind the declarations above

    pointers = {name: (module, made()) for name, (module, made) in RECORD.pointers.items()}
    found = fillers()
    listed = {name: (each.files, each.signature()) for name, each in found.items()}
    Path(target).write_bytes(pickle.dumps((RECORD.entries, pointers, listed)))
    counts = f"{len(RECORD.entries)} entries, {len(pointers)} pointers, {len(listed)} fillers"
    print(f"recorded {counts}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
