"""What the paper left for future work: wrong demands, expected run times, thresholds by load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from engine.node_worlds import assert_same, node_worlds, simulated
from naive import nodes as naive_nodes
from naive.nodes import Machine, NodeJob
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

World = tuple[list[NodeJob], Machine]


@pytest.mark.parametrize("place", ["first-fit(limit=pf)", "less-consume", "least-slowdown"])
@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds())
def test_wrong_demands_mislead_the_plan_and_not_the_world(place: str, world: World) -> None:
    """Plans use the declared demands; jobs use their real ones."""
    jobs, machine = world
    jobs = sorted(jobs, key=lambda job: job.priority)
    off = np.random.default_rng(1).uniform(-0.5, 0.5, len(jobs))
    guesses = [
        int(min(machine.cap, np.rint(job.bandwidth * (1 + e))))
        for job, e in zip(jobs, off, strict=True)
    ]
    misled = [replace(job, believed=b) for job, b in zip(jobs, guesses, strict=True)]
    run = {
        "first-fit(limit=pf)": lambda j, m: naive_nodes.ff(j, m, limit="pf"),
        "less-consume": naive_nodes.lc,
        "least-slowdown": naive_nodes.rua,
    }[place]
    name = "rua" if place == "least-slowdown" else "easy-sjbf"
    policy = f"{name}(place={place}, estimate=noisy-demand(x=0.5))"
    assert_same(simulated(jobs, machine, policy), run(misled, machine))


@pytest.mark.parametrize(
    ("policy", "run"),
    [
        ("rua(estimate=actual)", naive_nodes.rua),
        ("easy-sjbf(place=less-consume, estimate=actual)", naive_nodes.lc),
    ],
)
@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds())
def test_expected_run_times_count_for_the_factor_alone(
    policy: str, run: Callable[..., Any], world: World
) -> None:
    """The table and the order keep the request; the limit is the request times the factor."""
    jobs, machine = world
    known = [replace(job, expected=max(1, min(job.run, job.request))) for job in jobs]
    assert_same(simulated(jobs, machine, policy), run(known, machine))


@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds())
def test_the_queue_chooses_the_threshold(world: World) -> None:
    """by=load: the strictest; one looser for each machine's worth of waiting work."""
    thresholds = (100, 110, 150)
    policy = "rua(by=load, thresholds=1/1.1/1.5)"
    expected = naive_nodes.LoadedRua(*world, thresholds).run()
    assert_same(simulated(*world, policy), expected)


def test_predictions_are_those_of_the_last_two_runs() -> None:
    """Half an hour expected of a job that asks for ten: its factor is that of half an hour."""
    hour = 3600
    jobs = Workload.build(
        submit=[0, 0, 4 * hour, 4 * hour], run=[hour // 2, hour // 2, 9 * hour, hour // 2],
        procs=[1, 1, 2, 2], request=[10 * hour] * 4, user=[7, 7, 8, 7],
        extra={"bandwidth": np.array([0, 0, 2000, 2000])},
    )  # fmt: skip
    made = {
        estimate: simulate(
            jobs, node_cluster(1, bandwidth=6000), parse_policy(f"rua(estimate={estimate})")
        )
        for estimate in ("requested", "last-two")
    }
    for schedule in made.values():
        assert schedule.start.tolist() == [0, 0, 4 * hour, 4 * hour]
        assert schedule.limit is not None
        assert schedule.limit.tolist()[3] == 10 * hour + 10 * hour // 3  # a third more either way
