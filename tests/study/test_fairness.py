"""Which jobs delayed which: shares that sum up, culprits that were there, nothing under PV-EASY."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from engine.worlds import as_cluster, as_workload, simulated, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import fair_starts
from shadowtime.policy import parse_policy
from shadowtime.study.fairness import fairness_view
from shadowtime.workload.embedded import PROCS, demo_workload


@settings(max_examples=examples(100), deadline=None)
@given(world=worlds())
def test_hours_of_all_pairs_are_the_hours_of_all_delays(world):
    """Every delay is shared out among its culprits, in full."""
    workload, cluster = as_workload(world[0]), as_cluster(world[1])
    schedule = simulated(*world, "easy")
    view = fairness_view(schedule, workload, cluster, top=10_000)
    fair = fair_starts(schedule, workload, cluster)
    assert view.hours * 3600 == pytest.approx(int(fair.delay.sum()))
    for pairs in (view.by_size, view.by_user):
        assert sum(pair.hours for pair in pairs) == pytest.approx(view.hours)
    assert view.delayed == len(view.longest) == int((fair.delay > 0).sum())
    for job in view.longest:
        assert job.by and job.delay_s > 0
        rows = np.flatnonzero(np.isin(workload.job_id, job.by))
        assert (rows > np.flatnonzero(workload.job_id == job.job_id)[0]).all(), "all came later"


@settings(max_examples=examples(60), deadline=None)
@given(world=worlds())
def test_no_job_is_delayed_under_pv_easy(world):
    """Strict fairness leaves nothing to show."""
    workload, cluster = as_workload(world[0]), as_cluster(world[1])
    view = fairness_view(simulated(*world, "pv-easy"), workload, cluster)
    assert (view.delayed, view.hours, view.longest, view.by_user) == (0, 0.0, (), ())


def test_the_view_of_the_demo():
    """The longest delay first, all of it plain for JSON."""
    workload, cluster = demo_workload(), Cluster.pool(PROCS)
    easy = fairness_view(simulate(workload, cluster, parse_policy("easy")), workload, cluster)
    delays = [job.delay_s for job in easy.longest]
    assert delays == sorted(delays, reverse=True) and len(delays) == 10
    assert easy.by_user[0].hours >= easy.by_user[-1].hours > 0
    assert easy.longest[0].delay_s == delays[0]
