"""Policies on a site: mixed nodes, four partitions, load 0.9; growth with nodes; memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_memory import peak_megabytes
from benchmarks.rows import Row
from benchmarks.timing import best_cpu, python

from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine import simulate
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import Freed, Run, SiteJobs, Verdict
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS, NODES, LOAD, WAITING, ENDED = 100_000, 1_000, 0.9, 10_000, 10
BAR_DECISION, EFFORT = 0.1, 20_000
"""Seconds for one decision; how much its sweep of kept promises may examine."""
MANY, BAR_MEMORY = 1_000_000, 1_500.0
"""Jobs for the peak memory, and its bar in MB."""
BARS = {"easy": 10.0, "conservative": 60.0}
GB = 1 << 20
"""In KB."""


def mixed_site(nodes: int) -> Site:
    """Thin and fat nodes, nodes with GPUs; partitions that overlap."""
    made = []
    for i in range(nodes):
        kind = i % 10
        if kind == 9:
            amounts = (64, 512 * GB, 4)
        elif kind >= 7:
            amounts = (64, 512 * GB, 0)
        else:
            amounts = (32, 128 * GB, 0)
        made.append(Node(name=f"n{i:05d}", amounts=amounts))
    names = [node.name for node in made]
    return Site(
        nodes=tuple(made),
        resources=("cpus", "memory", "gpu"),
        partitions=(
            Partition(name="batch", nodes=tuple(names), default=True),
            Partition(name="short", nodes=tuple(names[: nodes // 2]), max_time=14_400),
            Partition(name="fat", nodes=tuple(n for i, n in enumerate(names) if i % 10 >= 7)),
            Partition(name="gpu", nodes=tuple(n for i, n in enumerate(names) if i % 10 == 9)),
        ),
    )


def stream(jobs: int, site: Site, load: float, seed: int = 1) -> Workload:
    """A drawn log: many small jobs, some wide ones, some with GPUs, requests that overstate."""
    rng = np.random.default_rng(seed)
    kinds = [
        Request(tasks=cpus, max_nodes=1, memory=memory * GB, memory_per="cpu")
        for cpus in (1, 2, 4, 8, 16, 32)
        for memory in (1, 4)
    ]
    for count in (2, 4, 8, 16, 32):
        kinds.append(Request(nodes=count, max_nodes=count, tasks=32 * count, tasks_per_node=32))
        kinds.append(Request(tasks=16 * count, memory=2 * GB, memory_per="cpu"))
    fat = [
        Request(tasks=c, max_nodes=1, memory=8 * GB, memory_per="cpu", partitions=("fat",))
        for c in (8, 16, 32, 64)
    ]
    gpu = [
        Request(tasks=g * 8, max_nodes=1, gres=(Gres(name="gpu", count=g),), partitions=("gpu",))
        for g in (1, 2, 4)
    ]
    brief = [Request(tasks=c, partitions=("short", "batch")) for c in (1, 8, 32, 64)]
    every = [*kinds, *fat, *gpu, *brief]
    weight = np.array(
        [4.0] * 12 + [0.5] * 10 + [1.0] * len(fat) + [0.6] * len(gpu) + [1.5] * len(brief)
    )
    index = rng.choice(len(every), jobs, p=weight / weight.sum())
    run = np.clip(rng.lognormal(7.5, 1.6, jobs), 30, 86_400).astype(np.int64)
    run = np.where(index >= len(every) - len(brief), np.minimum(run, 14_000), run)
    request = np.clip(np.ceil(run * rng.uniform(1, 4, jobs) / 900) * 900, 900, 172_800)
    request = np.where(index >= len(every) - len(brief), np.minimum(request, 14_400), request)
    request = np.maximum(request, run).astype(np.int64)
    cpus = np.array([one.cpus for one in every], np.int64)[index]
    span = float((cpus * run).sum()) / (load * site.procs)
    submit = np.sort(rng.uniform(0, span, jobs)).astype(np.int64)
    asked = Requests.of_jobs([every[0]] * jobs)
    return Workload.build(
        submit=submit,
        run=run,
        request=request,
        procs=cpus,
        requests=replace(asked, distinct=tuple(every), index=index.astype(np.int64)),
        user=rng.integers(0, 200, jobs),
    )


def full_house(waiting: int, nodes: int) -> tuple[Site, SiteJobs]:
    """Every node runs a job of 24 tasks that ends some time, and so many jobs wait."""
    machine = mixed_site(nodes)
    behind = stream(waiting, machine, LOAD, seed=2)
    rng = np.random.default_rng(3)
    length = rng.integers(600, 86_400, nodes)
    assert behind.requests is not None
    each = [Request(tasks=24, max_nodes=1)] * nodes
    each += [behind.requests[row] for row in range(waiting)]
    jobs = Workload.build(
        submit=[0] * nodes + [1] * waiting,
        run=np.concatenate([length, behind.run]),
        request=np.concatenate([length, behind.request]),
        procs=np.concatenate([np.full(nodes, 24), behind.procs]),
        requests=Requests.of_jobs(each),
    )
    running = {row: Run(start=0, tasks={machine.nodes[row].name: 24}) for row in range(nodes)}
    return machine, SiteJobs(now=500, jobs=jobs, running=running)


def a_second_later(before: SiteJobs, first: Verdict) -> SiteJobs:
    """What a scheduler sees after its decision: its starts run, some runs have ended early."""
    running = {**before.running, **first.starts}
    ended = set(list(before.running)[:: NODES // ENDED])
    stays = np.array([row not in ended for row in range(len(before.jobs))])
    place = (np.cumsum(stays) - 1).tolist()
    now = before.now + 1
    freed = [
        Freed(nodes=tuple(run.tasks), begin=now, end=run.start + int(before.jobs.request[row]))
        for row, run in running.items()
        if row in ended
    ]
    return SiteJobs(
        now=now,
        jobs=before.jobs.take(stays),
        running={place[row]: run for row, run in running.items() if row not in ended},
        promises={place[row]: run for row, run in first.promises.items()},
        freed=freed,
    )


def decisions() -> Iterator[Row]:
    """One decision with a long queue, with new tables and the remembered promises."""
    machine, snapshot = full_house(WAITING, NODES)
    for policy in ("easy", "lxfw", "conservative"):
        chosen = parse_policy(policy)
        first = decide_site(chosen, machine, snapshot)  # compiles
        seen = a_second_later(snapshot, first)
        timed = partial(decide_site, chosen, machine, seen, effort=EFFORT)
        (seconds,) = best_cpu(lambda timed=timed: timed, runs=3)
        kept = "; the sweep of promises is bounded" if first.promises else ""
        note = f"{len(first.starts)} started before, {ENDED} runs have ended since{kept}"
        what = f"site: one decision of {policy}, {WAITING:,} waiting on {NODES:,} nodes"
        yield Row(what=what, value=seconds, unit="s", bar=BAR_DECISION, note=note)
        if first.promises:
            timed = partial(decide_site, chosen, machine, seen)
            (seconds,) = best_cpu(lambda timed=timed: timed, runs=1)
            yield Row(what=f"{what}, whole sweep", value=seconds, unit="s")


def site(folder: Path) -> Iterator[Row]:
    """CPU seconds of simulate() from arrays."""
    yield from decisions()
    for policy, bar in BARS.items():
        chosen = parse_policy(policy)
        small = mixed_site(20)
        simulate(stream(200, small, LOAD), small, chosen)  # compiles
        machine = mixed_site(NODES)
        jobs = stream(JOBS, machine, LOAD)
        waits: list[float] = []

        def run(jobs=jobs, machine=machine, chosen=chosen, waits=waits) -> None:  # type: ignore[no-untyped-def]
            waits[:] = [float(simulate(jobs, machine, chosen).wait.mean())]

        (seconds,) = best_cpu(lambda run=run: run, runs=1)
        yield Row(
            what=f"site: {policy}, {JOBS:,} jobs on {NODES:,} mixed nodes, load {LOAD:g}",
            value=seconds, unit="s", bar=bar, note=f"mean wait {waits[0]:.0f} s",
        )  # fmt: skip
    chosen = parse_policy("easy")
    cost = {}
    for nodes in (NODES, 10 * NODES):
        machine = mixed_site(nodes)
        jobs = stream(JOBS, machine, LOAD)
        timed = partial(simulate, jobs, machine, chosen)
        (cost[nodes],) = best_cpu(lambda timed=timed: timed, runs=1)
    yield Row(
        what=f"site: easy, the same jobs on {10 * NODES:,} nodes against {NODES:,}, time",
        value=cost[10 * NODES] / cost[NODES], unit="x", bar=10.0,
        note=", ".join(f"{nodes:,} nodes {seconds:.1f} s" for nodes, seconds in cost.items()),
    )  # fmt: skip
    yield Row(
        what=f"site: peak memory, {MANY:,} jobs, easy on {NODES:,} mixed nodes, simulate()",
        value=float(python([str(Path(__file__))]).output.splitlines()[-1]),
        unit="MB", bar=BAR_MEMORY, clock="-",
    )  # fmt: skip


def peak_of_many() -> float:
    """Peak memory of this process after a run of very many jobs."""
    machine = mixed_site(NODES)
    simulate(stream(MANY, machine, LOAD), machine, parse_policy("easy"))
    return peak_megabytes()


if __name__ == "__main__":
    print(peak_of_many())
