"""The fast pass for one reservation on K resources decides as the general pass does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.worlds import COLUMNS, as_cluster, as_workload, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import plan, simulate
from shadowtime.policy import parse_policy

POLICIES = (
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "easy++",
    "easy-last",
    "easy(backfill=never)",
    "bb",
    "bb(per_pass=until-none)",
    "bl",
    "bl(per_pass=one)",
    "ibb",
    "ibb(threshold=frozen)",
    "ibb(threshold=literal)",
    "rua",
)


def rows(world, policy):
    """Every column of every job, and the number of passes."""
    made = simulate(as_workload(world[0]), as_cluster(world[1]), policy)
    columns = [getattr(made, name).tolist() for name in COLUMNS]
    return columns, made.counters["passes"]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_equals_the_general_pass(policy, data):
    """Job by job, also where jobs outlive their estimates."""
    resources = data.draw(st.integers(2, 4))
    world = data.draw(worlds(resources=resources, overruns=data.draw(st.booleans())))
    chosen = parse_policy(policy)
    assert plan.is_pool_of_resources(chosen, as_cluster(world[1]))
    fast = rows(world, chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "is_pool_of_resources", lambda *_: False)
        assert fast == rows(world, chosen)


@pytest.mark.parametrize(
    ("policy", "cluster"),
    [
        ("easy", Cluster.pool(4)),
        ("lxfw", Cluster.pool(4, memory=4)),
        ("easy(reserve=2)", Cluster.pool(4, memory=4)),
        ("easy(backfill=any)", Cluster.pool(4, memory=4)),
        ("pv-easy", Cluster.pool(4, memory=4)),
    ],
)
def test_others_go_elsewhere(policy, cluster):
    """One resource, other orders, more reservations or delayed reservations use other passes."""
    assert not plan.is_pool_of_resources(parse_policy(policy), cluster)
