"""Resampled users: whole users, whole weeks."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload import Workload
from shadowtime.workload.resample import WEEK, resample_users


def log(weeks=40, users=30, seed=1):
    """Half of the users stay all the time, the others for three weeks."""
    rng = np.random.default_rng(seed)
    submit, user = [], []
    for person in range(users):
        start = 0 if person % 2 else int(rng.integers(0, weeks - 3))
        stay = weeks if person % 2 else 3
        times = start * WEEK + rng.integers(0, stay * WEEK, 4 * stay)
        submit += [*times.tolist(), start * WEEK + person, (start + stay) * WEEK - 1 - person]
        user += [person + 10] * (4 * stay + 2)
    n = len(submit)
    return Workload.build(submit=submit, run=rng.integers(1, 99, n), procs=[1] * n, user=user)


def test_users_are_drawn_whole_and_move_by_whole_weeks():
    before = log()
    after = resample_users(before, seed=7)
    place = {int(i): k for k, i in enumerate(before.job_id)}
    old = np.array([place[i] for i in after.extra["source_id"].tolist()])
    assert ((after.submit - before.submit[old]) % WEEK == 0).all()
    assert (after.extra["source_user"] == before.user[old]).all()
    assert (after.run == before.run[old]).all()
    for person in np.unique(after.user):
        mine = after.user == person
        who = np.unique(after.extra["source_user"][mine])
        assert len(who) == 1
        assert sorted(old[mine].tolist()) == np.flatnonzero(before.user == who[0]).tolist()
        shift = np.unique((after.submit - before.submit[old])[mine])
        assert len(shift) == (1 if who[0] % 2 == 0 else 2)  # visitors in one piece, others turned
    assert len(np.unique(after.user)) == 30
    assert after.submit.min() >= 0
    assert after.submit.max() < 40 * WEEK
    assert after.job_id.tolist() == list(range(1, len(after) + 1))


def test_both_kinds_of_users_keep_their_number():
    after = resample_users(log(), seed=3)
    kinds = {
        int(p): int(s) % 2 for p, s in zip(after.user, after.extra["source_user"], strict=True)
    }
    assert sum(kinds.values()) == 15
    assert len(set(after.extra["source_user"].tolist())) < 30  # with replacement


def test_draws_differ_by_seed_and_agree_by_seed():
    before = log()
    a, b, c = (resample_users(before, seed=s) for s in (1, 1, 2))
    assert a.submit.tolist() == b.submit.tolist()
    assert a.submit.tolist() != c.submit.tolist()
    jobs = np.mean([len(resample_users(before, seed=s)) for s in range(20)])
    assert jobs == pytest.approx(len(before), rel=0.1)


def test_jobs_without_a_user_stay():
    w = Workload.build(submit=[0, WEEK, 2 * WEEK], run=[1, 2, 3], procs=[1] * 3, user=[-1, 4, -1])
    after = resample_users(w, seed=1)
    without_user = after.user == -1
    assert after.submit[without_user].tolist() == [0, 2 * WEEK]
    assert after.extra["source_id"][without_user].tolist() == [1, 3]
    with pytest.raises(UsageError, match="user"):
        resample_users(w.replace(user=np.full(3, -1)), seed=1)
    assert len(resample_users(Workload.build(submit=[], run=[], procs=[]), seed=1)) == 0
