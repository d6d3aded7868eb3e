"""The book of promises is the same step function however its promises move."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shadowtime.kernel.availability import (
    AFTER,
    DUE,
    FIRST,
    LAST_STEP,
    LEVEL,
    LISTED_AT,
    TIME,
    book,
    last_step_before,
    make_availability,
    make_room,
    tidy,
)
from shadowtime.kernel.promises import move, note_due

PROCS, MEMORY, END = 8, 20, 200
"""Of the pool; no promise lasts until the end."""

promise = st.tuples(
    st.integers(1, 3), st.integers(0, 4), st.integers(1, 12), st.integers(0, 40)
)  # procs, memory, length, due


def free_over_time(b):
    """What is free in every second, from the book."""
    free = np.empty((b.step.shape[0] - LEVEL, END), np.int64)
    for at in range(b.mark[FIRST], b.mark[LAST_STEP] + 1):
        free[:, b.step[TIME, at] :] = b.step[LEVEL:, at, None]
    return free


def listed(b):
    """Which job is due when, from the lists of the steps."""
    found = {}
    for at in range(b.mark[FIRST], b.mark[LAST_STEP] + 1):
        job = b.step[LISTED_AT, at]
        while job >= 0:
            found[int(job)] = int(b.step[TIME, at])
            job = b.job[job, AFTER]
    return found


@settings(max_examples=60, deadline=None)
@given(
    promises=st.lists(promise, min_size=1, max_size=8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=20),
)
def test_moving_is_taking_out_and_putting_in(promises, moves):
    """A promise that moves leaves the book as if it had been made at its new start."""
    capacity = np.array([[PROCS * 8, MEMORY * 8]])
    b = make_availability(n=len(promises), capacity=capacity, compress=True)
    needs = [np.array(promise[:2]) for promise in promises]
    for job, (_, _, length, due) in enumerate(promises):
        note_due(b, job, due)
        book(b, needs[job], due, due + length, job)
    for job, earlier in moves:
        if job < len(promises) and 0 < earlier <= b.job[job, DUE]:
            make_room(b)
            start = int(b.job[job, DUE]) - earlier
            if start in b.step[TIME, b.mark[FIRST] : b.mark[LAST_STEP] + 1]:
                own = last_step_before(b, b.job[job, DUE] + 1)
                move(b, job, needs[job], promises[job][2], start, own, False)
    expected = np.repeat(capacity.T, END, axis=1)
    for job, (_, _, length, _) in enumerate(promises):
        due = int(b.job[job, DUE])
        expected[:, due : due + length] -= needs[job][:, None]
    assert (free_over_time(b) == expected).all()
    assert listed(b) == {job: int(b.job[job, DUE]) for job in range(len(promises))}
    tidy(b)
    assert (free_over_time(b) == expected).all()
    changes = 1 + np.count_nonzero((np.diff(expected) != 0).any(axis=0))
    dues = {due for due in listed(b).values() if due > 0}
    silent = [due for due in dues if (expected[:, due] == expected[:, due - 1]).all()]
    assert b.mark[LAST_STEP] - b.mark[FIRST] + 1 == changes + len(silent)
