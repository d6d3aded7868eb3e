"""BB, BL and IBB equal the slow reference with exact fractions, for one to five resources."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.worlds import assert_same, simulated, worlds
from naive import shorthand as naive
from shadowtime.kernel import exact
from shadowtime.kernel.jit import entry

POLICIES = {
    "bb": naive.bb,
    "bb(per_pass=until-none)": lambda jobs, cap: naive.bb(jobs, cap, per_pass="until-none"),
    "bl": naive.bl,
    "ibb": naive.ibb,
    "ibb(threshold=frozen)": lambda jobs, cap: naive.ibb(jobs, cap, threshold="frozen"),
    "ibb(threshold=literal)": lambda jobs, cap: naive.ibb(jobs, cap, threshold="literal"),
}


@pytest.mark.parametrize("resources", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_equals_naive(policy, resources, data):
    """Job by job, with exact comparisons of scores."""
    world = data.draw(worlds(resources=resources))
    assert_same(simulated(*world, policy), POLICIES[policy](*world))


@settings(max_examples=examples(60), deadline=None)
@given(world=worlds())
def test_one_resource_ibb_is_easy(world):
    """With one resource nothing can be imbalanced."""
    ours, easy = simulated(*world, "ibb"), simulated(*world, "easy")
    assert ours.start.tolist() == easy.start.tolist()


@entry
def compare(a, b, c, d, e, f):
    return exact.compare_products(a, b, c, d, e, f)


BIG = st.integers(0, (1 << 62) - 1)


@settings(max_examples=examples(300), deadline=None)
@given(numbers=st.tuples(BIG, BIG, BIG, BIG, BIG, BIG), near=st.booleans())
def test_products_are_compared_exactly(numbers, near):
    """Also where two products are equal in floating point."""
    a, b, c, d, e, f = numbers
    if near:
        d, e, f = a, b, max(0, c - 1)
    left, right = a * b * c, d * e * f
    assert compare(a, b, c, d, e, f) == (left > right) - (left < right)
