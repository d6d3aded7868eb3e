"""Mutants of true schedules in random worlds: how many does ``check -p`` find, by policy?

A true schedule is the engine's. A mutant changes one thing about one job; one that happens to be
the true schedule again is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine.site_worlds import crowds, sites, workloads
from engine.test_hosts import as_hosts, host_worlds
from engine.worlds import as_cluster, as_workload, worlds
from schedule.mutants import MORE, OPERATORS
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.errors import PolicyError
from shadowtime.policy import Policy, parse_policy
from shadowtime.policy.catalogue import catalogue_names
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.schedule.places import shares
from shadowtime.verify.expected import Followed
from shadowtime.verify.follow import follow
from shadowtime.verify.proof import COLUMNS, differences
from shadowtime.workload import Workload

World = tuple[Workload, Cluster | Site]

SMALL = {
    "part-l-sm": "part-l-sm(hosts=1, above=2, hours=0.002)",
    "part-l-a": "part-l-a(hosts=1, above=2, hours=0)",
    "saf-wait": "saf-wait(hours=0.002)",
}
"""Parameters that mean something in small worlds."""


def policies(shape: str) -> list[str]:
    """The catalogue's policies that are defined on such machines."""
    texts = [SMALL.get(name, name) for name in catalogue_names()]
    return [text for text in texts if shape in parse_policy(text).defined_on]


def collected(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """The same random examples in every run."""
    found: list[Any] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def take(example: Any) -> None:
        found.append(example)

    take()
    return found


def random_worlds(shape: str, count: int) -> list[World]:
    """Pools of one and two resources, hosts with and without dedicated jobs, sites."""
    half = (count + 1) // 2
    if shape == "pool":
        both = collected(worlds(), half) + collected(worlds(resources=2, overruns=True), half)
        return [(as_workload(jobs), as_cluster(capacity)) for jobs, capacity in both]
    if shape == "hosts":
        limits = st.sampled_from([None, (6, 9)])
        both = collected(st.tuples(host_worlds(), limits), count)
        return [(as_workload(jobs), as_hosts(hosts, most)) for (jobs, hosts), most in both]
    return collected(st.tuples(workloads(), sites()), half) + collected(crowds(), half)


@dataclass
class Tally:
    """What became of a policy's schedules and their mutants."""

    schedules: int = 0
    accepted: int = 0
    mutants: int = 0
    found: int = 0
    by_other_proofs: int = 0
    """Found without following the policy; counted where asked for."""
    same: int = 0
    """Mutants that are the true schedule."""
    missed: list[str] = field(default_factory=list)


def as_in_a_file(schedule: Schedule) -> Schedule:
    """Places as texts, as a file holds them."""
    place = schedule.place
    return schedule if place is None else schedule.replace(place=tuple(place))


def same(one: Schedule, two: Schedule) -> bool:
    """Nothing that a file would hold differs."""
    names = [name for name in (*COLUMNS, "procs") if name != "place"]
    equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)
    names = ["job_id", "start", "end", "killed"]
    runs = [[getattr(s.attempts, name).tolist() for name in names] for s in (one, two)]
    places = [[sorted(shares(text)) for text in s.place or ()] for s in (one, two)]
    return equal and runs[0] == runs[1] and places[0] == places[1]


def mutants_of(schedule: Schedule, workload: Workload, each: int) -> Iterator[tuple[str, Schedule]]:
    """For every operator some rows that it changes."""
    draw = np.random.default_rng(len(schedule))
    for name, operator in {**OPERATORS, **MORE}.items():
        for row in draw.permutation(len(schedule))[:each].tolist():
            false = operator(schedule, workload, row, draw)
            if false is not None:
                yield name, false


def is_found(false: Schedule, world: World, made: Followed, policy: Policy) -> bool:
    """Would plain ``check -p`` report it?"""
    if next(differences(false, world[0], made), None) is not None:
        return True
    return by_proofs(false, world, policy)


def by_proofs(false: Schedule, world: World, policy: Policy) -> bool:
    """Would the proofs that do not follow the policy report it?"""
    rules = rules_of(policy, *world)
    return not check(false, *world, rules=rules).ok


def campaign(text: str, made_in: list[World], *, each: int, proofs: bool = False) -> Tally:
    """Mutate a policy's schedules in some worlds; ``each`` rows by operator and schedule."""
    policy, tally = parse_policy(text), Tally()
    for number, world in enumerate(made_in):
        workload, machine = world
        try:
            schedule = as_in_a_file(simulate(workload, machine, policy))
        except PolicyError:  # classes that leave a job nowhere to run
            continue
        made = follow(workload, machine, policy)
        tally.schedules += 1
        wrong = next(differences(schedule, workload, made), None)
        true = wrong is None and check(schedule, *world, rules=rules_of(policy, *world)).ok
        tally.accepted += true
        if not true:
            tally.missed.append(f"world {number}: a true schedule is rejected: {wrong}")
        for name, false in mutants_of(schedule, workload, each):
            if same(false, schedule):
                tally.same += 1
                continue
            tally.mutants += 1
            good = is_found(false, world, made, policy)
            tally.found += good
            if not good:
                tally.missed.append(f"world {number}: {name} is not found")
            if proofs:
                tally.by_other_proofs += by_proofs(false, world, policy)
    return tally
