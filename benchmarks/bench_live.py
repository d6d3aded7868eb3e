"""One live decision on a long queue, and reading one, against the bars of the live loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shadowtime.engine.once import State

WAITING, NODES, CORES = 10_000, 1_000, 16
MEMORY = 64


def live(folder: Path) -> Iterator[Row]:
    """decide() with everybody known from the pass before, and a snapshot from Slurm's texts."""
    from shadowtime.engine.once import decide
    from shadowtime.live.slurm.state import View, sort_jobs
    from shadowtime.live.slurm.text import parse_nodes, parse_queue
    from shadowtime.policy import parse_policy

    state = long_queue()
    for name in ("easy", "lxfw", "ibb"):
        policy = parse_policy(name)
        memory = decide(policy, state).memory  # compiles, if that is still to be done

        def again(policy: object = policy, memory: object = memory) -> Callable[[], object]:
            return lambda: decide(policy, state, memory)  # type: ignore[arg-type]

        (seconds,) = best_cpu(again, runs=9)
        made = decide(policy, state, memory)
        yield Row(
            what=f"one live decision of {name}: {WAITING:,} waiting jobs, {NODES:,} nodes",
            value=seconds, unit="s", bar=0.1,
            note=f"{len(state.running)} running; {len(made.decisions)} decisions",
        )  # fmt: skip
    queue, nodes = slurm_texts(state)
    view = View(partition="batch")
    (seconds,) = best_cpu(
        lambda: lambda: sort_jobs(parse_queue(queue), parse_nodes(nodes), view=view, now=state.now)
    )
    yield Row(
        what=f"understanding squeue and sinfo: {WAITING:,} waiting jobs, {NODES:,} nodes",
        value=seconds, unit="s", bar=1.4,
        note="without the commands themselves: benchmarks/live_slurm.py runs them",
    )  # fmt: skip


def long_queue(seed: int = 1) -> State:
    """A full machine of nodes with processors and memory, and a queue of ten thousand."""
    from shadowtime.cluster import Cluster, Host
    from shadowtime.engine.once import Running, State, Waiting

    draw = np.random.default_rng(seed)
    hosts = tuple(Host(f"n{k}", (CORES, MEMORY)) for k in range(1, NODES + 1))
    running: list[Running] = []
    at = 0
    while at < NODES - 8:
        wide = int(draw.integers(1, 5))
        running.append(
            Running(
                id=str(len(running) + 1),
                submit=len(running),
                need=(CORES * wide, 40 * wide),
                request=int(draw.integers(600, 90_000)),
                start=100_000 - int(draw.integers(0, 500)),
                place=tuple((hosts[at + k].name, CORES) for k in range(wide)),
                user=f"u{draw.integers(0, 200)}",
            )
        )
        at += wide
    first = len(running) + 1
    waiting = tuple(
        Waiting(
            id=str(first + k),
            submit=90_000 + k // 2,
            need=(wide * CORES, int(draw.integers(1, wide * MEMORY))),
            request=int(draw.integers(60, 90_000)),
            user=f"u{draw.integers(0, 200)}",
        )
        for k, wide in enumerate(draw.integers(1, 64, WAITING).tolist())
    )
    machine = Cluster(shape="nodes", resources=("procs", "memory"), hosts=hosts)
    return State(now=100_000, cluster=machine, waiting=waiting, running=tuple(running))


def slurm_texts(state: State) -> tuple[str, str]:
    """The same state as squeue and sinfo would write it."""
    from shadowtime.live.slurm.text import BETWEEN

    def line(*parts: object) -> str:
        return BETWEEN.join(map(str, parts)) + BETWEEN

    none = "(null)"
    queue = [
        line(j.id, "PENDING", "JobHeldUser", 0, f"cpu={j.need[0]}", "1:00:00", j.submit, "N/A",
             "N/A", "N/A", j.user, "batch", "", "", none, "OK", 1, j.need[0], none, 1, 0,
             j.need[0], 0, 1, "N/A", "N/A", none)
        for j in state.waiting
    ] + [
        line(j.id, "RUNNING", "None", 9, f"cpu={j.need[0]}", "1:00:00", j.submit, j.start, j.start,
             j.start + 3600, j.user, "batch", ",".join(h for h, _ in j.place), "", none, "NO",
             len(j.place), j.need[0], none, 1, 0, j.need[0], 0, 1, "N/A", "N/A", none)
        for j in state.running
    ]  # fmt: skip
    nodes = [
        line(host.name, "allocated", f"16/0/0/{CORES}", MEMORY, none, "batch*", none)
        for host in state.cluster.hosts
    ]
    return "\n".join(queue) + "\n", "\n".join(nodes) + "\n"
