"""Sessions, batches and think times."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload import Workload
from shadowtime.workload.sessions import THINK, sessions_of


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
    found = sessions_of(jobs())
    assert found.batch.tolist() == [0, 0, 1, 2, 3]
    assert found.after.tolist() == [-1, -1, 0, -1]
    assert found.think.tolist() == [0, 0, 100, 0]
    log = jobs()
    assert found.submits(log.recorded_start + log.run).tolist() == log.submit.tolist()


def test_a_faster_machine_receives_the_next_batch_sooner() -> None:
    """Ann's first two end at 110 instead of 200: the third is submitted 90 seconds sooner."""
    log = jobs()
    end = np.array([100, 110, 150, 360, 90_060])
    assert sessions_of(log).submits(end).tolist() == [0, 10, 50, 210, 90_000]


def test_a_longer_think_time_begins_a_session() -> None:
    late = jobs(
        submit=[0, 10, 50, 200 + THINK + 1, 90_000], recorded_start=[0, 100, 50, 1401, 90_000]
    )
    assert sessions_of(late).after.tolist() == [-1, -1, -1, -1]


def test_unknown_users_and_starts() -> None:
    """No user is assumed to wait for a job; without any start it is an error."""
    assert (sessions_of(jobs(user=[-1] * 5)).after == -1).all()
    with pytest.raises(UsageError, match="records no starts"):
        sessions_of(jobs(recorded_start=[-1] * 5))
