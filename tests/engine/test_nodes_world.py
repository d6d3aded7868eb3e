"""What happens on nodes, proved from the schedule alone: work, windows, identities, equalities."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from engine.node_worlds import as_workload, node_worlds, rows_of, simulated
from naive.nodes import Machine, NodeJob, work_of
from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.demand import draw_bandwidth
from shadowtime.workload.embedded import demo_workload

FF = "easy-sjbf(place=first-fit)"
PLACES = ("first-fit", "less-consume", "less-consume(threshold=1.15)", "less-consume(horizon=3)")


def demand_at(made: Schedule, jobs: list[NodeJob], node: int, second: int) -> int:
    """What the jobs on a node ask for during a second."""
    places: Any = made.place
    return sum(
        dict(places.nodes_of(i)).get(node, 0) * job.bandwidth
        for i, job in enumerate(jobs)
        if made.start[i] <= second < made.end[i]
    )


@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds(most=8))
def test_work_is_conserved(world: tuple[list[NodeJob], Machine]) -> None:
    """Second by second, progress on every node adds up to the run time just when a job ends."""
    jobs, machine = world
    jobs = sorted(jobs, key=lambda job: job.priority)
    for policy in (FF, "rua", *(f"conservative(place={place})" for place in PLACES[:3])):
        made = simulated(jobs, machine, policy)
        if made.counters["rates_rounded_down"]:
            continue  # demands without a common unit: the schedule states it
        places: Any = made.place
        for i, job in enumerate(jobs):
            done, before = [], []
            for node, _ in places.nodes_of(i):
                work = Fraction(0)
                for second in range(int(made.start[i]), int(made.end[i])):
                    if second == made.end[i] - 1:
                        before.append(work)
                    wanted = demand_at(made, jobs, node, second)
                    work += Fraction(machine.cap, max(wanted, machine.cap))
                done.append(work)
            if made.killed[i]:
                assert min(done) < work_of(job)
                assert made.end[i] - made.start[i] == made.limit[i]
            else:
                assert min(done) >= work_of(job) > min(before)


@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds(most=8))
def test_the_paper_literal_stretch_adds_up_the_shared_windows(
    world: tuple[list[NodeJob], Machine],
) -> None:
    """stretch=window: run plus the worst node's penalty over the first ``run`` seconds."""
    jobs, machine = world
    jobs = sorted(jobs, key=lambda job: job.priority)
    made = simulated(jobs, machine, FF, stretch="window")
    places: Any = made.place
    for i, job in enumerate(jobs):
        start = int(made.start[i])
        work = work_of(job)
        seen = range(start, min(start + work, int(made.end[i])))
        penalty = max(
            sum(
                Fraction(max(demand_at(made, jobs, node, second), machine.cap), machine.cap) - 1
                for second in seen
            )
            for node, _ in places.nodes_of(i)
        )
        assert made.end[i] == start + min(ceil(work + penalty), int(made.limit[i]))
        assert made.killed[i] == (work + penalty > made.limit[i])


@settings(max_examples=examples(40), deadline=None)
@given(world=node_worlds(caps=(10**9,)))
def test_with_capacity_to_spare_every_placement_is_plain_backfilling(
    world: tuple[list[NodeJob], Machine],
) -> None:
    """Where the reservation counts processors it equals EASY and SJBF on a pool, job by job.

    On a pool a job is killed if it overran its request in the log; on nodes, if it did not finish
    the work of its request. Where it pins certain ones, which EASY does not, all placements still
    agree.
    """
    jobs, machine = world
    jobs = [replace(job, run=work_of(job)) for job in jobs]
    pool = Cluster.pool(machine.nodes * machine.cores)
    for name in ("easy", "easy-sjbf"):
        plain = rows_of(simulate(as_workload(jobs), pool, parse_policy(name)))
        for place in PLACES:
            base, _, inside = place.partition("(")
            counted = f"{base}({inside.rstrip(')') + ', ' if inside else ''}resv=counts)"
            assert rows_of(simulated(jobs, machine, f"{name}(place={counted})")) == plain
    assert rows_of(simulated(jobs, machine, "rua(resv=counts)")) == plain
    pinned = [rows_of(simulated(jobs, machine, f"easy-sjbf(place={place})")) for place in PLACES]
    pinned.append(rows_of(simulated(jobs, machine, "rua")))
    assert all(rows == pinned[0] for rows in pinned)


def demo(high: int) -> tuple[Workload, Cluster]:
    jobs = demo_workload()
    return draw_bandwidth(jobs.take(np.arange(1500)), "HIGH", high=high), node_cluster(
        64, bandwidth=6000
    )


def same(one: Schedule, other: Schedule) -> bool:
    return bool((one.start == other.start).all() and (one.end == other.end).all())


@pytest.mark.parametrize(
    ("high", "one", "other"),
    [
        (1750, "less-consume(threshold=1.25)", "less-consume(threshold=1.5)"),
        (2000, "less-consume(horizon=0)", "less-consume(threshold=1.5)"),
        (2000, "less-consume(horizon=1e9)", "less-consume(threshold=1)"),
    ],
)
def test_identities_of_the_paper(high: int, one: str, other: str) -> None:
    """On fifteen hundred jobs (spec: algorithms 4.9)."""
    jobs, cluster = demo(high)
    made = [
        simulate(jobs, cluster, parse_policy(f"easy-sjbf(place={part})")) for part in (one, other)
    ]
    assert same(*made)
    assert not same(made[0], simulate(jobs, cluster, parse_policy(FF)))


def test_demand_that_never_saturates_slows_no_job() -> None:
    """high = 1500: four processes just fit a node."""
    jobs, cluster = demo(1500)
    for policy in (FF, "rua"):
        made = simulate(jobs, cluster, parse_policy(policy))
        assert made.penalised is not None and not made.penalised.any()
        assert not made.killed.any()
