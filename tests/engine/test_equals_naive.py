"""The engine equals the slow reference job by job, for every policy, on random worlds."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import examples
from engine.worlds import assert_same, noisy_predictions, simulated, worlds
from shadowtime.engine.passes import conservative
from shadowtime.verify import pool as naive

CLASSIC = {
    "fcfs": naive.fcfs,
    "greedy": naive.greedy,
    "easy": naive.easy,
    "easy-sjbf": lambda jobs, cap: naive.easy(jobs, cap, backfill="sjbf"),
    "conservative": naive.conservative,
    "conservative(compress=no)": lambda jobs, cap: naive.conservative(jobs, cap, compress=False),
    "easy(estimate=actual)": lambda jobs, cap: naive.easy(jobs, cap, estimate="actual"),
    "conservative(estimate=actual)": lambda jobs, cap: naive.conservative(
        jobs, cap, estimate="actual"
    ),
    "easy(reserve=2)": lambda jobs, cap: naive.reservations(jobs, cap, depth=2, key="fcfs"),
    "easy(reserve=all)": lambda jobs, cap: naive.reservations(jobs, cap, depth=99, key="fcfs"),
    "easy-sjbf(reserve=2)": lambda jobs, cap: naive.reservations(
        jobs, cap, depth=2, key="fcfs", backfill="sjbf"
    ),
    "sjf": lambda jobs, cap: naive.reservations(jobs, cap, depth=1, key="sjf"),
    "lxf": lambda jobs, cap: naive.reservations(jobs, cap, depth=1, key="lxf"),
    "lxfw(reserve=3)": lambda jobs, cap: naive.reservations(jobs, cap, depth=3, key="lxfw"),
    "lxfwp": lambda jobs, cap: naive.reservations(jobs, cap, depth=10, key="lxfwp"),
    "lpf(reserve=2, backfill=sjbf)": lambda jobs, cap: naive.reservations(
        jobs, cap, depth=2, key="lpf", backfill="sjbf"
    ),
    "easy(order=weighted(expansion=0.5, wait=2, procs=-0.3))": lambda jobs, cap: naive.reservations(
        jobs, cap, depth=1, key=naive.weighted(0.5, 2, -0.3)
    ),
}

EASY_ONLY = {
    "easy(extra_update=no)": {"extra_update": False},
    "easy(fixed_reservation=yes)": {"fixed_reservation": True},
    "easy(fixed_reservation=until-missed)": {"fixed_reservation": "until-missed"},
    "easy(fixed_reservation=until-missed, extra_update=no)": {
        "fixed_reservation": "until-missed",
        "extra_update": False,
    },
    "easy(fixed_reservation=yes, extra_update=no)": {
        "fixed_reservation": True,
        "extra_update": False,
    },
    "easy-sjbf(extra_update=no)": {"extra_update": False, "backfill": "sjbf"},
}

LEARNING = {
    "easy-last(fixed_reservation=until-missed)": lambda jobs, cap: naive.easy(
        jobs, cap, estimate="last", fixed_reservation="until-missed"
    ),
    "easy-last(fixed_reservation=yes)": lambda jobs, cap: naive.easy(
        jobs, cap, estimate="last", fixed_reservation=True
    ),
    "easy-last": lambda jobs, cap: naive.easy(jobs, cap, estimate="last"),
    "easy-sjbf(estimate=last)": lambda jobs, cap: naive.easy(
        jobs, cap, estimate="last", backfill="sjbf"
    ),
    "easy++": lambda jobs, cap: naive.easy(jobs, cap, estimate="last-two", backfill="sjbf"),
    "lxfw(reserve=2, estimate=last)": lambda jobs, cap: naive.reservations(
        jobs, cap, depth=2, key="lxfw", estimate="last"
    ),
    "conservative(estimate=last-two)": lambda jobs, cap: naive.conservative(
        jobs, cap, estimate="last-two"
    ),
    "conservative(compress=no, estimate=last-two)": lambda jobs, cap: naive.conservative(
        jobs, cap, estimate="last-two", compress=False
    ),
    "pv-easy": naive.pv_easy,
    "pv-easy(prune=yes)": lambda jobs, cap: naive.pv_easy(jobs, cap, prune=True),
    "pv-easy(venture=no)": lambda jobs, cap: naive.pv_easy(jobs, cap, venture=False),
    "pv-easy(preempt=never)": lambda jobs, cap: naive.pv_easy(jobs, cap, preempt=False),
    "pv-easy(estimate=requested)": lambda jobs, cap: naive.pv_easy(
        jobs, cap, predictor="requested"
    ),
    "pv-easy(estimate=actual)": lambda jobs, cap: naive.pv_easy(jobs, cap, predictor="actual"),
}

EXAMPLES = settings(max_examples=examples(150), deadline=None)


@pytest.mark.parametrize("policy", CLASSIC)
@EXAMPLES
@given(world=worlds())
def test_one_resource(policy, world):
    """Classical policies on a pool of processors."""
    assert_same(simulated(*world, policy), CLASSIC[policy](*world))


@pytest.mark.parametrize("policy", CLASSIC)
@EXAMPLES
@given(world=worlds(resources=3))
def test_three_resources(policy, world):
    """The same policies with memory and GPUs."""
    assert_same(simulated(*world, policy), CLASSIC[policy](*world))


@pytest.fixture
def by_holes(monkeypatch):
    """Conservative backfilling searches for holes, however few jobs wait."""
    made = partial(conservative.make_availability, ask_all=0)
    monkeypatch.setattr(conservative, "make_availability", made)


BY_HOLES = settings(EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])


@BY_HOLES
@given(world=worlds(most=40))
def test_promises_that_move_into_holes(by_holes, world):
    """A job that is not tried, as no hole is wide and long enough, has no earlier start."""
    assert_same(simulated(*world, "conservative"), naive.conservative(*world))


@BY_HOLES
@given(world=worlds(resources=3))
def test_holes_with_three_resources(by_holes, world):
    """Holes are known by processors alone; the other resources are checked afterwards."""
    assert_same(simulated(*world, "conservative"), naive.conservative(*world))


@BY_HOLES
@given(world=worlds(overruns=True))
def test_holes_where_promises_slip(by_holes, world):
    """When all promises are planned again, every job is tried."""
    assert_same(simulated(*world, "conservative"), naive.conservative(*world))


@pytest.mark.parametrize("policy", EASY_ONLY)
@EXAMPLES
@given(world=worlds())
def test_easy_variants(policy, world):
    """EASY's switches, which the PV-EASY paper's baseline may have used."""
    assert_same(simulated(*world, policy), naive.easy(*world, **EASY_ONLY[policy]))


@pytest.mark.parametrize("policy", LEARNING)
@EXAMPLES
@given(world=worlds())
def test_learning(policy, world):
    """Estimates that learn, and preemption."""
    assert_same(simulated(*world, policy), LEARNING[policy](*world))


@pytest.mark.parametrize("policy", ["pv-easy", "pv-easy(prune=yes)"])
@EXAMPLES
@given(world=worlds(resources=2))
def test_preemption_with_two_resources(policy, world):
    """Jobs are stopped until the head fits in both resources."""
    assert_same(simulated(*world, policy), LEARNING[policy](*world))


@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "conservative", "lxfw(reserve=3)"])
@EXAMPLES
@given(world=worlds(overruns=True))
def test_jobs_that_outlive_their_request(policy, world):
    """If jobs are not killed at their request, expected ends pass and promises slip."""
    assert_same(simulated(*world, policy), CLASSIC[policy](*world))


@EXAMPLES
@given(world=worlds())
def test_noisy_predictions(world):
    """The virtual predictor is not capped by the request."""
    guess = ("noisy", noisy_predictions(world[0], 0.8, 7))
    for policy, reference in (
        ("easy(estimate=noisy(x=0.8, seed=7))", naive.easy(*world, estimate=guess)),
        ("pv-easy(estimate=noisy(x=0.8, seed=7))", naive.pv_easy(*world, predictor=guess)),
    ):
        assert_same(simulated(*world, policy), reference)
