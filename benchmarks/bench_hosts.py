"""K reservations and class partitioning on hosts: a month of the O2K, then many side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Host
from shadowtime.cluster.examples import example
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.o2k import o2k_month

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shadowtime.cluster import Cluster

MONTH = "2003-01"
DEPTHS = (1, 4, 10, 25, 40)
HOSTS = (12, 96, 1000)
JOBS_PER_HOST = 100
SOME_HOSTS = (12, 48, 96, 192)
LOAD, OVERLOAD = 0.92, 1.8
"""Of the month, and so much more that there is a queue though the machine was empty at first."""
BAR_MONTH, BAR_LARGE = 0.3, 60.0


def hosts(folder: Path) -> Iterator[Row]:
    """Seconds of simulate() from arrays, and how they grow with K and with the hosts."""
    jobs, machine = o2k_month(MONTH, seed=1), example("o2k")
    simulate(jobs.take(range(100)), machine, parse_policy("lxfw"))  # compiles
    timed = [partial(simulate, jobs, machine, parse_policy(f"lxfw(reserve={k})")) for k in DEPTHS]
    cost = dict(zip(DEPTHS, best_cpu(*(lambda run=run: run for run in timed), runs=3), strict=True))
    notes = ", ".join(f"{k}: {seconds:.3f} s" for k, seconds in cost.items())
    yield Row(
        what=f"O2K, a month of {len(jobs):,} jobs on 12 hosts, LXF&W with 25 reservations",
        value=cost[25], unit="s", bar=BAR_MONTH, note=f"by K: {notes}",
    )  # fmt: skip
    for policy in ("lxfw(reserve=25)", "part-l-sm(hosts={}, hours=50)"):
        yield growth(policy, LOAD, HOSTS, bar=BAR_LARGE)
        yield growth(policy, OVERLOAD, SOME_HOSTS)


def growth(policy: str, load: float, sizes: tuple[int, ...], bar: float | None = None) -> Row:
    """Seconds of the largest machine; time per job of each, with as many jobs for every host."""
    notes, seconds = [], 0.0
    for count in sizes:
        machine, jobs = side_by_side(count), stream(count, load)
        chosen = parse_policy(policy.format(count // 4))
        waits = []

        def run(jobs=jobs, machine=machine, chosen=chosen, waits=waits) -> None:  # type: ignore[no-untyped-def]
            waits[:] = [float(simulate(jobs, machine, chosen).wait.mean()) / 3600]

        (seconds,) = best_cpu(lambda run=run: run, runs=1)
        notes.append(
            f"{count:,} hosts {1e6 * seconds / len(jobs):.0f} us/job (mean wait {waits[0]:.2f} h)"
        )
    name = policy.format("n/4")
    return Row(
        what=f"{name}, {sizes[-1]:,} hosts, {sizes[-1] * JOBS_PER_HOST:,} jobs, load {load:g}",
        value=seconds, unit="s", bar=bar, note="; ".join(notes),
    )  # fmt: skip


def side_by_side(count: int) -> Cluster:
    """A machine of so many hosts, in the mixture of the O2K."""
    one = example("o2k")
    kinds = [one.hosts[number % len(one.hosts)].capacity for number in range(count)]
    return one.replace(hosts=tuple(Host(f"h{i}", kind) for i, kind in enumerate(kinds)))


def stream(count: int, load: float, jobs: int | None = None) -> Workload:
    """Jobs of as many drawn months as it takes, submitted so that they offer the load.

    So many for each host, or as many as are asked for.
    """
    wanted = count * JOBS_PER_HOST if jobs is None else jobs
    drawn: list[Workload] = []
    while sum(map(len, drawn)) < wanted:
        drawn.append(o2k_month(MONTH, seed=len(drawn) + 1))
    columns = {
        name: np.concatenate([getattr(month, name) for month in drawn])
        for name in ("submit", "run", "procs", "request")
    }
    memory = np.concatenate([month.demand[:, 1] for month in drawn])
    rows = np.sort(np.random.default_rng(1).permutation(len(memory))[:wanted])
    work = float((columns["procs"] * np.minimum(columns["run"], columns["request"]))[rows].sum())
    span = work / (load * side_by_side(count).procs)
    latest = float(columns["submit"].max())
    submit = (columns["submit"][rows] / latest * span).astype(np.int64)
    order = np.argsort(submit, kind="stable")
    return Workload.build(
        submit=submit[order],
        demand={"memory": memory[rows][order]},
        **{name: columns[name][rows][order] for name in ("run", "procs", "request")},
    )
