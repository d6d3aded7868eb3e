"""Falsified schedules: how many of them check finds, by operator and policy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from conftest import share
from schedule.mutants import OPERATORS
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.schedule.check.rules import Rules
from shadowtime.workload import Workload

SEEDS, EACH = (1, 2, 3), 8

POLICIES = {
    "easy": "pool",
    "conservative": "pool",
    "lxfw": "pool",
    "pv-easy": "pool",
    "part-l-sm(hosts=2, above=4, hours=0.01)": "hosts",
    "ibb": "pool",
    "rua": "nodes",
    "hperf": "nodes",
}

"""By shape of the machine they are made for."""

FOUND = {
    "start_later": "24/24 21/24 23/24 23/24 18/24 23/24 22/24 24/24",
    "start_earlier": "20/20 21/21 20/21 21/21 11/11 20/20 17/17 20/20",
    "swap_starts": "12/12 15/15 11/11 13/13 5/5 12/12 9/9 14/14",
    "stretch_end": "24/24 24/24 24/24 24/24 24/24 24/24 24/24 24/24",
    "forge_limit": "24/24 24/24 24/24 24/24 24/24 24/24 22/24 24/24",
    "outlive_limit": "4/4 4/4 4/4 4/4 4/4 4/4 0/0 5/5",
    "forge_kills": "24/24 24/24 24/24 24/24 24/24 24/24 24/24 24/24",
    "forge_killed": "24/24 24/24 24/24 24/24 24/24 24/24 24/24 24/24",
    "drop_attempt": "0/0 0/0 0/0 24/24 0/0 0/0 0/0 0/0",
    "change_place": "0/0 0/0 0/0 0/0 22/23 0/0 23/23 23/24",
    "change_reason": "24/24 24/24 17/24 22/24 19/24 24/24 24/24 24/24",
    "break_promise": "10/10 23/24 0/10 0/12 0/10 10/10 11/11 0/12",
    "forge_promise": "10/10 0/24 0/10 0/12 0/10 10/10 0/11 0/12",
    "forge_blocked": "24/24 24/24 2/24 24/24 16/24 24/24 24/24 24/24",
    "widen": "24/24 24/24 24/24 24/24 24/24 24/24 24/24 24/24",
    "forge_penalty": "0/0 0/0 0/0 0/0 0/0 0/0 24/24 24/24",
}
"""Found by the proofs alone / made, a column per policy in the order of POLICIES.

The rest is legal for some scheduler that makes the same claims, and only running the policy again
reveals it: a start moved to another event in an order that is not the submission's, a promise or a
first block where the policy claims neither (lxfw, class partitioning, HPerf), a promise that is
later than it was (permanent promises and plans on nodes are not recomputed), a stretched limit
within the bounds of what the reservation may have added.
"""

EQUIVALENT = {("break_promise", "pv-easy"): 1}
"""Mutants that are the true schedule: a promise that had been missed by one second already."""


def jobs(seed: int) -> Workload:
    """Many jobs: early ends, kills at the limit, demands that slow each other down."""
    draw = np.random.default_rng(seed)
    n = 40
    run = draw.integers(1, 40, n)
    asked = np.where(draw.random(n) < 0.2, run - 5, run + draw.integers(0, 40, n))
    return Workload.build(
        submit=np.sort(draw.integers(0, 3 * n, n)),
        run=run,
        procs=draw.integers(1, 9, n),
        request=np.maximum(1, asked),
        user=draw.integers(0, 4, n),
        extra={
            "bandwidth": draw.choice([0, 500, 1000, 2000, 3001], n),
            "tag": draw.integers(0, 4, n),
        },
    )


def machine(shape: str) -> Cluster:
    if shape == "nodes":
        return node_cluster(4, procs=4, bandwidth=6000)
    if shape == "hosts":
        hosts = tuple(Host(f"h{k}", (size,)) for k, size in enumerate((8, 8, 4, 4)))
        return Cluster(shape="hosts", resources=("procs",), hosts=hosts)
    return Cluster.pool(10)


@cache
def true_schedules(name: str) -> tuple[tuple[Schedule, Workload, Cluster, Rules], ...]:
    policy, cluster = parse_policy(name), machine(POLICIES[name])
    made = []
    for seed in SEEDS:
        workload = jobs(seed)
        schedule = simulate(workload, cluster, policy)
        made.append((schedule, workload, cluster, rules_of(policy, workload, cluster)))
    return tuple(made)


def same(one: Schedule, two: Schedule) -> bool:
    """Nothing that a file would hold differs."""
    names = ("start", "end", "procs", "reason", "kills", "killed", "promised", "blocked_at")
    columns = (*names, "limit", "penalised")
    equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in columns)
    attempts = len(one.attempts) == len(two.attempts)
    places = one.place is None or list(one.place) == list(two.place or ())
    return equal and attempts and places


@cache
def mutants(name: str, operator: str) -> tuple[tuple[Schedule, int], ...]:
    """The false schedules of an operator, each with the number of its world."""
    made = []
    for world, (schedule, workload, _, _) in enumerate(true_schedules(name)):
        draw = np.random.default_rng(world)
        for row in draw.permutation(len(schedule))[:EACH].tolist():
            false = OPERATORS[operator](schedule, workload, row, draw)
            if false is not None:
                made.append((false, world))
    return tuple(made)


def shares(name: str, operator: str) -> tuple[int, int, int, int]:
    """(found by the proofs, found by running the policy again too, equivalent, made)."""
    proofs = both = equivalent = 0
    for false, world in mutants(name, operator):
        schedule, workload, cluster, rules = true_schedules(name)[world]
        if same(false, schedule):
            equivalent += 1
            continue
        report = check(false, workload, cluster, rules=rules, again=schedule)
        others = [proof.verdict for proof in report.proofs if proof.name != "recomputed"]
        proofs += "violated" in others
        both += not report.ok
    return proofs, both, equivalent, len(mutants(name, operator))


@pytest.mark.parametrize("name", POLICIES)
def test_true_schedules_pass_strictly(name: str) -> None:
    """Nothing is violated, nothing that should be judged stays open but what a shape excludes."""
    for schedule, workload, cluster, rules in true_schedules(name):
        report = check(schedule, workload, cluster, rules=rules, again=schedule)
        assert report.ok, str(report)
        assert report.open == ()


PAIRS = [(name, operator) for operator in OPERATORS for name in POLICIES]


@pytest.mark.parametrize(("name", "operator"), share(PAIRS, 0))
def test_false_schedules_are_found(name: str, operator: str) -> None:
    """The proofs find at least the share of the table; running the policy again finds all."""
    proofs, both, equivalent, made = shares(name, operator)
    floor, count = FOUND[operator].split()[list(POLICIES).index(name)].split("/")
    assert made == int(count), "other mutants than those of the table: print and look at them"
    assert proofs >= int(floor)
    assert both == made - equivalent
    assert equivalent == EQUIVALENT.get((operator, name), 0)
