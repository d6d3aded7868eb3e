"""What live_slurm.py submits to a real Slurm, and its simulation."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.hperf.install import Installation
from shadowtime.live.replay import LogPort, follow
from shadowtime.live.slurm import setup
from shadowtime.policy import parse_policy
from shadowtime.policy.estimate import ByTag
from shadowtime.policy.place import Capped
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shadowtime.testing.slurm import SlurmCluster

ROOT = Path(__file__).resolve().parent.parent
CPUS = 16
CAPACITY = 34_000
TAGS = {"cg": 4250, "mg": 3000, "lu": 1500, "ep": 300}
"""Programs with the MB/s that each of their tasks draws."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """Jobs, how they are submitted, and what the simulator makes of them."""

    work: Workload
    options: Callable[[int], list[str]]
    prepare: Callable[[SlurmCluster], None]
    starts: Callable[[], np.ndarray]
    shared: bool = False
    """Whether jobs share nodes."""
    owner: str = ""
    """SlurmUser, where it matters: the controller's epilog must be able to run this Python."""


def load_for(policy: str, count: int, seed: int, nodes: int) -> Load:
    """Whole nodes for policies on a pool, tasks that share bandwidth for lessc and hperf."""
    value = parse_policy(policy)
    if isinstance(value.place, Capped):
        return sharing(count, seed, nodes, policy, by_tag=isinstance(value.estimate, ByTag))
    work = whole_nodes(count, seed)
    return Load(
        work=work,
        options=lambda at: [f"--nodes={work.procs[at] // CPUS}", "--exclusive"],
        prepare=gate,
        starts=lambda: simulate(work, Cluster.pool(CPUS * nodes), value).start,
    )


def whole_nodes(count: int, seed: int) -> Workload:
    """Whole-node jobs, a second apart on average, that use part of what they ask for."""
    draw = np.random.default_rng(seed)
    run = draw.integers(2, 9, count)
    return Workload.build(
        submit=np.cumsum(draw.integers(0, 3, count)),
        run=run,
        procs=CPUS * draw.choice([1, 1, 2, 3, 4, 6], count),
        request=60 * draw.integers(1, 4, count),
        user=draw.integers(0, 3, count),
    )


def sharing(count: int, seed: int, nodes: int, policy: str, *, by_tag: bool) -> Load:
    """Jobs of a few tasks whose bandwidth is declared (lessc) or found under their tag (hperf)."""
    draw = np.random.default_rng(seed)
    names = list(TAGS)
    tag = draw.integers(0, len(names), count)
    each = np.array([TAGS[names[at]] for at in tag])
    work = Workload.build(
        submit=np.cumsum(draw.integers(0, 3, count)),
        run=draw.integers(4, 17, count),
        procs=draw.choice([4, 8, 12, 16, 24, 32], count),
        request=60 * draw.integers(1, 4, count),
        extra={"bandwidth": each, "tag": tag},
    )

    def options(at: int) -> list[str]:
        name = f"tag={names[tag[at]]}," if by_tag else ""
        return [f"--ntasks={work.procs[at]}", f"--comment={name}bw={each[at]}"]

    def starts() -> np.ndarray:
        machine = node_cluster(nodes, procs=CPUS, bandwidth=CAPACITY)
        measures = ByTag(factor="1") if by_tag else None
        port = LogPort(workload=work, cluster=machine, measures=measures)
        started = follow(port, parse_policy(policy), shape="nodes").started
        return np.array([started[str(job)] for job in work.job_id])

    return Load(
        work=work,
        options=options,
        prepare=gate_with_hperf if by_tag else gate,
        starts=starts,
        shared=True,
        owner="root" if by_tag and os.geteuid() == 0 else "",
    )


def gate(cluster: SlurmCluster) -> None:
    """As `shadowtime live slurm setup` leaves the configuration."""
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0])
    setup.carry_out(changes, folder)


def gate_with_hperf(cluster: SlurmCluster) -> None:
    """With HPerf's plug-in and epilog besides, as `shadowtime hperf install` writes them."""
    folder = cluster.conf.parent / "hperf"
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}/src exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    plan = Installation(
        folder=folder,
        store=str(folder / "s.sqlite"),
        capacity=CAPACITY,
        version=cluster.version,
        python=str(python),
    )
    plan.write()
    shutil.copy(folder / "job_submit.lua", cluster.conf.parent / "job_submit.lua")
    lines = ["JobSubmitPlugins=lua", f"EpilogSlurmctld={folder / 'hperf-epilog.sh'}"]
    cluster.conf.write_text(cluster.conf.read_text() + "\n".join(lines) + "\n")
    gate(cluster)


@contextmanager
def bandwidth_watched(cluster: SlurmCluster) -> Iterator[list[int]]:
    """The most bandwidth that Slurm had given out on a node, sampled twice a second."""
    most = [0]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.5):
            shown = cluster.run("scontrol", "--oneliner", "--details", "show", "node", check=False)
            most[0] = max([most[0], *map(int, re.findall(r"GresUsed=membw:(\d+)", shown))])

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()
