"""One live decision on a long queue, and reading one, against the bars of the live loop."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster.contention import node_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from shadowtime.engine.live_pass import Snapshot

WAITING, NODES, CORES = 10_000, 1_000, 16
MEMORY = 64
BANDWIDTH = 25_000
DRAWS = 8
JUST_ENDED = 10
"""Runs that end between two passes on a site."""


def live(folder: Path) -> Iterator[Row]:
    """decide() with all jobs known from the pass before, and a snapshot from Slurm's texts."""
    from shadowtime.engine.live_pass import decide
    from shadowtime.live.slurm.state import Scope, sort_jobs
    from shadowtime.policy import parse_policy
    from shadowtime.slurmtext.squeue import parse_nodes, parse_queue

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
    yield from on_nodes(state)
    yield from on_site()
    queue, nodes = slurm_texts(state)
    scope = Scope(partition="batch")
    (seconds,) = best_cpu(
        lambda: (
            lambda: sort_jobs(parse_queue(queue), parse_nodes(nodes), scope=scope, now=state.now)
        )
    )
    yield Row(
        what=f"understanding squeue and sinfo: {WAITING:,} waiting jobs, {NODES:,} nodes",
        value=seconds, unit="s", bar=1.4,
        note="without the commands themselves: benchmarks/live_slurm.py runs them",
    )  # fmt: skip


def on_site() -> Iterator[Row]:
    """decide() on the model of a site: mixed nodes, four partitions that overlap.

    The pass measured is the one after ten runs have ended.
    """
    from shadowtime.engine.live_pass import decide
    from shadowtime.policy import parse_policy

    state = site_queue()
    later = state.replace(now=state.now + 1, running=state.running[JUST_ENDED:])
    for name in ("easy", "lxfw", "conservative"):
        policy = parse_policy(name)
        memory = decide(policy, state, shape="site").memory
        memory = decide(policy, state, memory, shape="site").memory

        def again(policy: Any = policy, memory: Any = memory) -> Callable[[], object]:
            return lambda: decide(policy, later, memory, shape="site")

        (seconds,) = best_cpu(again, runs=7)
        yield Row(
            what=f"one live decision of {name} on a site: {WAITING:,} waiting, {NODES:,} nodes",
            value=seconds, unit="s", bar=0.1,
            note=f"{len(later.running)} running, {JUST_ENDED} have ended since the last pass; "
            "four partitions that overlap, memory, GPUs",
        )  # fmt: skip


def site_queue(seed: int = 1) -> Snapshot:
    """A full site of mixed nodes, five jobs of which have just ended, and a queue of ten thousand.

    Examples
    --------
    >>> state = site_queue()
    >>> len(state.waiting), len(state.site.nodes)
    (10000, 1000)
    """
    from benchmarks.bench_site import mixed_site, stream

    from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob, decide
    from shadowtime.policy import parse_policy
    from shadowtime.workload.request import Request

    site = mixed_site(NODES)
    work = stream(WAITING + 6_000, site, 0.9, seed)
    draw = np.random.default_rng(seed)
    assert work.requests is not None

    def one(row: int, submit: int) -> WaitingJob:
        return WaitingJob(
            id=str(row + 1), submit=submit, need=(1, 0, 0), request=int(work.request[row]),
            user=f"u{draw.integers(0, 200)}", ask=work.requests[row],
        )  # fmt: skip

    first = {str(row + 1): one(row, row) for row in range(6_000)}
    cluster = site.as_nodes()
    empty = Snapshot(now=90_000, cluster=cluster, waiting=tuple(first.values()), site=site)
    running = []
    for start in decide(parse_policy("easy"), empty, shape="site").decisions:
        job = first.pop(start.job)
        began = 100_000 - int(draw.integers(0, min(job.request, 9_000)))
        running.append(
            RunningJob(
                id=job.id, submit=job.submit, need=job.need, request=job.request, user=job.user,
                start=began, place=start.place, held=start.held,
                ask=Request(partitions=(start.partition,)),
            )
        )  # fmt: skip
    ended = set(draw.choice(len(running), 5, replace=False).tolist())
    kept = tuple(run for at, run in enumerate(running) if at not in ended)
    rest = WAITING - len(first)
    waiting = [*first.values(), *(one(6_000 + k, 90_000 + k) for k in range(rest))][:WAITING]
    return Snapshot(now=100_000, cluster=cluster, waiting=tuple(waiting), running=kept, site=site)


def on_nodes(state: Snapshot) -> Iterator[Row]:
    """decide() of the policies that count bandwidth, on whole nodes and on shared ones."""
    whole = with_bandwidth(state)
    for name in ("lessc", "hperf"):
        yield Row(
            what=f"one live decision of {name}: {WAITING:,} waiting jobs, {NODES:,} nodes",
            value=seconds_of(name, whole, runs=9), unit="s", bar=0.1,
            note=f"{len(whole.running)} running; the same whole-node jobs, with bandwidth",
        )  # fmt: skip
    draws = [shared(seed) for seed in range(1, DRAWS + 1)]
    for name in ("lessc", "hperf"):
        took = sorted(seconds_of(name, draw, runs=3) for draw in draws)
        what = f"one live decision of {name} on shared nodes: {WAITING:,} waiting, {NODES:,} nodes"
        yield Row(
            what=what, value=statistics.median(took), unit="s", bar=0.1,
            note=f"median of {DRAWS} draws: pieces of bandwidth are left on most nodes, and up to "
            "two thousand plans decide which jobs get them",
        )  # fmt: skip
        yield Row(
            what=f"{what}, worst", value=took[-1], unit="s", bar=0.3,
            note=f"{', '.join(f'{seconds:.2f}' for seconds in took)} s",
        )  # fmt: skip


def seconds_of(name: str, queue: Snapshot, *, runs: int) -> float:
    """Processor time of a decision on nodes with all jobs known from the pass before."""
    from shadowtime.engine.live_pass import decide
    from shadowtime.policy import parse_policy

    policy = parse_policy(name)
    memory = decide(policy, queue, shape="nodes").memory
    (seconds,) = best_cpu(lambda: lambda: decide(policy, queue, memory, shape="nodes"), runs=runs)
    return seconds


def with_bandwidth(state: Snapshot, seed: int = 2) -> Snapshot:
    """The same whole-node jobs with a bandwidth each, within what a node has."""
    from dataclasses import replace

    draw = np.random.default_rng(seed)
    amounts = iter(draw.choice([1500, 1000, 400], len(state.waiting) + len(state.running)).tolist())

    def one(job: Any) -> Any:
        each = next(amounts)
        return replace(job, need=(job.need[0], each * job.need[0]), bandwidth=each)

    return state.replace(
        cluster=node_cluster(NODES, procs=CORES, bandwidth=BANDWIDTH),
        waiting=tuple(map(one, state.waiting)),
        running=tuple(map(one, state.running)),
    )


def shared(seed: int = 1) -> Snapshot:
    """Nodes that lessc has filled with the thesis's applications; five jobs have just ended.

    2 to 128 processes of 412 to 4,250 MB/s on nodes of 25,000: some bandwidth is left on
    every node, and many waiting jobs would fit there if no other job had a plan for it.
    """
    from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob, decide
    from shadowtime.policy import parse_policy

    draw = np.random.default_rng(seed)

    def one(number: int, submit: int) -> WaitingJob:
        procs = int(2 ** draw.integers(1, 8))
        each = int(draw.choice([4250, 3000, 1870, 412], p=[0.3, 0.3, 0.2, 0.2]))
        return WaitingJob(
            id=str(number), submit=submit, need=(procs, procs * each), bandwidth=each,
            request=60 * int(draw.integers(10, 1440)), user=f"u{draw.integers(0, 200)}",
        )  # fmt: skip

    machine = node_cluster(NODES, procs=CORES, bandwidth=BANDWIDTH)
    first = {str(k): one(k, k) for k in range(1, 2001)}
    empty = Snapshot(now=90_000, cluster=machine, waiting=tuple(first.values()))
    running = []
    for start in decide(parse_policy("lessc"), empty, shape="nodes").decisions:
        job = first.pop(start.job)
        began = 100_000 - int(draw.integers(0, min(job.request, 9_000)))
        running.append(
            RunningJob(
                id=job.id, submit=job.submit, need=job.need, request=job.request, user=job.user,
                start=began, place=start.place, bandwidth=job.bandwidth,
            )
        )  # fmt: skip
    ended = set(draw.choice(len(running), 5, replace=False).tolist())
    waiting = list(first.values())
    waiting += [one(3_000 + k, 90_000 + k) for k in range(WAITING - len(waiting))]
    kept = tuple(run for at, run in enumerate(running) if at not in ended)
    return Snapshot(now=100_000, cluster=machine, waiting=tuple(waiting), running=kept)


def long_queue(seed: int = 1) -> Snapshot:
    """A full machine of nodes with processors and memory, and a queue of ten thousand."""
    from shadowtime.cluster import Cluster, Host
    from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob

    draw = np.random.default_rng(seed)
    hosts = tuple(Host(f"n{k}", (CORES, MEMORY)) for k in range(1, NODES + 1))
    running: list[RunningJob] = []
    at = 0
    while at < NODES - 8:
        wide = int(draw.integers(1, 5))
        running.append(
            RunningJob(
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
        WaitingJob(
            id=str(first + k),
            submit=90_000 + k // 2,
            need=(wide * CORES, int(draw.integers(1, wide * MEMORY))),
            request=int(draw.integers(60, 90_000)),
            user=f"u{draw.integers(0, 200)}",
        )
        for k, wide in enumerate(draw.integers(1, 64, WAITING).tolist())
    )
    machine = Cluster(shape="nodes", resources=("procs", "memory"), hosts=hosts)
    return Snapshot(now=100_000, cluster=machine, waiting=waiting, running=tuple(running))


def slurm_texts(state: Snapshot) -> tuple[str, str]:
    """The same state as squeue and sinfo would write it.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import parse_nodes, parse_queue
    >>> state = long_queue()
    >>> queue, nodes = slurm_texts(state)
    >>> len(parse_queue(queue)) - len(state.running), len(parse_nodes(nodes))
    (10000, 1000)
    """
    from shadowtime.slurmtext.squeue import BETWEEN, COLUMNS

    def line(parts: Iterable[object]) -> str:
        return BETWEEN.join(map(str, parts)) + BETWEEN

    empty: dict[str, object] = dict.fromkeys(COLUMNS, "N/A") | {
        "TimeLimit": "1:00:00", "Partition": "batch", "NodeList": "", "ReqNodes": "",
        "Dependency": "(null)", "OverSubscribe": "OK", "NumNodes": 1, "Reservation": "(null)",
        "cpus-per-task": 1, "NTPerNode": 0, "RestartCnt": 0, "Requeue": 1, "Feature": "(null)",
        "Licenses": "(null)", "Account": "a", "QOS": "normal", "Contiguous": 0, "MinCpus": 1,
        "SCT": "*:*:*",
    }  # fmt: skip

    def job(one: Any, **more: object) -> str:
        size = {"tres-alloc": f"cpu={one.need[0]}", "NumCPUs": one.need[0], "NumTasks": one.need[0]}
        who = {"JobArrayID": one.id, "SubmitTime": one.submit, "UserName": one.user}
        return line((empty | size | who | more).values())

    from shadowtime.live.slurm.gate import LEASE, lease_end

    end = lease_end(state.now, LEASE)
    queue = [
        job(one, State="PENDING", Reason="BeginTime", PriorityLong=9, EligibleTime=end)
        for one in state.waiting
    ]
    for one in state.running:
        nodes = ",".join(host for host, _ in one.place)
        times = {"EligibleTime": one.start, "StartTime": one.start, "EndTime": one.start + 3600}
        where = {"NodeList": nodes, "NumNodes": len(one.place), "OverSubscribe": "NO"}
        queue.append(job(one, State="RUNNING", Reason="None", PriorityLong=9, **times, **where))
    rows = [
        line((host.name, "allocated", f"16/0/0/{CORES}", MEMORY, "(null)", "batch*", "(null)"))
        for host in state.cluster.hosts
    ]
    return "\n".join(queue) + "\n", "\n".join(rows) + "\n"
