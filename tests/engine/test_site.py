"""Every policy on random sites equals the slow reference, job by job and node by node."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conftest import examples
from engine.site_worlds import RESOURCES, assert_same, sites, workloads
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.verify.site import ALL, Rules
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

POLICIES = {
    "fcfs": Rules(depth=0, backfill="never"),
    "greedy": Rules(depth=0, backfill="any"),
    "easy": Rules(),
    "easy(place=first-fit)": Rules(place="first-fit"),
    "easy(place=pack)": Rules(place="pack"),
    "easy-sjbf(place=spread)": Rules(backfill="sjbf", place="spread"),
    "easy(place=slurm)": Rules(place="slurm"),
    "easy(reserve=2)": Rules(depth=2),
    "easy(reserve=all, place=first-fit)": Rules(depth=ALL, place="first-fit"),
    "easy(backfill=any)": Rules(backfill="any"),
    "sjf(backfill=sjbf, reserve=2)": Rules(key="sjf", backfill="sjbf", depth=2),
    "lxf": Rules(key="lxf"),
    "lxfw(reserve=3)": Rules(key="lxfw", depth=3),
    "conservative": Rules(depth=-1),
    "conservative(place=first-fit)": Rules(depth=-1, place="first-fit"),
    "conservative(place=slurm)": Rules(depth=-1, place="slurm"),
    "conservative(compress=no)": Rules(depth=-1, compress=False),
    "priority-conservative": Rules(depth=-1, key="lxf", every_pass=True),
    "priority-conservative(order=sjf, place=first-fit)": Rules(
        depth=-1, key="sjf", every_pass=True, place="first-fit"
    ),
    "priority-conservative(order=fcfs)": Rules(depth=-1, every_pass=True),
    "pv-easy": Rules(backfill="venture", estimate="last"),
    "pv-easy(prune=yes)": Rules(backfill="venture", estimate="last", prune=True),
    "pv-easy(venture=no)": Rules(backfill="venture", estimate="last", venture=False),
    "pv-easy(preempt=never, place=first-fit)": Rules(
        backfill="venture", estimate="last", preempt=False, place="first-fit"
    ),
    "bb": Rules(backfill="balanced-one"),
    "bb(per_pass=until-none)": Rules(backfill="balanced"),
    "bl": Rules(backfill="least-used"),
    "ibb": Rules(backfill="not-worse"),
    "ibb(threshold=frozen)": Rules(backfill="not-worse-frozen"),
}

OVERRUN = {
    "easy": Rules(),
    "easy(reserve=2, place=first-fit)": Rules(depth=2, place="first-fit"),
    "conservative": Rules(depth=-1),
    "conservative(estimate=last-two)": Rules(depth=-1, estimate="last-two"),
    "priority-conservative": Rules(depth=-1, key="lxf", every_pass=True),
    "easy-last": Rules(estimate="last"),
    "pv-easy(estimate=requested)": Rules(backfill="venture"),
    "easy++": Rules(estimate="last-two", backfill="sjbf"),
    "easy(estimate=actual)": Rules(estimate="actual"),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_equal_the_reference(policy: str) -> None:
    @given(workloads(), sites())
    @settings(max_examples=examples(25), deadline=None)
    def equal(workload, site) -> None:
        assert_same(workload, site, policy, POLICIES[policy])

    equal()


@pytest.mark.parametrize("policy", OVERRUN)
def test_overruns_equal_the_reference(policy: str) -> None:
    @given(workloads(overruns=True), sites())
    @settings(max_examples=examples(25), deadline=None)
    def equal(workload, site) -> None:
        assert_same(workload, site, policy, OVERRUN[policy])

    equal()


PLAIN = {
    name: POLICIES[name]
    for name in (
        "fcfs",
        "easy",
        "easy(place=first-fit)",
        "easy(place=pack)",
        "easy-sjbf(place=spread)",
        "easy(place=slurm)",
        "easy(reserve=2)",
        "conservative",
        "priority-conservative",
        "bb",
        "ibb",
    )
}


@pytest.mark.parametrize("policy", PLAIN)
def test_without_limits_and_closings(policy: str) -> None:
    """Where only ends free resources, plans are kept between passes; starts are the same."""

    @given(workloads(plain=True, most=14), sites(plain=True))
    @settings(max_examples=examples(40), deadline=None)
    def equal(workload, site) -> None:
        assert_same(workload, site, policy, PLAIN[policy])

    equal()


def test_a_count_for_a_job_of_one_node_is_a_feature() -> None:
    """``[x*2|y*1]`` on one node is ``y``: Slurm's rule still takes the node with fewest cpus."""
    nodes = tuple(
        Node(name=f"n{at}", amounts=(cpus, 2, 0, 0), features=frozenset("y"), weight=2)
        for at, cpus in enumerate((2, 1))
    )
    site = Site(nodes=nodes, resources=RESOURCES)
    times = {"submit": [0], "run": [1], "request": [1], "procs": [1], "executable": [0]}
    for features in ("y", "y*1", "[x*2|y*1]"):
        asked = Requests.of_jobs([Request(features=features)])
        workload = Workload.build(**times, requests=asked, epoch=0)
        policy = "easy(place=slurm)"
        made = assert_same(workload, site, policy, PLAIN[policy])
        assert made.place is not None and made.place.tasks_of(0) == [(1, 1)]


def test_a_partition_that_forbids_a_job_gives_it_no_tier() -> None:
    """A wall time beyond the bound of the higher tier: the job waits with the lower one."""
    node = Node(name="n", amounts=(1, 2, 0, 0))
    short = Partition(name="short", nodes=("n",), max_time=10, tier=2)
    site = Site(
        nodes=(node,), resources=RESOURCES, partitions=(short, Partition(name="p", nodes=("n",)))
    )
    asked = Requests.of_jobs([Request(partitions=("p", "short"))] * 2)
    times = {
        "submit": [0, 0],
        "run": [25, 1],
        "request": [25, 1],
        "procs": [1, 1],
        "executable": [0, 0],
    }
    made = assert_same(
        Workload.build(**times, requests=asked, epoch=0),
        site,
        "conservative",
        POLICIES["conservative"],
    )
    assert made.start.tolist() == [1, 0]
