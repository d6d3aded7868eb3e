"""The shortcuts of the passes change nothing: whole runs on random sites, with and without them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster.site import (
    Association,
    Limits,
    Node,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.slurm.machine import Hardware, Machine
from shadowtime.slurm.phase import Phase
from shadowtime.slurm.run import run_slurm
from shadowtime.slurm.usage import Share, Usage, runs_of
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests

VERSIONS = ("22.05.8", "23.02.7", "23.11.0", "24.05.8", "24.11.5", "25.05.0", "25.11.1", "26.05.5")
MB = 1024
"""In KB."""


@st.composite
def sites(draw: st.DrawFn) -> Site:
    """Up to nine nodes, alike or not, in two partitions that overlap; limits, a reservation."""
    count = draw(st.integers(2, 9))
    alike = draw(st.booleans())
    gpus = 0 if alike else draw(st.sampled_from([0, 2]))
    near = (1, 1) if gpus and draw(st.booleans()) else ()
    nodes = tuple(
        Node(
            name=f"n{k}",
            amounts=(4 if alike else draw(st.sampled_from([2, 4])), 1000 * MB, gpus),
            weight=1 if alike else draw(st.integers(1, 2)),
            sockets=len(near) or 1,
            near=near,
        )
        for k in range(count)
    )
    names = [node.name for node in nodes]
    words = ["batch_sched_delay=1", "bf_interval=5"]
    words += draw(
        st.lists(
            st.sampled_from(
                [
                    "bf_resolution=1",
                    "bf_max_job_test=5",
                    "bf_busy_nodes",
                    "bf_window_linear=45",
                    "bf_one_resv_per_job",
                    "bf_running_job_reserve",
                    "pack_serial_at_end",
                    "bf_max_job_user=2",
                    "bf_min_age_reserve=40",
                    "bf_window=10",
                ]
            ),
            max_size=3,
            unique=True,
        )
    )
    reserved = draw(st.booleans())
    return Site(
        resources=("cpus", "memory", "gpu"),
        nodes=nodes,
        partitions=(
            Partition(name="batch", nodes=tuple(names), default=True),
            Partition(name="left", nodes=tuple(names[: count // 2 + 1]), max_time=1200, tier=2),
        ),
        qos=(
            Qos(
                name="few",
                preempts=("low",),
                limits=Limits(
                    user_jobs=draw(st.sampled_from([2, 5])),
                    group_resources={"cpus": 8},
                    user_resources={"cpus": draw(st.integers(1, 6))}
                    | draw(st.sampled_from([{}, {"memory": 700 * MB}, {"gpu": 2}])),
                ),
            ),
            Qos(name="low", limits=Limits(account_resources={"nodes": 2}), preempt="requeue"),
        ),
        associations=(
            Association(account="root"),
            Association(
                account="a",
                parent="root",
                limits=Limits(
                    group_resources={"cpus": draw(st.integers(4, 30))},
                    group_run_minutes=draw(st.sampled_from([{}, {"cpus": 90}])),
                ),
            ),
            Association(account="a", user="0"),
            Association(account="a", user="1"),
        ),
        reservations=(
            (Reservation(name="r", nodes=(names[0],), begin=300, end=500),) if reserved else ()
        ),
        enforce=frozenset(["limits"]) if draw(st.booleans()) else frozenset(),
        config={
            "SchedulerParameters": ",".join(words),
            "PriorityType": draw(st.sampled_from(["priority/basic", "priority/multifactor"])),
            "PriorityWeightAge": "1000",
            "PriorityWeightJobSize": "500",
            "PriorityCalcPeriod": "1",
            "PreemptType": draw(st.sampled_from(["preempt/none", "preempt/qos"])),
            "PreemptMode": "REQUEUE",
            "SchedulerType": draw(st.sampled_from(["sched/backfill"] * 3 + ["sched/builtin"])),
            "SLURM_VERSION": draw(st.sampled_from(VERSIONS)),
        },
    )


@st.composite
def asks(draw: st.DrawFn, count: int, gpus: bool) -> Request:
    """Whole nodes, tasks that spread, one node with memory, or GPUs."""
    kind = draw(st.integers(0, 4 if gpus else 3))
    where = draw(st.sampled_from([(), ("left",), ("left", "batch")]))
    qos = draw(st.sampled_from(["", "few", "low"]))
    if kind == 0:
        wide = draw(st.integers(1, count))
        return Request(
            nodes=wide, max_nodes=wide, tasks=wide, exclusive=True, memory=MB,
            partitions=where, qos=qos, account="a",
        )  # fmt: skip
    if kind == 1:
        return Request(
            tasks=draw(st.integers(1, 9)), memory=MB, memory_per="cpu", partitions=where,
            qos=qos, account="a",
        )  # fmt: skip
    if kind == 2:
        cpus = draw(st.integers(1, 4))
        return Request(
            nodes=1, max_nodes=1, tasks=cpus, memory=draw(st.sampled_from([0, 100, 300])) * MB,
            memory_per=draw(st.sampled_from(["cpu", "node"])), partitions=where, qos=qos,
            account="a",
        )  # fmt: skip
    if kind == 3:
        return Request(nodes=1, max_nodes=3, tasks=6, memory=100 * MB, qos=qos, account="a")
    return Request(
        tasks=1, gres=(Gres(name="gpu", count=draw(st.integers(1, 2))),), memory=MB, qos=qos,
        account="a",
    )  # fmt: skip


@st.composite
def runs(draw: st.DrawFn) -> tuple[Site, Workload, Requests]:
    """A site and some jobs, a few of them in an array."""
    site = draw(sites())
    gpus = bool(site.nodes[0].amounts[2])
    jobs = draw(st.integers(1, 25))
    each = [draw(asks(len(site.nodes), gpus)) for _ in range(jobs)]
    array = [-1] * jobs
    task = [-1] * jobs
    for row in range(draw(st.integers(0, min(jobs, 4)))):
        each[row], array[row], task[row] = each[0], 77, row
    submit = sorted(draw(st.integers(0, 400)) for _ in range(jobs))
    if array[0] == 77:
        submit = [submit[0] if array[row] == 77 else when for row, when in enumerate(submit)]
    run = [draw(st.integers(1, 600)) for _ in range(jobs)]
    asked = [-(-one * draw(st.integers(1, 3)) // 60) * 60 for one in run]
    workload = Workload.build(
        submit=submit,
        run=run,
        request=asked,
        procs=[one.cpus for one in each],
        user=[draw(st.integers(0, 1)) for _ in range(jobs)],
    )
    gone = [when + draw(st.sampled_from([-1 - when, 10, 200, 900])) for when in submit]
    return site, workload, Requests.of_jobs(each, array=array, task=task, cancel_at=gone)


@settings(max_examples=examples(80), deadline=None)
@given(runs(), st.sampled_from([0.1, 0.7]), st.sampled_from([0.1, 20.0]))
def test_whole_runs_are_the_same(
    case: tuple[Site, Workload, Requests], tick: float, latency: float
) -> None:
    """Starts, ends, nodes, which pass started each job, and what it waited for."""
    site, workload, requests = case
    phase = Phase(tick=tick, latency=latency)
    short = run_slurm(workload, site, requests, phase=phase)
    long = run_slurm(workload, site, requests, phase=phase, shortcuts=False)
    assert short.start == long.start
    assert (short.end, short.nodes, short.scheduler) == (long.end, long.nodes, long.scheduler)
    assert short.waited_for == long.waited_for


@given(st.integers(0, 2**70))
def test_runs_of_bits_make_up_the_mask(mask: int) -> None:
    """Runs are apart, in order, and together the mask."""
    found = runs_of(mask)
    assert sum(((1 << length) - 1) << at for at, length in found) == mask
    assert all(at + length < after for (at, length), (after, _) in pairwise(found))


def test_what_is_free_is_known_at_all_times() -> None:
    """Free cpus, memory in use and idle nodes follow starts and ends."""
    machine = Machine(
        nodes=tuple(Hardware(name=f"n{k}", cpus=4, memory=100) for k in range(3)), sections={}
    )
    usage = Usage(machine)
    assert (usage.total, usage.idle) == (12, 0b111)
    held = (Share(0, 0b0111, memory=10), Share(1, 0b0001, memory=60))
    usage.take(held)
    assert (usage.total, usage.idle) == (8, 0b100)
    assert (usage.cpus.tolist(), usage.memory.tolist()) == ([1, 3, 4], [10, 60, 0])
    other = usage.copy()
    other.give(held)
    assert (other.total, other.idle, usage.total) == (12, 0b111, 8)


def test_a_job_that_is_cancelled_makes_way() -> None:
    """Under sched/builtin a wide job blocks others until its user takes it back."""
    site = Site(
        nodes=tuple(Node(name=f"n{k}", amounts=(1,)) for k in range(4)),
        config={"SchedulerType": "sched/builtin", "PriorityType": "priority/multifactor"},
    )
    wide = [Request(nodes=n, max_nodes=n, tasks=n) for n in (2, 4, 2)]
    requests = Requests.of_jobs(wide, cancel_at=[-1, 200, -1])
    jobs = Workload.build(submit=[0, 1, 2], run=[5000, 50, 50], procs=[2, 4, 2])
    short = run_slurm(jobs, site, requests, phase=Phase())
    assert short.start == run_slurm(jobs, site, requests, phase=Phase(), shortcuts=False).start
    assert 200 <= short.start[2] < 300
