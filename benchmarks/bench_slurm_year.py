"""Slurm's own scheduler on a university's site with everything on: CPU time per job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.rows import Row

from shadowtime.cluster.site import Association, Limits, Node, Partition, Qos, Site
from shadowtime.slurm.run import run_slurm
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODES, LOAD, JOBS_A_YEAR, YEAR = 600, 0.85, 1_000_000, 365 * 86_400
JOBS = 20_000
"""What is measured of the year: CPU time grows with the number of jobs."""
BAR = 0.3
"""Milliseconds of CPU time per job."""
ACCOUNTS, USERS = 40, 5
GB = 1 << 20
"""In KB."""
VERSIONS = ("22.05.8", "24.11.5", "26.05.5")


def university(version: str, nodes: int = NODES) -> Site:
    """Thin, fat and GPU nodes; 40 accounts with fair-share, limits, preemption by QOS."""
    made = []
    for at in range(nodes):
        kind = at % 12
        if kind == 11:
            amounts, sockets, near = (64, 512 * GB, 8), 2, (4, 4)
        elif kind >= 9:
            amounts, sockets, near = (32, 256 * GB, 4), 2, (2, 2)
        elif kind >= 7:
            amounts, sockets, near = (64, 1024 * GB, 0), 2, ()
        else:
            amounts, sockets, near = (32, 128 * GB, 0), 2, ()
        weight = 1 if kind < 7 else 10 if kind < 9 else 100
        made.append(
            Node(name=f"n{at:04d}", amounts=amounts, sockets=sockets, near=near, weight=weight)
        )
    names = [node.name for node in made]
    fat = tuple(name for at, name in enumerate(names) if 7 <= at % 12 < 9)
    gpu = tuple(name for at, name in enumerate(names) if at % 12 >= 9)
    accounts = [f"a{at:02d}" for at in range(ACCOUNTS)]
    return Site(
        nodes=tuple(made),
        resources=("cpus", "memory", "gpu"),
        partitions=(
            Partition(name="batch", nodes=tuple(names), default=True, default_memory=2 * GB),
            Partition(name="short", nodes=tuple(names[::2]), max_time=14_400, tier=2),
            Partition(name="fat", nodes=fat, default_memory=8 * GB),
            Partition(name="gpu", nodes=gpu, default_memory=4 * GB, qos="gpu"),
        ),
        qos=(
            Qos(name="normal", limits=Limits(user_resources={"cpus": 1_500}, user_jobs=150)),
            Qos(name="high", priority=100, preempts=("low",), limits=Limits(user_jobs=10)),
            Qos(name="low", preempt="requeue"),
            Qos(name="gpu", limits=Limits(user_resources={"gpu": 48})),
        ),
        associations=(
            Association(account="root"),
            *(
                Association(
                    account=name, parent="root", shares=1 + at % 7,
                    limits=Limits(group_resources={"cpus": 4_000 + 500 * (at % 4)}),
                )
                for at, name in enumerate(accounts)
            ),
            *(
                Association(account=name, user=f"u{at * USERS + k}", parent=name)
                for at, name in enumerate(accounts)
                for k in range(USERS)
            ),
        ),
        enforce=frozenset({"limits"}),
        config={
            "SLURM_VERSION": version,
            "SchedulerParameters": "bf_interval=60,bf_max_job_test=1000,bf_window=4320",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "PreemptType": "preempt/qos",
            "PreemptMode": "REQUEUE",
            "PriorityType": "priority/multifactor",
            "PriorityWeightAge": "1000",
            "PriorityWeightFairshare": "10000",
            "PriorityWeightQOS": "5000",
            "PriorityWeightJobSize": "500",
            "PriorityMaxAge": "7-00:00:00",
            "PriorityDecayHalfLife": "7-00:00:00",
        },
    )  # fmt: skip


def _kinds() -> tuple[list[Request], list[float]]:
    """What jobs ask for, and how often."""
    found: list[tuple[float, Request]] = []
    for cpus in (1, 2, 4, 8, 16, 32):
        for memory in (1, 4):
            one = Request(tasks=cpus, max_nodes=1, memory=memory * GB, memory_per="cpu")
            found.append((4.0, one))
    for count in (2, 4, 8, 16):
        tasks = 32 * count
        found.append((0.5, Request(nodes=count, max_nodes=count, tasks=tasks, tasks_per_node=32)))
        found.append((0.5, Request(tasks=16 * count, memory=2 * GB, memory_per="cpu")))
        whole = Request(nodes=count, max_nodes=count, tasks=count, exclusive=True)
        found.append((0.2, whole))
    for cpus in (8, 16, 32, 64):
        memory = 8 * GB
        one = Request(tasks=cpus, max_nodes=1, memory=memory, memory_per="cpu", partitions=("fat",))
        found.append((1.0, one))
    for gpus in (1, 2, 4):
        gres = (Gres(name="gpu", count=gpus),)
        found.append((2.0, Request(tasks=gpus * 4, max_nodes=1, gres=gres, partitions=("gpu",))))
    found += [(1.5, Request(tasks=cpus, partitions=("short", "batch"))) for cpus in (1, 8, 32, 64)]
    return [one for _, one in found], [share for share, _ in found]


def part_of_a_year(jobs: int, site: Site, *, seed: int = 1) -> tuple[Workload, Requests]:
    """As many jobs at the rate of a year's million, their run times scaled to the load."""
    rng = np.random.default_rng(seed)
    kinds, shares = _kinds()
    index = rng.choice(len(kinds), jobs, p=np.array(shares) / sum(shares))
    cpus = np.array([one.cpus if not one.exclusive else 40 * one.nodes for one in kinds])[index]
    run = np.clip(rng.lognormal(8.0, 1.4, jobs), 30, 172_800)
    span = YEAR * jobs / JOBS_A_YEAR
    for _ in range(20):  # the longest are cut, so that one step does not do
        run = np.clip(run * LOAD * site.procs * span / float((cpus * run).sum()), 30, 172_800)
    brief = np.array([one.partitions[:1] == ("short",) for one in kinds])[index]
    run = np.where(brief, np.minimum(run, 14_000), run).astype(np.int64)
    request = np.clip(np.ceil(run * rng.uniform(1, 4, jobs) / 900) * 900, 900, 259_200)
    request = np.maximum(np.where(brief, np.minimum(request, 14_400), request), run)
    user = rng.zipf(1.3, jobs) % (ACCOUNTS * USERS)
    qos = rng.choice(3, jobs, p=[0.8, 0.05, 0.15])
    words = ("normal", "high", "low")
    known: dict[tuple[int, int, int], Request] = {}
    each = []
    for kind, who, level in zip(index.tolist(), user.tolist(), qos.tolist(), strict=True):
        key = (kind, who // USERS, level)
        if key not in known:
            one = kinds[kind]
            known[key] = Request(
                nodes=one.nodes, max_nodes=one.max_nodes, tasks=one.tasks,
                tasks_per_node=one.tasks_per_node, memory=one.memory, memory_per=one.memory_per,
                gres=one.gres, exclusive=one.exclusive, partitions=one.partitions,
                account=f"a{key[1]:02d}", qos=words[level],
            )  # fmt: skip
        each.append(known[key])
    work = Workload.build(
        submit=np.sort(rng.uniform(0, span, jobs)).astype(np.int64),
        run=run,
        request=request.astype(np.int64),
        procs=cpus,
        user=user,
        names={"user": tuple(f"u{at}" for at in range(ACCOUNTS * USERS))},
    )
    return work, Requests.of_jobs(each)


def slurm_year(folder: Path) -> Iterator[Row]:
    """Milliseconds of CPU time per job, by version."""
    for version in VERSIONS:
        yield measured(version, JOBS)


def measured(version: str, jobs: int) -> Row:
    """One version's row."""
    site = university(version)
    run_slurm(*_three(part_of_a_year(200, site), site))  # warm
    work, requests = part_of_a_year(jobs, site)
    before = time.process_time()
    made = run_slurm(work, site, requests)
    seconds = time.process_time() - before
    start = np.array(made.start)
    wait = float((start - work.submit)[start >= 0].mean())
    late = int((start > work.submit + 5).sum())
    return Row(
        what=f"slurm year: {jobs:,} of a million jobs on {NODES} mixed nodes, Slurm {version}",
        value=1000 * seconds / jobs, unit="ms", bar=BAR,
        note=(
            f"{made.passes:,} passes, {late:,} jobs waited, mean wait {wait:,.0f} s, "
            f"{made.preemptions} preemptions"
        ),
    )  # fmt: skip


def _three(pair: tuple[Workload, Requests], site: Site) -> tuple[Workload, Site, Requests]:
    return pair[0], site, pair[1]
