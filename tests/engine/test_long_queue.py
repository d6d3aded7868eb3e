"""Where thousands of jobs wait, skipping whole groups of the queue changes no decision."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numba import njit

from engine.worlds import COLUMNS
from shadowtime.cluster import Cluster
from shadowtime.engine import plan, simulate
from shadowtime.engine.passes import conservative
from shadowtime.kernel.fields import KNOWN, LENGTH, PROCS, SHORTEST
from shadowtime.kernel.queue import dequeue, enqueue, group_may_hold, reestimate, width_class
from shadowtime.kernel.registers import BIG, BLOCK, GROUP, WIDTHS
from shadowtime.kernel.state import build
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

MACHINE = Cluster.pool(100)


def crowd(jobs, seed):
    """Jobs that arrive far faster than the machine can run them."""
    draw = np.random.default_rng(seed)
    request = 60 * draw.integers(1, 600, jobs)
    return Workload.build(
        submit=np.sort(draw.integers(0, 40_000, jobs)),
        procs=np.minimum(draw.geometric(0.06, jobs), 100),
        request=request,
        run=np.maximum(1, (request * draw.uniform(0.05, 1, jobs)).astype(int)),
        user=draw.integers(1, 20, jobs),
    )


@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "greedy", "easy++"])
def test_decides_as_the_pass_for_k_resources(policy, monkeypatch):
    """That pass visits every block; every column of every job is equal."""
    chosen, workload = parse_policy(policy), crowd(11_000, seed=4)
    fast = simulate(workload, MACHINE, chosen)
    monkeypatch.setattr(plan, "is_plain_easy", lambda *_: False)
    monkeypatch.setattr(plan, "is_pool_of_resources", lambda *_: True)
    plain = simulate(workload, MACHINE, chosen)
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), name


def test_promises_that_are_not_asked_cannot_move(monkeypatch):
    """If every waiting job is tried in every sweep, every column of every job is equal."""
    chosen, workload = parse_policy("conservative"), crowd(600, seed=6)
    fast = simulate(workload, MACHINE, chosen)
    made = partial(conservative.make_availability, ask_all=len(workload))
    monkeypatch.setattr(conservative, "make_availability", made)
    plain = simulate(workload, MACHINE, chosen)
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), name


def test_a_hole_that_lacks_another_resource_stays_a_hole(monkeypatch):
    """A job that found no licence must not hide the free processors from jobs without one."""
    jobs, draw = crowd(900, seed=8), np.random.default_rng(9)
    scarce = draw.integers(0, 4, len(jobs)) * (draw.random(len(jobs)) < 0.5)
    workload = jobs.replace(
        resources=("procs", "licences"), demand=np.stack([jobs.procs, scarce], axis=1)
    )
    chosen, machine = parse_policy("conservative"), Cluster.pool(100, licences=4)
    fast = simulate(workload, machine, chosen)
    made = partial(conservative.make_availability, ask_all=len(workload))
    monkeypatch.setattr(conservative, "make_availability", made)
    plain = simulate(workload, machine, chosen)
    for name in COLUMNS:
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), name


ENTER, LEAVE, CHANGE = range(3)


@njit
def carry_out(state, steps):
    """Request the first group once jobs wait, then apply (what, job, estimate)."""
    for job in range(5_000):
        enqueue(state, job)
    asked = group_may_hold(state, 0, 100, 100, 1)
    for at in range(len(steps)):
        what, job, estimate = steps[at]
        if what == ENTER:
            enqueue(state, job)
        elif what == LEAVE:
            dequeue(state, job)
        else:
            reestimate(state, job, estimate)
    return asked


@njit
def widths_of(procs):
    """The width class of each job."""
    return [width_class(each) for each in procs]


def test_minima_stay_true():
    """After any entries, departures and new estimates a group has the right minima by width."""
    draw = np.random.default_rng(5)
    workload = crowd(6_000, seed=5)
    state, _ = build(workload, MACHINE, estimate=workload.request)
    waiting, steps = set(range(5_000)), []
    for job in draw.integers(0, 5_000, 2_000).tolist():
        what = ENTER if job not in waiting else LEAVE if draw.random() < 0.5 else CHANGE
        (waiting.discard if what == LEAVE else waiting.add)(job)
        steps.append((what, job, int(draw.integers(1, 40_000))))
    assert carry_out(state, np.array(steps))
    assert state.group[KNOWN].tolist() == [1, 0]
    first = [job for job in waiting if job < GROUP * BLOCK]
    assert state.group[PROCS, 0] == min(workload.procs[first])
    of_job = widths_of(workload.procs)
    for width in range(WIDTHS):
        lengths = [state.wait[LENGTH, job] for job in first if of_job[job] == width]
        assert state.group[SHORTEST + width, 0] == min(lengths, default=BIG)


def test_width_classes_double():
    """1, 2-3, 4-7, ...; the last one is open."""
    procs = np.array([1, 2, 3, 4, 7, 8, 1 << 14, 1 << 15, 1 << 30])
    assert widths_of(procs) == [0, 1, 1, 2, 2, 3, 14, 15, 15]
