"""Backfill passes with their shortcuts equal those without, start by start, plan by plan."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.from_site import state_of
from shadowtime.slurm.job import Job
from shadowtime.slurm.main_pass import main_pass
from shadowtime.slurm.outcome import Outcome
from shadowtime.slurm.phase import Phase
from shadowtime.slurm.run import run_slurm
from shadowtime.slurm.starting import begin
from shadowtime.slurm.state import SlurmState
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

NOW = 100_000
WORDS = (
    "bf_resolution=1",
    "bf_max_job_test=5",
    "bf_window_linear=45",
    "bf_running_job_reserve",
    "bf_max_job_start=2",
    "bf_min_age_reserve=40",
    "bf_min_prio_reserve=70",
    "bf_node_space_size=6",
    "bf_window=10",
)


VERSIONS = ("22.05.8", "23.02.7", "23.11.0", "24.05.8", "24.11.5", "25.05.0", "25.11.1", "26.05.5")
MB = 1024
"""In KB."""


@st.composite
def kinds(draw: st.DrawFn) -> Node:
    """A kind of node with memory."""
    return Node(
        name="",
        amounts=(draw(st.sampled_from([2, 4, 4, 8])), draw(st.sampled_from([500, 1000])) * MB),
        threads_per_core=draw(st.sampled_from([1, 1, 2])),
        weight=draw(st.sampled_from([1, 1, 1, 2])),
        features=frozenset(draw(st.sampled_from(["x", "y", "xy"]))),
    )


@st.composite
def sites(draw: st.DrawFn) -> Site:
    """Nodes, sometimes more than a word has bits, in two partitions that overlap.

    All of them have four cpus, or each is of one of a few kinds with memory, which jobs share.
    """
    count = draw(st.sampled_from([2, 3, 5, 8, 66]))
    names = [f"n{k}" for k in range(count)]
    words = draw(st.lists(st.sampled_from(WORDS), max_size=3, unique=True))
    some = draw(st.lists(kinds(), max_size=3)) or [Node(name="", amounts=(4,))]
    return Site(
        resources=("cpus", "memory")[: len(some[0].amounts)],
        nodes=tuple(replace(some[at % len(some)], name=name) for at, name in enumerate(names)),
        partitions=(
            Partition(name="batch", nodes=tuple(names), default=True),
            Partition(name="left", nodes=tuple(names[: count // 2 + 1]), max_time=1200, tier=2),
        ),
        amounts={"license/lic": 1},
        config={
            "SchedulerParameters": ",".join(["batch_sched_delay=1", "bf_interval=5", *words]),
            "SelectTypeParameters": draw(st.sampled_from(["CR_Core_Memory", "CR_CPU_Memory"])),
            "SLURM_VERSION": draw(st.sampled_from(VERSIONS)),
        },
    )


@st.composite
def shared_asks(draw: st.DrawFn, count: int) -> Request:
    """Cpus and memory of nodes that others may use too; sometimes named nodes."""
    where = draw(st.sampled_from([(), (), ("left",), ("left", "batch")]))
    wide = draw(st.integers(1, min(count, 6)))
    per_node = draw(st.sampled_from([None, None, None, 1, 2]))
    return Request(
        nodes=draw(st.integers(1, wide)),
        max_nodes=draw(st.sampled_from([None, 1, wide, wide])),
        tasks=draw(st.integers(1, 9)) if per_node is None else wide * per_node,
        tasks_per_node=per_node,
        cpus_per_task=draw(st.sampled_from([1, 1, 2, 3])),
        memory=draw(st.sampled_from([None, 0, 50, 100, 300, 600])),
        memory_per=draw(st.sampled_from(["cpu", "node"])),
        exclusive=draw(st.sampled_from([False, False, False, True])),
        wanted=draw(st.sampled_from([(), (), (), (), ("n1",)])),
        excluded=draw(st.sampled_from([(), (), (), (), ("n0",)])),
        features=draw(st.sampled_from(["", "", "", "x", "[x|y]"])),
        partitions=where,
    )


@st.composite
def asks(draw: st.DrawFn, site: Site) -> Request:
    """Whole nodes, ranges of them, shared nodes, and licences, which Python plans."""
    count = len(site.nodes)
    if len(site.resources) > 1 and draw(st.integers(0, 3)):
        made = draw(shared_asks(count))
        return made if made.memory is None else replace(made, memory=made.memory * MB)
    where = draw(st.sampled_from([(), (), ("left",), ("left", "batch")]))
    kind = draw(st.integers(0, 9))
    if kind == 9:
        return Request(tasks=draw(st.integers(1, 9)), partitions=where)
    wide = draw(st.integers(1, count))
    if kind == 8:
        return Request(nodes=1, max_nodes=wide, tasks=wide, exclusive=True, partitions=where)
    if kind == 7:
        return Request(
            nodes=1,
            max_nodes=1,
            tasks=1,
            exclusive=True,
            amounts=(("license/lic", 1),),
            partitions=where,
        )
    tasks = draw(st.sampled_from([wide, wide, 2 * wide, 4 * wide]))
    return Request(nodes=wide, max_nodes=wide, tasks=tasks, exclusive=True, partitions=where)


@st.composite
def states(draw: st.DrawFn) -> tuple[SlurmState, list[Job]]:
    """A machine in use and a queue; some nodes are down, some are still completing."""
    site = draw(sites())
    state = state_of(site)
    jobs = []
    for number in range(draw(st.integers(1, 24))):
        request = draw(asks(site))
        jobs.append(
            Job(
                id=number + 1,
                ask=ask_of(request, state.machine),
                limit=60 * draw(st.integers(1, 30)),
                record=number,
                priority=100 - number,
                partitions=tuple(request.partitions) or ("batch",),
                submit=NOW - 100,
                eligible=NOW - draw(st.integers(0, 80)),
                least_time=draw(st.sampled_from([0, 0, 0, 60])),
                licences=request.amounts,
                tasks=draw(st.sampled_from([[], [], [], [1, 2, 3]])),
            )
        )
    for job in list(jobs):
        if job.tasks or not draw(st.booleans()):
            continue
        section = state.machine.sections[job.partitions[0]]
        found = state.chooser.test(state.usage, job.ask, section.nodes, state.weights)
        if found is not None:
            state.waiting = [job]
            begin(state, job, section, found, NOW - draw(st.integers(0, job.limit + 40)))
            jobs.remove(job)
    state.records = 100
    state.up &= ~draw(st.sampled_from([0, 0, 1, 2]))
    state.completing = draw(st.sampled_from([0, 0, 1, 6])) & state.machine.everything
    return state, jobs


def made(state: SlurmState, jobs: list[Job], *, plans: bool, shortcuts: bool) -> Outcome:
    """One pass on a copy."""
    state = state.copy()
    state.waiting = list(jobs)
    if not shortcuts:
        bare = SlurmState.of(state.machine, state.parameters, shortcuts=False)
        state.chooser, state.board = bare.chooser, bare.board
    return backfill_pass(state, NOW, plans=plans)


@settings(max_examples=examples(100), deadline=None)
@given(states())
def test_passes_are_the_same(world: tuple[SlurmState, list[Job]]) -> None:
    """Starts, their nodes, all plans and their nodes."""
    state, jobs = world
    slow = made(state, jobs, plans=True, shortcuts=False)
    assert made(state, jobs, plans=True, shortcuts=True) == slow
    assert made(state, jobs, plans=False, shortcuts=True).starts == slow.starts


@st.composite
def runs(draw: st.DrawFn) -> tuple[Site, Workload, Requests]:
    """A site and some jobs, a few of them in an array."""
    site = draw(sites())
    jobs = draw(st.integers(1, 25))
    each = [draw(asks(site)) for _ in range(jobs)]
    array, task = [-1] * jobs, [-1] * jobs
    for row in range(draw(st.integers(0, min(jobs, 4)))):
        each[row], array[row], task[row] = each[0], 77, row
    submit = sorted(draw(st.integers(0, 400)) for _ in range(jobs))
    if array[0] == 77:
        submit = [submit[0] if array[row] == 77 else when for row, when in enumerate(submit)]
    run = [draw(st.integers(1, 600)) for _ in range(jobs)]
    workload = Workload.build(
        submit=submit,
        run=run,
        request=[-(-one * draw(st.integers(1, 3)) // 60) * 60 for one in run],
        procs=[one.cpus for one in each],
    )
    return site, workload, Requests.of_jobs(each, array=array, task=task)


@settings(max_examples=examples(30), deadline=None)
@given(runs(), st.sampled_from([0.1, 0.7]))
def test_runs_are_the_same(case: tuple[Site, Workload, Requests], tick: float) -> None:
    """Starts, ends, nodes, what each job holds and which pass started it, with the queue kept."""
    site, workload, requests = case
    phase = Phase(tick=tick)
    fast = run_slurm(workload, site, requests, phase=phase)
    slow = run_slurm(workload, site, requests, phase=phase, shortcuts=False)
    # Passes that would repeat the last one are skipped.
    assert replace(fast, passes=0) == replace(slow, passes=0)
    assert fast.passes <= slow.passes


@pytest.mark.parametrize("shortcuts", [True, False])
def test_a_job_over_its_limit_keeps_its_node_until_it_ends(shortcuts: bool) -> None:
    """From 24.11 will-run tests take it for gone; a start must find the node free."""
    config = {
        "SchedulerParameters": "batch_sched_delay=1,bf_interval=5",
        "SLURM_VERSION": "25.05.0",
    }
    site = Site(nodes=tuple(Node(name=name, amounts=(4,)) for name in "ab"), config=config)
    workload = Workload.build(
        submit=[0, 0, 107, 122, 138, 153],
        run=[293, 1, 60, 1, 1, 1],
        request=[300, 60, 60, 60, 60, 60],
        procs=[1] * 6,
    )
    whole = Request(nodes=1, max_nodes=1, tasks=1, exclusive=True)
    run = run_slurm(
        workload, site, Requests.of_jobs([whole] * 6), phase=Phase(tick=0.7), shortcuts=shortcuts
    )
    ends_by_start = sorted(zip(run.start[1:], run.end[1:], strict=True))
    assert all(end <= later for (_, end), (later, _) in pairwise(ends_by_start))


def test_a_main_pass_starts_no_more_than_it_may() -> None:
    site = Site(
        nodes=(Node(name="a", amounts=(4,)),),
        config={"SchedulerParameters": "sched_max_job_start=2"},
    )
    state = state_of(site)
    for number in range(4):
        ask = ask_of(Request(tasks=1), state.machine)
        state.waiting.append(
            Job(id=number + 1, ask=ask, limit=60, record=number, partitions=("batch",))
        )
    assert len(main_pass(state, NOW).starts) == 2
    assert len(main_pass(state, NOW + 1).starts) == 2
