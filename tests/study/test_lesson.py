"""The lesson decides as the engine does, job by job, and gives reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from python_policies import PythonEasy
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.policy.snapshot import Snapshot, Start, Stop
from shadowtime.study.lesson import PROCS, TEN, Job, lesson
from shadowtime.study.lesson_rules import EXPLAINED
from shadowtime.types import Reason
from shadowtime.workload import Workload


def outcome(policy: Any, jobs: tuple[Job, ...], procs: int) -> dict[str, tuple[int, str]]:
    """Start and reason of every job of a lesson."""
    return {
        one.job.id: (moment.now, one.kind)
        for moment in lesson(policy, jobs=jobs, procs=procs)
        for one in moment.outcomes
        if one.starts
    }


def engines(policy: str, jobs: tuple[Job, ...], procs: int) -> dict[str, tuple[int, str]]:
    """The same from the engine; its minutes are seconds."""
    workload = Workload.build(
        submit=[job.submit for job in jobs],
        run=[job.run for job in jobs],
        request=[job.request for job in jobs],
        procs=[job.procs for job in jobs],
        job_id=[place for place, _ in enumerate(jobs, 1)],
    )
    found = simulate(workload, Cluster.pool(procs), parse_policy(policy))
    names = [jobs[number - 1].name for number in workload.job_id]
    starts, reasons = found.start.tolist(), found.reason.tolist()
    return {
        name: (start, Reason(reason).label)
        for name, start, reason in zip(names, starts, reasons, strict=True)
    }


@pytest.mark.parametrize("policy", EXPLAINED)
def test_the_ten_jobs(policy: str) -> None:
    """Starts and reasons of the lesson are the engine's."""
    assert outcome(policy, TEN, PROCS) == engines(policy, TEN, PROCS)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[Job, ...], int]:
    procs = draw(st.integers(1, 6))
    jobs = []
    submit = 0
    for number in range(draw(st.integers(1, 9))):
        submit += draw(st.integers(0, 3))
        request = draw(st.integers(1, 8))
        run = draw(st.integers(1, request))
        jobs.append(Job(f"j{number}", submit, draw(st.integers(1, procs)), request, run))
    return tuple(jobs), procs


@pytest.mark.parametrize("policy", EXPLAINED)
@given(world=worlds())
@settings(max_examples=examples(60), deadline=None)
def test_any_small_world(policy: str, world: tuple[tuple[Job, ...], int]) -> None:
    """Ties, early ends, one processor: still the engine's answers."""
    jobs, procs = world
    assert outcome(policy, jobs, procs) == engines(policy, jobs, procs)


@pytest.mark.parametrize("policy", EXPLAINED)
def test_every_queued_job_gets_a_reason_at_every_pass(policy: str) -> None:
    """Every job passed over has a reason, and no processor is allocated twice."""
    for moment in lesson(policy):
        assert {one.job for one in moment.outcomes} == set(moment.snapshot.waiting)
        assert all(len(one.why) > 10 for one in moment.outcomes)
        assert moment.free >= 0
        used = sum(one.procs for one in moment.running)
        assert used + moment.free == PROCS


def test_the_ten_jobs_show_what_there_is_to_see() -> None:
    """EASY: one job overtakes by ending in time, one on spare processors, one may not."""
    reasons = " ".join(one.why for moment in lesson("easy") for one in moment.outcomes)
    assert "will end by minute" in reasons
    assert "runs past" in reasons
    assert "it would delay" in reasons


def test_shadow_times_are_right() -> None:
    """When B is first blocked, A is expected to end at 10, and then 2 of 8 are spare."""
    moment = next(m for m in lesson("easy") if m.now == 1)
    [head] = moment.promises
    assert (head.job, head.start, head.extra) == ("B", 10, 2)


def test_promises_of_conservative_only_move_forward() -> None:
    """From pass to pass no promise is later than before."""
    known: dict[str, int] = {}
    for moment in lesson("conservative"):
        for one in moment.promises:
            assert one.start <= known.get(one.job, one.start)
            known[one.job] = one.start
    assert np.array(list(known.values())).max() > 12


def test_an_unknown_policy_is_refused() -> None:
    """The error lists the supported ones."""
    with pytest.raises(UsageError, match="easy-sjbf"):
        list(lesson("lxfw"))


@pytest.mark.parametrize("policy", EXPLAINED)
def test_the_explained_policies_are_policies(policy: str) -> None:
    """The same objects run in a simulation, with the starts and reasons of the catalogue's."""
    mine = Workload.build(
        submit=[job.submit for job in TEN],
        run=[job.run for job in TEN],
        request=[job.request for job in TEN],
        procs=[job.procs for job in TEN],
    )
    found = simulate(mine, Cluster.pool(PROCS), EXPLAINED[policy]())
    wanted = simulate(mine, Cluster.pool(PROCS), parse_policy(policy))
    assert found.start.tolist() == wanted.start.tolist()
    assert found.reason.tolist() == wanted.reason.tolist()


@given(world=worlds())
@settings(max_examples=examples(40), deadline=None)
def test_a_policy_written_in_python_is_watched(world: tuple[tuple[Job, ...], int]) -> None:
    """EASY without reasons of its own: the engine's starts, and a reason for every job."""
    jobs, procs = world
    assert outcome(PythonEasy(), jobs, procs) == engines("easy", jobs, procs)
    for moment in lesson(PythonEasy(), jobs=jobs, procs=procs):
        assert {one.job.id for one in moment.outcomes} == {j.id for j in moment.snapshot.waiting}
        assert all(len(one.why) > 10 for one in moment.outcomes)


class Swap:
    """Stops A when B waits, once."""

    done = False

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        if snapshot.now == 1 and not self.done:
            self.done = True
            yield Stop("A")
            yield Start("B")
        elif snapshot.now != 1:
            yield from (Start(job.id, optional=True) for job in snapshot.waiting)


def test_a_stopped_job_waits_again() -> None:
    """It starts again from the beginning, in its old place in the queue."""
    jobs = (Job("A", 0, 4, 9, 9), Job("B", 1, 4, 3, 3))
    starts = [(m.now, one.job.id) for m in lesson(Swap(), jobs=jobs, procs=4)
              for one in m.outcomes if one.starts]  # fmt: skip
    assert starts == [(0, "A"), (1, "B"), (4, "A")]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Start("B"), "starts job B, but it does not fit now"),
        (Start("X"), "cannot be carried out"),
        (None, "never starts job A"),
    ],
    ids=["full", "unknown", "idle"],
)
def test_wrong_decisions_are_errors_of_the_policy(decision: object, message: str) -> None:
    """The error is one sentence, not a traceback."""

    class Wrong:
        def decide(self, snapshot: Snapshot) -> list[object]:
            return [] if decision is None else [Start("A"), decision]

    with pytest.raises(PolicyError, match=message):
        list(lesson(Wrong(), jobs=(Job("A", 0, 4, 9, 9), Job("B", 0, 4, 3, 3)), procs=4))
