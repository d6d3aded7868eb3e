"""Why a job started when it did: a ten-line world worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from report.worlds import easy, workload
from shadowtime.errors import UsageError
from shadowtime.report import explain
from shadowtime.schedule import Attempts, Schedule
from shadowtime.types import Reason
from shadowtime.workload import Workload

# Four processors. Job 1 takes three until 100. Job 2 needs four and is blocked: promised 100.
# Job 3 (one processor, 50 s) is backfilled at 20. Job 4 (one processor, 200 s) would delay job 2
# and waits behind it until 130, when job 2 ends after 30 s.
JOBS = Workload.build(
    submit=[0, 10, 20, 30],
    run=[100, 30, 50, 200],
    request=[100, 60, 50, 200],
    procs=[3, 4, 1, 1],
    user=[5, 6, 7, 8],
)


@pytest.fixture
def schedule() -> Schedule:
    made = easy(JOBS, 4)
    assert made.start.tolist() == [0, 100, 20, 130]
    return made


def test_the_held_up_job_knows_its_promise(schedule):
    why = explain(JOBS, schedule, 2)
    assert why.reason is Reason.RESERVED
    assert (why.blocked_at, why.promised, why.start) == (10, 100, 100)
    assert why.running_on_arrival == (1,) and why.ahead_on_arrival == ()
    assert why.overtaken_by == (3,)
    assert why.ended_at_start == (1,)
    assert "promised day 0, 00:01:40" in str(why) and "As promised." in str(why)
    assert "1 job submitted after it started before it (3)." in str(why)


def test_a_slipped_promise_is_reported(schedule):
    """Blocked, promised 100, and started half a minute after that."""
    late = schedule.replace(start=schedule.start + np.array([0, 30, 0, 30]),
                            end=schedule.end + np.array([0, 30, 0, 30]))  # fmt: skip
    assert "The promise was missed by 30 s." in str(explain(JOBS, late, 2))


def test_the_backfilled_job_names_whom_it_passed(schedule):
    why = explain(JOBS, schedule, 3)
    assert why.reason is Reason.BACKFILLED
    assert why.still_ahead == (2,)
    assert [p.job for p in why.promises] == [2]
    assert "at once" in str(why)
    assert "it would end day 0, 00:01:10, before job 2's promise of day 0, 00:01:40" in str(why)


def test_the_job_behind_names_the_promise_that_held_it(schedule):
    why = explain(JOBS, schedule, 4)
    assert why.ahead_on_arrival == (2,)
    assert [(p.job, p.promised, p.start) for p in why.promises] == [(2, 100, 100)]
    assert "Job 2 was blocked at the head of the queue from day 0, 00:00:10" in str(why)
    assert why.ended_at_start == (2,)


def test_preemption_and_kills_are_reported():
    made = easy(JOBS, 4)
    kills = np.array([0, 0, 2, 0])
    attempts = Attempts(
        job_id=np.array([3, 3, 3]),
        start=np.array([20, 30, 40]),
        end=np.array([25, 35, 70]),
        killed=np.array([1, 1, 0], np.int8),
    )
    changed = made.replace(kills=kills, attempts=attempts, killed=np.array([0, 0, 1, 0], np.int8))
    text = str(explain(JOBS, changed, 3))
    assert "preempted 2 times" in text and "killed at its limit" in text


def test_a_job_without_a_start_is_explained_too():
    made = easy(JOBS, 4)
    unfinished = made.replace(start=np.array([0, -1, 20, -1]), end=np.array([100, -1, 70, -1]))
    why = explain(JOBS, unfinished, 4)
    assert why.reason is None and "no start" in str(why)


def test_an_unknown_job_is_refused_with_what_there_is(schedule):
    with pytest.raises(UsageError, match=r"no job 99 in workload: its ids go from 1 to 4"):
        explain(JOBS, schedule, 99)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(15), deadline=None)
def test_every_job_of_a_random_world_can_be_explained(seed):
    """The facts follow from starts and ends alone."""
    jobs = workload(25, seed=seed, procs=16)
    made = easy(jobs, 16)
    for row, job in enumerate(jobs.job_id.tolist()):
        why = explain(jobs, made, job)
        start = int(made.start[row])
        assert why.overtaken_by == tuple(
            int(jobs.job_id[r]) for r in range(row + 1, 25) if made.start[r] < start
        )
        assert why.still_ahead == tuple(
            int(jobs.job_id[r]) for r in range(row) if made.start[r] > start
        )
        assert (why.reason is Reason.BACKFILLED) == (made.reason[row] == Reason.BACKFILLED)
        assert len(why.lines) >= 3
