"""The plan of promises is the same step function however its promises move."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.kernel.availability import (
    AFTER,
    BASE,
    DUE,
    EDGE,
    FIRST,
    HELD,
    HOLDS,
    KNOWN,
    LENGTH_OF,
    LEVEL,
    LISTED_AT,
    NEEDS,
    NEXT,
    PREVIOUS,
    SCALE,
    SPARE,
    STEPS,
    TIME,
    USED,
    WIDEST,
    class_of,
    forget_past,
    insert,
    make_availability,
    near_to,
    part_of,
    renew_near,
    step_before,
)
from shadowtime.kernel.holes import find_holes
from shadowtime.kernel.line import stand_in_line
from shadowtime.kernel.promises import move, promise

PROCS, MEMORY, END = 8, 20, 200
"""The pool's size and the horizon; no promise lasts until the end."""

described = st.tuples(
    st.integers(1, 3), st.integers(0, 4), st.integers(1, 12), st.integers(0, 40)
)  # procs, memory, length, due


def steps(b):
    """The steps in order of time; the list is the same in reverse."""
    found, at = [], b.mark[FIRST]
    while at != EDGE:
        assert b.step[NEXT, b.step[PREVIOUS, at]] == at
        found.append(int(at))
        at = b.step[NEXT, at]
    assert b.step[PREVIOUS, EDGE] == found[-1]
    assert (np.diff(b.step[TIME, found]) > 0).all()
    return found


def free_over_time(b):
    """What is free in every second, from the plan."""
    free = np.empty((b.step.shape[0] - LEVEL, END), np.int64)
    for at in steps(b):
        free[:, b.step[TIME, at] :] = b.step[LEVEL:, at, None]
    return free


def chain(b, mark):
    """The places that a list of free ones names."""
    found, at = [], b.mark[mark]
    while at != EDGE:
        found.append(int(at))
        at = b.step[NEXT, at]
    return found


def listed(b):
    """Which job is due when, from the lists of the steps."""
    found = {}
    for at in steps(b):
        job = b.step[LISTED_AT, at]
        while job >= 0:
            found[int(job)] = int(b.step[TIME, at])
            job = b.job[job, AFTER]
    return found


def promised(promises, capacity):
    """A plan with promises, and what each of them needs."""
    b = make_availability(n=len(promises), capacity=capacity, compress=True)
    needs = [np.array(described[:2]) for described in promises]
    b.near[:] = b.mark[FIRST]
    for job, (_, _, length, due) in enumerate(promises):
        b.job[job, LENGTH_OF], b.job[job, NEEDS:] = length, needs[job]
        at = step_before(b, due)
        promise(b, job, needs[job], at if b.step[TIME, at] == due else insert(b, at, due))
        stand_in_line(b, job)
    return b, needs


def moved(b, needs, moves):
    """Apply those moves that lead to the beginning of an earlier step."""
    for job, earlier in moves:
        if job < len(needs) and 0 < earlier <= b.job[job, DUE]:
            start = int(b.job[job, DUE]) - earlier
            for at in steps(b):
                if b.step[TIME, at] == start:
                    move(b, job, needs[job], at)
                    break


@settings(max_examples=examples(60), deadline=None)
@given(
    promises=st.lists(described, min_size=1, max_size=8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=20),
)
def test_moving_is_taking_out_and_putting_in(promises, moves):
    """A moved promise leaves the plan as if it had been made at its new start."""
    capacity = np.array([[PROCS * 8, MEMORY * 8]])
    b, needs = promised(promises, capacity)
    moved(b, needs, moves)
    expected = np.repeat(capacity.T, END, axis=1)
    for job, (_, _, length, _) in enumerate(promises):
        due = int(b.job[job, DUE])
        expected[:, due : due + length] -= needs[job][:, None]
    assert (free_over_time(b) == expected).all()
    assert listed(b) == {job: int(b.job[job, DUE]) for job in range(len(promises))}
    begins = {int(b.job[job, DUE]) for job in range(len(promises))}
    ends = {int(b.job[job, DUE]) + promises[job][2] for job in range(len(promises))}
    assert [b.step[TIME, at] for at in steps(b)] == sorted({0} | begins | ends)
    renew_near(b)
    assert (free_over_time(b) == expected).all()
    assert b.mark[STEPS] == len(steps(b))
    assert b.mark[HOLDS] == 0
    for part in range(len(b.near)):
        near = b.near[part]
        assert near == b.mark[FIRST] or part_of(b, b.step[TIME, near]) < part


@settings(max_examples=examples(60), deadline=None)
@given(
    promises=st.lists(described, min_size=1, max_size=8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=20),
    now=st.integers(0, 30),
)
def test_a_step_near_a_part_of_time_is_in_the_list(promises, moves, now):
    """However promises move, and time passes, since ``near`` was renewed."""
    b, needs = promised(promises, np.array([[PROCS * 8, MEMORY * 8]]))
    find_holes(b)
    moved(b, needs, moves)
    forget_past(b, now)
    found = steps(b)
    for part in range(len(b.near)):
        near = near_to(b, part)
        assert near in found
        begin = b.mark[BASE] + (part << b.mark[SCALE])
        assert near == b.mark[FIRST] or b.step[TIME, near] <= begin


@settings(max_examples=examples(60), deadline=None)
@given(
    promises=st.lists(described, min_size=1, max_size=8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=20),
)
def test_places_are_used_again(promises, moves):
    """No place of the table is lost: it holds a step, is held, or is spare."""
    b, needs = promised(promises, np.array([[PROCS * 8, MEMORY * 8]]))
    moved(b, needs, moves)
    held, spare = chain(b, HELD), chain(b, SPARE)
    assert len(held) == b.mark[HOLDS]
    assert sorted([EDGE, *steps(b), *held, *spare]) == list(range(b.mark[USED]))
    renew_near(b)
    assert chain(b, HELD) == []
    assert chain(b, SPARE) == held + spare


@settings(max_examples=examples(60), deadline=None)
@given(
    promises=st.lists(described, min_size=1, max_size=8),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=20),
)
def test_no_hole_is_longer_than_the_bound(promises, moves):
    """However promises move, the earlier bound is at least as long as every hole."""
    b, needs = promised(promises, np.array([[PROCS * 8, MEMORY * 8]]))
    find_holes(b)
    moved(b, needs, moves)
    assert b.mark[KNOWN] == 1
    free = free_over_time(b)[0]
    for kind in range(1, b.mark[WIDEST] + 1):
        wide = free >= 1 << (kind - 1)
        for begin in np.flatnonzero(wide & ~np.r_[False, wide[:-1]]):
            lasts = np.argmin(np.r_[wide[begin:], False])
            assert b.longest[kind, part_of(b, begin)] >= lasts


def test_classes_of_width():
    """A class holds the widths between two powers of two."""
    assert [class_of(procs) for procs in (1, 2, 3, 4, 7, 8)] == [1, 2, 2, 3, 3, 4]
