"""The passes against the slow reference on random machines."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from naive.slurm import NaiveJob, NaiveState, naive_backfill, naive_main
from shadowtime.slurm.ask import ask_of
from shadowtime.slurm.backfill import backfill_pass
from shadowtime.slurm.job import Job
from shadowtime.slurm.machine import Hardware, Machine, Section, bits
from shadowtime.slurm.main_pass import main_pass
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.state import SlurmState
from shadowtime.slurm.usage import Share, lowest
from shadowtime.workload.request import Request

NOW = 1_000_000


@st.composite
def worlds(draw: st.DrawFn) -> NaiveState:
    """A machine in use and a queue."""
    count = draw(st.integers(1, 7))
    cpus = draw(st.sampled_from([1, 2, 4]))
    free = [cpus] * count
    running: list[NaiveJob] = []
    for number in range(draw(st.integers(0, 9))):
        whole = draw(st.booleans())
        able = [n for n in range(count) if free[n] == cpus or (not whole and free[n] > 0)]
        if not able:
            break
        nodes = draw(st.lists(st.sampled_from(able), min_size=1, max_size=3, unique=True))
        holds = {n: cpus if whole else draw(st.integers(1, free[n])) for n in sorted(nodes)}
        for n, taken in holds.items():
            free[n] -= taken
        limit = 60 * draw(st.integers(1, 30))
        begun = NOW - draw(st.integers(0, limit + 40))
        running.append(
            NaiveJob(
                number,
                limit,
                nodes=len(holds) if whole else 0,
                cpus=sum(holds.values()),
                start=begun,
                holds=holds,
            )
        )
    waiting = []
    for number in range(100, 100 + draw(st.integers(0, 12))):
        limit = 60 * draw(st.integers(1, 20))
        if draw(st.booleans()):
            waiting.append(NaiveJob(number, limit, nodes=draw(st.integers(1, count))))
        else:
            waiting.append(NaiveJob(number, limit, cpus=draw(st.integers(1, cpus * count))))
    return NaiveState(cpus, count, running, waiting)


def state_of(naive: NaiveState, parameters: Parameters) -> SlurmState:
    """The same world as the package's own value."""
    everything = (1 << naive.count) - 1
    machine = Machine(
        nodes=tuple(Hardware(name=f"n{k}", cpus=naive.cpus) for k in range(naive.count)),
        sections={"batch": Section(name="batch", nodes=everything)},
    )
    state = SlurmState.of(machine, parameters)

    def job_of(one: NaiveJob) -> Job:
        request = (
            Request(nodes=one.nodes, max_nodes=one.nodes, tasks=one.nodes, exclusive=True)
            if one.nodes
            else Request(tasks=one.cpus)
        )
        return Job(
            id=one.id,
            ask=ask_of(request, machine),
            limit=one.limit,
            record=one.id,
            priority=1000 - one.id,
            partitions=("batch",),
            partition="batch",
            start=one.start,
        )

    for one in naive.running:
        job = job_of(one)
        job.holding = tuple(
            Share(n, lowest(state.usage.cores[n], taken)) for n, taken in one.holds.items()
        )
        job.nodes = sum(1 << n for n in one.holds)
        state.usage.take(job.holding)
        state.running.append(job)
    state.waiting = [job_of(one) for one in naive.waiting]
    return state


@settings(max_examples=examples(300), deadline=None)
@given(worlds(), st.sampled_from([1, 60]), st.sampled_from([600, 86400]))
def test_backfill_is_the_slow_one(world: NaiveState, step: int, window: int) -> None:
    """Starts, planned times and nodes are equal."""
    parameters = Parameters(bf_resolution=step, bf_window=window)
    ours = backfill_pass(state_of(world, parameters), NOW)
    starts, plans = naive_backfill(copy.deepcopy(world), NOW, step=step, window=window)
    assert [(one.job, tuple(bits(one.nodes))) for one in ours.starts] == starts
    near = [one for one in ours.plans if one.start <= NOW + window]
    assert [(one.job, one.start, tuple(bits(one.nodes))) for one in near] == plans


@settings(max_examples=examples(200), deadline=None)
@given(worlds())
def test_the_main_pass_is_the_slow_one(world: NaiveState) -> None:
    """First come, first served, on the same nodes."""
    ours = main_pass(state_of(world, Parameters()), NOW)
    assert [(one.job, tuple(bits(one.nodes))) for one in ours.starts] == naive_main(
        copy.deepcopy(world), NOW
    )
