"""What the digests are taken of: workloads on machines of every shape, and the policies on each."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.digest_sites import draw_site, recordings
from benchmarks.site_passes import passes

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.live.record import decision_to_json
from shadowtime.live.replay import LogPort, follow
from shadowtime.policy import catalogue, parse_policy
from shadowtime.slurm.recording.check import check_recording
from shadowtime.study.papers.class_partitioning.runs import (
    DEPTHS,
    ONCE,
    ORDERS,
    PARTITIONED,
    draw_month,
    with_depth,
)
from shadowtime.study.papers.hperf.runs import POLICIES as THESIS
from shadowtime.study.papers.hperf.runs import RULES, WORKLOADS, jobs_of, text_of, thesis_cluster
from shadowtime.study.papers.ibb.runs import POLICIES as IBB
from shadowtime.study.papers.pv_easy.runs import ABLATIONS, PREDICTORS, READINGS, easy
from shadowtime.study.papers.rua.runs import BEYOND, LIMIT
from shadowtime.study.papers.rua.runs import POLICIES as RUA
from shadowtime.trace import read
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import demo_workload
from shadowtime.workload.clean import fit
from shadowtime.workload.demand import draw_bandwidth
from shadowtime.workload.scale import offered_load, to_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shadowtime.cluster.site import Site
    from shadowtime.engine.live_pass import Decided
    from shadowtime.engine.live_pass.outcome import Shape
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
LOAD = 0.95
"""Logs are squeezed to this load on machines that they were not recorded on, else no job waits."""
CORES, BANDWIDTH = 4, 6000
"""Of a node; MB/s."""
SITES, SITE_JOBS, LIVE_JOBS = 6, 120, 60
"""Drawn sites, and the jobs of each in a simulation and in the live loop."""
MOST = 20 * LIVE_JOBS
"""Passes that they may take."""
EVERY = {"M1": 4, "M2": 16}
"""Of the long recordings every n-th pass."""
COLUMNS = (
    *("start", "end", "reason", "kills", "killed", "promised", "blocked_at", "limit", "place"),
    "penalised",
)


@dataclass(frozen=True, eq=False)
class Case:
    """Something that is run once per text, and what its digest is taken of."""

    name: str
    jobs: int
    texts: tuple[str, ...]
    """Policies, or how a recording is checked."""
    run: Callable[[str], Iterable[bytes]]


def simulated(
    name: str, workload: Workload, cluster: Cluster | Site, policies: tuple[str, ...]
) -> Case:
    """A workload on a machine, and the policies that run there."""

    def run(text: str) -> Iterator[bytes]:
        return columns_of(simulate(workload, cluster, parse_policy(text)))

    return Case(name, len(workload), policies, run)


def columns_of(schedule: Schedule) -> Iterator[bytes]:
    """All columns that a schedule has, the attempts of preempted jobs, and why others waited."""
    for name in COLUMNS:
        column = getattr(schedule, name)
        if column is None:
            continue
        yield name.encode()
        if name == "place":
            yield "\n".join(column).encode()
        else:
            yield np.asarray(column, np.int64).tobytes()
    tried = schedule.attempts
    for rows in (tried.job_id, tried.start, tried.end, tried.killed):
        yield np.asarray(rows, np.int64).tobytes()
    yield repr(schedule.job_id[schedule.unstarted].tolist()).encode()
    yield repr(sorted((schedule.waited_for or {}).items())).encode()


def driven(
    name: str, workload: Workload, cluster: Cluster, shape: Shape, policies: tuple[str, ...] = ()
) -> Case:
    """A workload through the live loop, decision by decision."""

    def run(text: str) -> Iterator[bytes]:
        port = LogPort(workload=workload, cluster=cluster)
        made: list[Decided] = []
        follow(
            port, parse_policy(text), shape=shape, record=lambda _s, _m, one, _d: made.append(one)
        )
        yield from map(decided_bytes, made)
        for clock, decision in port.decided:
            yield json.dumps([clock, decision_to_json(decision)]).encode()

    return Case(name, len(workload), policies or LIVE, run)


def decided_bytes(made: Decided) -> bytes:
    """What a pass decided, promised and wants to be woken for."""
    decisions = [decision_to_json(one) for one in made.decisions]
    return json.dumps([decisions, sorted(made.promises.items()), made.wake, made.unfit]).encode()


def every_policy(*more: str) -> tuple[str, ...]:
    """Every catalogue policy, and variants; what is not defined on a machine is rejected there.

    Examples
    --------
    >>> every_policy("easy", "easy(reserve=4)")[-1]
    'easy(reserve=4)'
    """
    return tuple(dict.fromkeys([*(policy.name for policy in catalogue()), *more]))


ON_POOLS = every_policy(
    *(easy(reading, base=base) for reading in READINGS for base in ("easy", "easy-last")),
    *ABLATIONS.values(),
    *PREDICTORS.values(),
    *IBB.values(),
    "conservative(compress=no)",
    "conservative(estimate=last-two)",
    "easy(reserve=4)",
    "lxfw(reserve=3)",
)
ON_HOSTS = every_policy(
    *(with_depth(order, depth) for order in ORDERS for depth in DEPTHS),
    *PARTITIONED.values(),
    ONCE,
)
ON_NODES = every_policy(
    *RUA.values(),
    *LIMIT.values(),
    *BEYOND.values(),
    "conservative(compress=no)",
    "conservative(place=first-fit)",
    "conservative(place=less-consume)",
    "conservative(place=least-slowdown)",
    "easy(place=first-fit(resv=counts))",
)


ON_SITES = every_policy(
    *("slurm", "slurm(bf_interval=30, bf_resolution=60)", "slurm(bf_max_job_test=5)"),
    *("easy(place=first-fit)", "easy(place=pack)", "easy(place=spread)", "easy(place=slurm)"),
    *("easy(reserve=4)", "easy(reserve=all)", "lxfw(reserve=3)"),
    *("conservative(compress=no)", "conservative(estimate=last-two)"),
    "part-l-a(hosts=1, above=4, hours=1)",
)
ON_RECORDED = ("slurm", "easy", "conservative", "lxfw(reserve=3)", "pv-easy")
LIVE = ("fcfs", "easy", "easy-sjbf", "easy++", "conservative", "lxfw", "relaxed", "selective",
        "pv-easy", "ibb", "priority-conservative", "slack")  # fmt: skip


def cases(*, jobs: int | None, only: str = "") -> Iterator[Case]:
    """The cases of the group ``only``, or those that have it in their name; empty: every case.

    Of each workload the first ``jobs`` (None: all of them).
    """
    for make in (GROUPS[only],) if only in GROUPS else GROUPS.values():
        for case in make(jobs):
            if only in GROUPS or only in case.name:
                yield case


def on_drawn_sites(jobs: int | None) -> Iterator[Case]:
    """Simulations on drawn sites, and the live loop on others."""
    for seed in range(SITES):
        yield simulated(f"site {seed}", *draw_site(seed, jobs=SITE_JOBS), ON_SITES)
    for seed in range(3):
        yield passed(f"site live {seed}", *draw_site(100 + seed, jobs=LIVE_JOBS, plain=True))


def passed(name: str, workload: Workload, site: Site) -> Case:
    """A workload through passes on snapshots of a site."""

    def run(text: str) -> Iterator[bytes]:
        for one in passes(workload, site, parse_policy(text), most=MOST):
            yield decided_bytes(one.made)

    return Case(name, len(workload), LIVE, run)


def on_recordings(jobs: int | None) -> Iterator[Case]:
    """Recorded Slurms: their sites under every policy, and each of their own passes."""
    folders = {f"recording {folder.parent.name}/{folder.name}": folder for folder in recordings()}
    read = {name: read_site(folder) for name, folder in folders.items()}
    for name, folder in folders.items():
        made = partial(checked, folder)
        yield Case(f"{name} / passes", len(read[name][1]), ("check",), made)
    for name, (site, work) in read.items():
        yield simulated(f"{name} / site", work, site, ON_RECORDED)


def checked(folder: Path, text: str) -> Iterator[bytes]:
    """What the model makes of every logged pass: how much is equal, and each difference."""
    found = check_recording(folder, every=EVERY.get(folder.name, 1))
    counts = [(one.name, getattr(found, one.name)) for one in fields(found)]
    yield repr([pair for pair in counts if isinstance(pair[1], int)]).encode()
    for one in found.differences:
        yield repr((one.time, one.what, one.job, one.ours, one.theirs)).encode()


def live_on_machines(jobs: int | None) -> Iterator[Case]:
    """The embedded workload through the live loop on a pool, hosts and nodes."""
    demo = demo_workload()
    short = demo.take(np.arange(2 * LIVE_JOBS))
    hosts = tuple(Host(f"h{k}", (demo.machine["procs"] // 4,)) for k in range(4))
    most = hosts[0].capacity[0]
    narrow = short.replace(
        resources=("procs",), demand=np.minimum(short.procs, most).reshape(-1, 1)
    )
    nodes = Cluster(shape="nodes", resources=("procs",), hosts=hosts)
    yield driven("live / pool", short, nodes, "pool")
    yield driven("live / hosts", narrow, nodes, "hosts")
    shared = draw_bandwidth(short, "MED", seed=1)
    count = -(-demo.machine["procs"] // CORES)
    contended = node_cluster(count, procs=CORES, bandwidth=BANDWIDTH)
    yield driven("live / nodes", shared, contended, "nodes", ("consres", "lessc"))


def on_machines(jobs: int | None) -> Iterator[Case]:
    """Pools, hosts and nodes."""

    def first(workload: Workload) -> Workload:
        return workload if jobs is None else workload.take(np.arange(min(jobs, len(workload))))

    demo = demo_workload()
    yield from on_every_shape("demo", demo, demo.machine["procs"])
    for path in logs():
        log = read(path)
        procs = log.machine.get("procs") or large_enough(log)
        log = first(fit(log, Cluster.pool(procs)))
        yield from on_every_shape(path.name.partition(".")[0], log, procs)
    for month in ("Dec02", "Feb03"):
        for name, world in draw_month(month, 1).worlds.items():
            yield simulated(f"o2k {month}, {name}", first(world.workload), world.cluster, ON_HOSTS)
    texts = tuple(text_of(policy, rule) for policy in THESIS for rule in RULES)
    for name in WORKLOADS:
        yield simulated(f"hperf {name}", jobs_of(name, 1), thesis_cluster(), texts)


GROUPS = {
    "live": live_on_machines,
    "site": on_drawn_sites,
    "recording": on_recordings,
    "machine": on_machines,
}
"""Cases that belong together, by the word that --only takes."""


def logs() -> list[Path]:
    """The archive's logs, from SHADOWTIME_TRACES or ../shared/traces."""
    given = os.environ.get("SHADOWTIME_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    return sorted(path for path in folder.glob("*.swf.gz") if ".alea." not in path.name)


def large_enough(log: Workload) -> int:
    """Processors for a log without a machine size: its load is LOAD, and no job is cut."""
    load = offered_load(log, Cluster.pool(1))["procs"]
    return max(int(log.procs.max()), math.ceil(load / LOAD))


def on_every_shape(name: str, log: Workload, procs: int) -> Iterator[Case]:
    """A log on a pool, a pool of three resources, hosts, nodes, and nodes that share bandwidth."""
    yield simulated(f"{name} / pool", log, Cluster.pool(procs), ON_POOLS)
    draw = np.random.default_rng(7)
    memory = log.procs * draw.integers(1, 9, len(log))
    licences = draw.integers(0, 4, len(log)) * (draw.random(len(log)) < 0.3)
    rich = log.replace(
        resources=("procs", "memory", "licences"),
        demand=np.stack([log.procs, memory, licences], axis=1),
    )
    pool = Cluster.pool(procs, memory=5 * procs, licences=8)
    yield simulated(f"{name} / resources", fit(rich, pool), pool, ON_POOLS)
    yield on_hosts(name, log)
    nodes = -(-procs // CORES)
    full = to_load(log, nodes * CORES, LOAD)
    yield simulated(f"{name} / nodes", full, node_cluster(nodes, procs=CORES), ON_NODES)
    shared = draw_bandwidth(full, "MED", seed=1)
    contended = node_cluster(nodes, procs=CORES, bandwidth=BANDWIDTH)
    yield simulated(f"{name} / contention", shared, contended, ON_NODES)


def on_hosts(name: str, log: Workload) -> Case:
    """A log on four large hosts and four small ones with memory; wide jobs are cut to a host."""
    width = np.minimum(log.procs, 128)
    draw = np.random.default_rng(8)
    memory = np.minimum(width * draw.integers(1, 9, len(log)), 400)
    jobs = log.replace(resources=("procs", "memory"), demand=np.stack([width, memory], axis=1))
    hosts = [Host(f"large{k}", (128, 640)) for k in range(4)]
    hosts += [Host(f"small{k}", (64, 200)) for k in range(4)]
    cluster = Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(hosts),
        options={"dedicated": {"procs": 96}},
    )
    return simulated(f"{name} / hosts", to_load(jobs, cluster.procs, LOAD), cluster, ON_HOSTS)
