"""The lesson decides as the engine does, job by job, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.policy import parse_policy
from shadowtime.study.lesson import PROCS, TEN, Job, lesson
from shadowtime.study.lesson_rules import TEACHERS
from shadowtime.types import Reason
from shadowtime.workload import Workload


def outcome(policy: str, jobs: tuple[Job, ...], procs: int) -> dict[str, tuple[int, str]]:
    """Start and reason of every job of a lesson."""
    return {
        decision.job.name: (moment.now, decision.kind)
        for moment in lesson(policy, jobs=jobs, procs=procs)
        for decision in moment.made.decisions
        if decision.starts
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


@pytest.mark.parametrize("policy", TEACHERS)
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


@pytest.mark.parametrize("policy", TEACHERS)
@given(world=worlds())
@settings(max_examples=60, deadline=None)
def test_any_small_world(policy: str, world: tuple[tuple[Job, ...], int]) -> None:
    """Ties, early ends, one processor: still the engine's answers."""
    jobs, procs = world
    assert outcome(policy, jobs, procs) == engines(policy, jobs, procs)


@pytest.mark.parametrize("policy", TEACHERS)
def test_everybody_in_the_queue_gets_a_reason_at_every_pass(policy: str) -> None:
    """Nobody is passed over in silence, and nothing is given away twice."""
    for moment in lesson(policy):
        assert {d.job for d in moment.made.decisions} == set(moment.queue)
        assert all(len(d.why) > 10 for d in moment.made.decisions)
        assert moment.free >= 0
        used = sum(one.job.procs for one in moment.running)
        assert used + moment.free == PROCS


def test_the_ten_jobs_show_what_there_is_to_see() -> None:
    """EASY: somebody overtakes by ending in time, somebody on spare processors, one is refused."""
    reasons = " ".join(d.why for moment in lesson("easy") for d in moment.made.decisions)
    assert "will be gone by minute" in reasons
    assert "runs past" in reasons
    assert "it would delay" in reasons


def test_shadow_times_are_right() -> None:
    """When B is first held up, A is expected to end at 10, and then 2 of 8 are over."""
    moment = next(m for m in lesson("easy") if m.now == 1)
    [(head, shadow)] = moment.made.promises
    assert (head.name, shadow, moment.made.extra) == ("B", 10, 2)


def test_promises_of_conservative_only_move_forward() -> None:
    """From pass to pass no promise is later than before."""
    known: dict[str, int] = {}
    for moment in lesson("conservative"):
        for job, when in moment.made.promises:
            assert when <= known.get(job.name, when)
            known[job.name] = when
    assert np.array(list(known.values())).max() > 12


def test_an_unknown_policy_is_refused() -> None:
    """With the ones it knows."""
    with pytest.raises(UsageError, match="easy-sjbf"):
        list(lesson("lxfw"))
