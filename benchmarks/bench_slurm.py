"""Slurm's own scheduler: a year of jobs on 512 nodes, and one pass with a long queue."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.run import run_slurm
from shadowtime.slurm.starting import begin
from shadowtime.workload import Workload, lublin_workload, to_load, tsafrir_estimates
from shadowtime.workload.request import Request, Requests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shadowtime.slurm.state import SlurmState

NODES, LOAD, YEAR, JOBS = 512, 0.85, 365 * 86_400, 400_000
BAR_YEAR = 100.0
DEEP_NODES, WAITING, BAR_PASS = 1_000, 10_000, 0.1
GB = 1024**2
"""In KB."""
LONGEST = 64_800
"""The longest request in seconds."""


def plain_site(nodes: int) -> Site:
    """Equal nodes in one partition, bf_interval 30."""
    names = tuple(f"n{at:04d}" for at in range(nodes))
    return Site(
        nodes=tuple(Node(name=name, amounts=(32,)) for name in names),
        partitions=(Partition(name="batch", nodes=names, default=True),),
        config={"SchedulerParameters": "bf_interval=30"},
    )


def whole(nodes: int) -> Request:
    """So many whole nodes."""
    return Request(nodes=nodes, max_nodes=nodes, tasks=nodes, exclusive=True)


def part_of_a_year(jobs: int, nodes: int = NODES) -> tuple[Workload, Requests]:
    """Lublin's jobs on whole nodes, their run times scaled so that 400,000 of them fill a year."""
    drawn = lublin_workload(jobs, seed=1, procs=nodes)
    span = YEAR * jobs / JOBS
    factor = LOAD * nodes * span / float((drawn.procs * drawn.run).sum())
    run = np.maximum(1, drawn.run * factor).astype(np.int64)
    drawn = replace(drawn, run=run, request=run, limit=run)
    drawn = to_load(tsafrir_estimates(drawn, max_estimate=LONGEST, seed=1), nodes, LOAD)
    kinds = {count: whole(count) for count in set(drawn.procs.tolist())}
    return drawn, Requests.of_jobs([kinds[count] for count in drawn.procs.tolist()])


def shared_site(nodes: int) -> Site:
    """Nodes of three sizes with 2 to 8 GB per cpu, which jobs share."""
    plain = plain_site(nodes)
    sizes = [(32, 32 * 4 * GB)] * 4 + [(64, 64 * 2 * GB), (16, 16 * 8 * GB)]
    return plain.replace(
        resources=("cpus", "memory"),
        nodes=tuple(
            Node(name=one.name, amounts=sizes[at % len(sizes)])
            for at, one in enumerate(plain.nodes)
        ),
    )


def cpus_of_a_year(jobs: int, nodes: int) -> tuple[Workload, Requests]:
    """Lublin's jobs on cpus of nodes that they share, with 1 to 8 GB per cpu."""
    drawn, _ = part_of_a_year(jobs, nodes)
    kinds: dict[tuple[int, int], Request] = {}
    for row, count in enumerate(drawn.procs.tolist()):
        memory = (1, 2, 4, 8)[row % 4] * GB
        kinds.setdefault((count, memory), Request(tasks=count, memory=memory, memory_per="cpu"))
    rows = enumerate(drawn.procs.tolist())
    return drawn, Requests.of_jobs([kinds[n, (1, 2, 4, 8)[at % 4] * GB] for at, n in rows])


def long_queue(waiting: int, nodes: int, *, shared: bool = False) -> tuple[SlurmState, int]:
    """All but a 25th of the cpus are in use, and so many jobs wait."""
    state = state_of(shared_site(nodes) if shared else plain_site(nodes))
    draw = cpus_of_a_year if shared else part_of_a_year
    jobs, requests = draw(waiting + nodes, nodes)
    section = state.machine.sections["batch"]
    rng = np.random.default_rng(3)
    asks = [ask_of(request, state.machine) for request in requests.distinct]
    now = 1_000_000
    for row in range(len(jobs)):
        limit = int(-(-jobs.request[row] // 60) * 60)
        job = Job(
            id=row + 1,
            ask=asks[requests.index[row]],
            limit=limit,
            record=row,
            priority=4_000_000_000 - row,
            partitions=("batch",),
        )
        found = None
        spare = state.usage.total - (job.ask.min_cpus if shared else 32 * job.ask.min_nodes)
        if row < nodes and spare >= 32 * (nodes // 25):
            found = state.chooser.test(state.usage, job.ask, section.nodes, state.weights)
        state.waiting.append(job)
        if found is not None:
            begin(state, job, section, found, now - int(rng.integers(0, limit)))
    state.waiting = state.waiting[:waiting]
    state.records = len(jobs)
    return state, now


def slurm(folder: Path) -> Iterator[Row]:
    """CPU seconds of a whole year."""
    yield _whole_run(JOBS, f"slurm: a year of {JOBS:,} jobs", BAR_YEAR)


def slurm_quarter(folder: Path) -> Iterator[Row]:
    """CPU seconds of a quarter of a year: its queue is shorter than that of a whole one."""
    count = JOBS // 4
    yield _whole_run(count, f"slurm quarter: {count:,} jobs in a quarter of a year", BAR_YEAR / 4)


def _whole_run(count: int, words: str, bar: float) -> Row:
    site = plain_site(NODES)
    run_slurm(*_three(part_of_a_year(200), site), compiled=True)  # warm
    jobs, requests = part_of_a_year(count)
    before = time.process_time()
    made = run_slurm(jobs, site, requests)
    seconds = time.process_time() - before
    wait = float((np.array(made.start) - jobs.submit).mean())
    return Row(
        what=f"{words} on {NODES} nodes, load {LOAD}, bf_interval 30",
        value=seconds, unit="s", bar=bar,
        note=f"{made.passes:,} passes made, mean wait {wait:,.0f} s",
    )  # fmt: skip


def slurm_passes(folder: Path) -> Iterator[Row]:
    """CPU seconds of single passes over a long queue, on whole and on shared nodes."""
    for shared in (False, True):
        state, now = long_queue(WAITING, DEEP_NODES, shared=shared)
        for plans, words in ((False, "starts"), (True, "starts and plans")):
            held: list[int] = []

            def timed(state: SlurmState, now: int, plans: bool, held: list[int]) -> None:
                made = backfill_pass(state.copy(), now, plans=plans)
                held[:] = [len(made.starts), len(made.plans)]

            (seconds,) = best_cpu(partial(partial, timed, state, now, plans, held), runs=3)
            where = f"{DEEP_NODES:,} {'shared mixed ' if shared else ''}nodes"
            yield Row(
                what=f"slurm pass: {words}, {WAITING:,} waiting on {where}",
                value=seconds, unit="s", bar=BAR_PASS, note=f"{held[0]} starts, {held[1]} plans",
            )  # fmt: skip


def _three(pair: tuple[Workload, Requests], site: Site) -> tuple[Workload, Site, Requests]:
    return pair[0], site, pair[1]
