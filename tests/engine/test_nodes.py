"""Nodes equal the slow reference to the second: starts, places, ends, kills, exact delays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.node_worlds import assert_same, node_worlds, simulated
from naive import nodes as naive_nodes

POLICIES = {
    "easy-sjbf(place=first-fit)": naive_nodes.ff,
    "easy-sjbf(place=first-fit(limit=pf))": lambda j, m: naive_nodes.ff(j, m, limit="pf"),
    "easy-sjbf(place=less-consume)": naive_nodes.lc,
    "easy-sjbf(place=less-consume, horizon=0)": lambda j, m: naive_nodes.lc(j, m, horizon=0),
    "easy-sjbf(place=less-consume(horizon=0.5))": lambda j, m: naive_nodes.lc(j, m, horizon=0.5),
    "easy-sjbf(place=less-consume(horizon=4))": lambda j, m: naive_nodes.lc(j, m, horizon=4),
    "easy-sjbf(place=less-consume(limit=pf))": lambda j, m: naive_nodes.lc(j, m, limit="pf"),
    "easy-sjbf(place=less-consume(horizon=3, limit=pf))": lambda j, m: naive_nodes.lc(
        j, m, limit="pf", horizon=3
    ),
    **{
        f"easy-sjbf(place=less-consume(threshold={theta / 100:g}))": (
            lambda j, m, theta=theta: naive_nodes.lct(j, m, theta=theta)
        )
        for theta in (100, 115, 125, 150)
    },
    "easy-sjbf(place=less-consume(threshold=1.15, limit=pf))": lambda j, m: naive_nodes.lct(
        j, m, theta=115, limit="pf"
    ),
    "rua": naive_nodes.rua,
    "rua(limit=req)": lambda j, m: naive_nodes.rua(j, m, limit="req"),
    "rua(thresholds=1/1.1/1.3)": lambda j, m: naive_nodes.rua(j, m, thresholds=(100, 110, 130)),
}


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(100), deadline=None)
@given(world=node_worlds())
def test_equals_the_reference(policy, world):
    """Every placement, limit and horizon."""
    assert_same(simulated(*world, policy), POLICIES[policy](*world))


@pytest.mark.parametrize("policy", ["easy-sjbf(place=less-consume)", "rua"])
@settings(max_examples=examples(30), deadline=None)
@given(world=node_worlds(most=40))
def test_equals_the_reference_with_long_queues(policy, world):
    """What is cached about a waiting job between passes changes nothing."""
    assert_same(simulated(*world, policy), POLICIES[policy](*world))


@pytest.mark.parametrize("policy", ["rua", "rua(limit=req)", "rua(thresholds=1/1.1/1.3)"])
@settings(max_examples=examples(30), deadline=None)
@given(world=node_worlds(most=8), copies=st.integers(2, 5), apart=st.integers(0, 9))
def test_one_of_those_that_are_alike_is_asked(policy, world, copies, apart):
    """Some jobs have equal copies; the reference tries every one of them."""
    jobs, machine = world
    many = [
        replace(job, id=job.id + copy * len(jobs), submit=job.submit + copy * apart)
        for copy in range(copies)
        for job in jobs
    ]
    assert_same(simulated(many, machine, policy), POLICIES[policy](many, machine))
