"""Shaken inputs: changed a little, exactly as documented, and never in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.errors import UsageError
from shadowtime.types import NO_LIMIT
from shadowtime.workload import Workload, unlimited
from shadowtime.workload.lublin import lublin_workload
from shadowtime.workload.resample import leave_out, shaken


def many(n=5000):
    return lublin_workload(n, seed=1)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 300), st.floats(0, 0.9))
def test_every_job_stays_within_its_bounds(seed, jitter, stretch):
    before = many(200)
    request = before.request.copy()
    request[::3] *= 2
    request[1::7] -= request[1::7] // 2  # these are killed at their limit
    before = before.replace(request=request, limit=request)
    after = shaken(before, seed=seed, jitter=jitter, stretch=stretch)
    old = np.argsort(before.job_id)
    new = np.argsort(after.job_id)
    submit, run = after.submit[new], after.run[new]
    assert (submit >= 0).all()
    assert (submit <= before.submit[old] + jitter).all()
    assert (submit >= np.maximum(0, before.submit[old] - jitter)).all()
    assert (run >= 1).all()
    killed = before.run > before.limit
    assert ((after.run > after.limit)[new] == killed[old]).all()
    assert (run[killed[old]] == before.run[old][killed[old]]).all()
    fair = ~killed[old]
    assert (run[fair] <= np.floor(before.run[old] * (1 + stretch) + 0.5)[fair]).all()
    assert (run[fair] >= np.floor(before.run[old] * (1 - stretch))[fair]).all()
    assert after.request[new].tolist() == before.request[old].tolist()
    assert (np.diff(after.submit) >= 0).all()


def test_moves_are_uniform_whole_seconds():
    before = many(40_000)
    after = shaken(before, seed=2, jitter=2)
    moved = after.submit[np.argsort(after.job_id)] - before.submit
    shares = [(moved == d).mean() for d in (-2, -1, 0, 1, 2)]
    assert shares == pytest.approx([0.2] * 5, abs=0.01)


def test_submissions_and_runs_have_streams_of_their_own():
    before = unlimited(many())
    one, two = (shaken(before, seed=5, jitter=jitter, stretch=0.1) for jitter in (0, 60))
    back = np.argsort(two.job_id)
    assert one.run.tolist() == two.run[back].tolist()
    assert one.submit.tolist() == before.submit.tolist()
    assert (one.limit == NO_LIMIT).all()
    still = shaken(before, seed=5, jitter=0, stretch=0)
    assert still.run.tolist() == before.run.tolist()


def test_shaking_is_pure_and_seeded():
    before = many(300)
    copy = before.submit.copy(), before.run.copy()
    a, b, c = shaken(before, seed=1), shaken(before, seed=1), shaken(before, seed=2)
    assert a.submit.tolist() == b.submit.tolist() != c.submit.tolist()
    assert (before.submit == copy[0]).all()
    assert (before.run == copy[1]).all()


def test_leaving_out_jobs():
    before = many(1000)
    after = leave_out(before, 0.01, seed=4)
    assert len(after) == 990
    assert set(after.job_id.tolist()) < set(before.job_id.tolist())
    assert after.job_id.tolist() != leave_out(before, 0.01, seed=5).job_id.tolist()
    assert len(leave_out(before, 0, seed=1)) == 1000
    assert len(leave_out(before, 1, seed=1)) == 0


def test_what_has_no_meaning_is_refused():
    w = Workload.build(submit=[0], run=[1], procs=[1])
    for call in (
        lambda: shaken(w, seed=1, jitter=-1),
        lambda: shaken(w, seed=1, stretch=1.0),
        lambda: leave_out(w, 1.1, seed=1),
    ):
        with pytest.raises(UsageError):
            call()
    empty = Workload.build(submit=[], run=[], procs=[])
    assert len(shaken(empty, seed=1)) == len(leave_out(empty, 0.5, seed=1)) == 0
