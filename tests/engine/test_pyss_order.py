"""Schedules in the event order of pyss equal the slow reference and are proved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conftest import examples
from engine.worlds import as_cluster, as_workload, simulated, worlds
from naive.pyss import pyss
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.workload import Workload


@pytest.mark.parametrize("name", ["easy", "fcfs"])
@settings(max_examples=examples(100), deadline=None)
@given(world=worlds())
def test_equals_the_reference(name, world):
    """Every start is equal, and no property of EASY that check tests is violated."""
    jobs, capacity = world
    text = f"{name}(ties=pyss)"
    made = simulated(jobs, capacity, text)
    expected = pyss(jobs, capacity[0], backfills=name == "easy")
    assert dict(zip(made.job_id.tolist(), made.start.tolist(), strict=True)) == expected
    workload, cluster, policy = as_workload(jobs), as_cluster(capacity), parse_policy(text)
    for rules in (None, rules_of(policy, workload, cluster)):
        report = check(made, workload, cluster, rules=rules)
        assert report.ok, report.first_violation


@pytest.mark.parametrize("name", ["easy-sjbf", "conservative"])
@settings(max_examples=examples(30), deadline=None)
@given(world=worlds())
def test_others_are_proved(name, world):
    """Policies that pyss has in another form keep their claims in its order of events too."""
    jobs, capacity = world
    policy = parse_policy(f"{name}(ties=pyss)")
    made = simulated(jobs, capacity, policy)
    workload, cluster = as_workload(jobs), as_cluster(capacity)
    report = check(made, workload, cluster, rules=rules_of(policy, workload, cluster))
    assert report.ok, report.first_violation


def test_ties_make_a_difference():
    """Job 3 comes just when job 1 ends early: in pyss it is backfilled before that is known."""
    jobs = Workload.build(
        submit=[0, 1, 5], run=[5, 4, 4], procs=[3, 4, 1], request=[9, 4, 4], user=[1, 1, 1]
    )
    pool = Cluster.pool(4)
    assert simulate(jobs, pool, parse_policy("easy")).start.tolist() == [0, 5, 9]
    assert simulate(jobs, pool, parse_policy("easy(ties=pyss)")).start.tolist() == [0, 9, 5]


def test_an_expected_end_has_its_pass_before_an_early_one():
    """Job 1 ends as expected: job 7 is backfilled before job 2 ends, earlier than expected."""
    jobs = Workload.build(
        submit=[0] * 7, run=[1] * 7, procs=[1, 1, 1, 1, 1, 5, 1], request=[1, 2, 1, 1, 1, 1, 1]
    )
    made = simulate(jobs, Cluster.pool(5), parse_policy("easy(ties=pyss)"))
    assert made.start.tolist() == [0, 0, 0, 0, 0, 2, 1]


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("easy(ties=pyss)", "site", "order of events on a pool"),
        ("pv-easy(ties=pyss)", "pool", "supports no preemption"),
        ("easy-last(ties=pyss)", "pool", "estimates that do not learn"),
    ],
)
def test_where_it_has_no_meaning(text, shape, message):
    """The combination is rejected with the reason."""
    with pytest.raises(PolicyError, match=message):
        parse_policy(text).refuse_nonsense(shape)
