"""Sessions, batches and think times."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.follows import ENDED, SUBMITTED, THINK, closed_loop, submissions


def jobs(**columns: object) -> Workload:
    """Ann: two at once, one after them, one the next day. Bob: one."""
    given = {
        "submit": [0, 10, 50, 300, 90_000],
        "run": [100, 100, 100, 60, 60],
        "procs": [1] * 5,
        "user": [1, 1, 2, 1, 1],
        "recorded_start": [0, 100, 50, 300, 90_000],
        **columns,
    }
    return Workload.build(**given)  # type: ignore[arg-type]


def test_batches_follow_the_end_of_the_one_before() -> None:
    log = closed_loop(jobs())
    assert log.follows.tolist() == [[2, 1, 10, SUBMITTED], [4, 1, 100, ENDED], [4, 2, 100, ENDED]]
    assert submissions(log, Schedule.recorded(log)).tolist() == log.submit.tolist()


def test_a_faster_machine_receives_the_next_batch_sooner() -> None:
    """Ann's first two end at 110 instead of 200: the third is submitted 90 seconds sooner."""
    log = closed_loop(jobs())
    end = np.array([100, 110, 150, 360, 90_060])
    made = Schedule.recorded(log).replace(end=end)
    assert submissions(log, made).tolist() == [0, 10, 50, 210, 90_000]


def test_a_longer_think_time_begins_a_session() -> None:
    late = jobs(
        submit=[0, 10, 50, 200 + THINK + 1, 90_000], recorded_start=[0, 100, 50, 1401, 90_000]
    )
    assert closed_loop(late).follows.tolist() == [[2, 1, 10, SUBMITTED]]


def test_unknown_users_and_starts() -> None:
    """No user is assumed to wait for a job; without any start it is an error."""
    assert len(closed_loop(jobs(user=[-1] * 5)).follows) == 0
    with pytest.raises(UsageError, match="records no starts"):
        closed_loop(jobs(recorded_start=[-1] * 5))


def test_what_the_log_says_of_preceding_jobs_comes_first() -> None:
    given = {"preceding_job": np.array([-1, -1, -1, 2, 3]), "think_time": np.array([-1] * 4 + [7])}
    found = closed_loop(jobs(extra=given))
    assert found.follows.tolist() == [[4, 2, 0, ENDED], [5, 3, 7, ENDED]]
    assert closed_loop(found) is found
