"""Runs of jobs that were cancelled while they waited."""

from __future__ import annotations

import numpy as np

from shadowtime.workload.never_ran import FEWEST, drawn_runs


def drawn(*, seed: int = 0) -> list[int]:
    """Two users: one uses a tenth of long limits and all of short ones, the other half of any."""
    user = np.array([1] * 20 + [2] * 20 + [1, 1, 2, 3])
    request = np.array([1000] * 10 + [100] * 10 + [600] * 20 + [1000, 100, 300, 200])
    run = np.array([100] * 10 + [100] * 10 + [300] * 20 + [0] * 4)
    which = run == 0
    procs = np.ones(len(user), np.int64)
    found = drawn_runs(which, user=user, procs=procs, request=request, run=run, seed=seed)
    assert (found[~which] == run[~which]).all()
    return found[which].tolist()


def test_a_run_is_that_of_its_user_and_kind() -> None:
    """Same limit: a tenth and all of it; another limit of the user: half; a stranger: anybody's."""
    long, short, other, stranger = drawn()
    assert (long, short, other) == (100, 100, 150)
    assert stranger in (20, 200, 100)
    assert drawn() == drawn()
    assert len({drawn(seed=seed)[3] for seed in range(40)}) == 3


def test_without_any_run_it_is_half_of_the_limit() -> None:
    one = np.array([1] * FEWEST)
    found = drawn_runs(one > 0, user=one, procs=one, request=one * 60, run=one * 0)
    assert found.tolist() == [30] * FEWEST
