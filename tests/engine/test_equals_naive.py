"""The engine equals the slow reference job by job, for every policy, on random worlds."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import examples
from engine.worlds import assert_followed, worlds
from shadowtime.engine.passes import conservative

CLASSIC = [
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "conservative",
    "conservative(compress=no)",
    "easy(estimate=actual)",
    "conservative(estimate=actual)",
    "easy(reserve=2)",
    "easy(reserve=all)",
    "easy-sjbf(reserve=2)",
    "sjf",
    "lxf",
    "lxfw(reserve=3)",
    "lxfwp",
    "lpf(reserve=2, backfill=sjbf)",
    "easy(order=weighted(expansion=0.5, wait=2, procs=-0.3))",
]

EASY_ONLY = [
    "easy(extra_update=no)",
    "easy(fixed_reservation=yes)",
    "easy(fixed_reservation=until-missed)",
    "easy(fixed_reservation=until-missed, extra_update=no)",
    "easy(fixed_reservation=yes, extra_update=no)",
    "easy-sjbf(extra_update=no)",
]

LEARNING = [
    "easy-last(fixed_reservation=until-missed)",
    "easy-last(fixed_reservation=yes)",
    "easy-last",
    "easy-sjbf(estimate=last)",
    "easy++",
    "lxfw(reserve=2, estimate=last)",
    "conservative(estimate=last-two)",
    "conservative(compress=no, estimate=last-two)",
    "pv-easy",
    "pv-easy(prune=yes)",
    "pv-easy(venture=no)",
    "pv-easy(preempt=never)",
    "pv-easy(estimate=requested)",
    "pv-easy(estimate=actual)",
]

EXAMPLES = settings(max_examples=examples(150), deadline=None)


@pytest.mark.parametrize("policy", CLASSIC)
@EXAMPLES
@given(world=worlds())
def test_one_resource(policy, world):
    """Classical policies on a pool of processors."""
    assert_followed(*world, policy)


@pytest.mark.parametrize("policy", CLASSIC)
@EXAMPLES
@given(world=worlds(resources=3))
def test_three_resources(policy, world):
    """The same policies with memory and GPUs."""
    assert_followed(*world, policy)


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
    assert_followed(*world, "conservative")


@BY_HOLES
@given(world=worlds(resources=3))
def test_holes_with_three_resources(by_holes, world):
    """Holes are known by processors alone; the other resources are checked afterwards."""
    assert_followed(*world, "conservative")


@BY_HOLES
@given(world=worlds(overruns=True))
def test_holes_where_promises_slip(by_holes, world):
    """When all promises are planned again, every job is tried."""
    assert_followed(*world, "conservative")


@pytest.mark.parametrize("policy", EASY_ONLY)
@EXAMPLES
@given(world=worlds())
def test_easy_variants(policy, world):
    """EASY's switches, which the PV-EASY paper's baseline may have used."""
    assert_followed(*world, policy)


@pytest.mark.parametrize("policy", LEARNING)
@EXAMPLES
@given(world=worlds())
def test_learning(policy, world):
    """Estimates that learn, and preemption."""
    assert_followed(*world, policy)


@pytest.mark.parametrize("policy", ["pv-easy", "pv-easy(prune=yes)"])
@EXAMPLES
@given(world=worlds(resources=2))
def test_preemption_with_two_resources(policy, world):
    """Jobs are stopped until the head fits in both resources."""
    assert_followed(*world, policy)


@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "conservative", "lxfw(reserve=3)"])
@EXAMPLES
@given(world=worlds(overruns=True))
def test_jobs_that_outlive_their_request(policy, world):
    """If jobs are not killed at their request, expected ends pass and promises slip."""
    assert_followed(*world, policy)


@EXAMPLES
@given(world=worlds())
def test_noisy_predictions(world):
    """The virtual predictor is not capped by the request."""
    for policy in ("easy", "pv-easy"):
        assert_followed(*world, f"{policy}(estimate=noisy(x=0.8, seed=7))")
