"""Balance, stranded capacity and dominant shares against a computation for every second."""

from __future__ import annotations

from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.worlds import as_cluster, as_workload, simulated, worlds
from schedule.tiny_worlds import state
from shadowtime.cluster import Cluster, Host
from shadowtime.metrics import REGISTRY, Window, measure, resource_metrics, shares_over_time
from shadowtime.report.metadata import describe
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload


def by_the_second(schedule: Schedule, w: Workload, pool: Cluster, begin: int, end: int):
    """The definitions, one second at a time, in exact fractions."""
    names = w.resources
    capacity = [pool.total[name] for name in names]
    demand = w.demand.tolist()
    ratio, fullest, held = [], [], 0
    stranded, short = dict.fromkeys(names, Fraction(0)), dict.fromkeys(names, 0)
    for now in range(begin, end):
        running, waiting = state(schedule, now)
        used = [sum(demand[row][k] for row in running) for k in range(len(names))]
        share = [Fraction(u, c) for u, c in zip(used, capacity, strict=True)]
        fullest.append(max(share))
        if any(share):
            ratio.append(max(share) * len(share) / sum(share))
        if waiting:
            held += 1
            head = demand[min(waiting)]
            lacks = [head[k] > capacity[k] - used[k] for k in range(len(names))]
            for k, name in enumerate(names):
                short[name] += lacks[k]
                if any(lacks) and not lacks[k]:
                    stranded[name] += 1 - share[k]
    ended = sum(begin < int(t) <= end for t in schedule.end)
    parts = [[Fraction(d, c) for d, c in zip(row, capacity, strict=True)] for row in demand]
    found = {
        "fullest_mean": fmean(fullest),
        "throughput_per_h": ended * 3600 / (end - begin),
        "dominant_share_mean": fmean(max(part) for part in parts),
    }
    if ratio:
        found["imbalance_mean"] = fmean(ratio)
    for k, name in enumerate(names):
        found[f"stranded_{name}"] = float(stranded[name] / (end - begin))
        found[f"short_{name}"] = short[name] / held if held else 0.0
        found[f"dominant_{name}"] = fmean(part.index(max(part)) == k for part in parts)
    return found


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_equals_the_clock(data):
    jobs, capacity = data.draw(worlds(resources=data.draw(st.integers(2, 4))))
    schedule = simulated(jobs, capacity, data.draw(st.sampled_from(["easy", "ibb", "greedy"])))
    w, pool = as_workload(jobs), as_cluster(capacity)
    found = resource_metrics(schedule, w, pool, np.ones(len(w), bool))
    begin, end = int(w.submit[0]), int(w.submit[-1])
    if begin == end:
        assert found == {}
        return
    assert found == pytest.approx(by_the_second(schedule, w, pool, begin, end))


def world() -> tuple[Workload, Cluster]:
    w = Workload.build(
        submit=[0, 0, 50, 100],
        run=[40, 40, 10, 10],
        procs=[1, 1, 2, 1],
        recorded_start=[0, 40, 80, 100],
        demand={"memory": [6, 6, 1, 2], "licences": [0, 1, 0, 1]},
    )
    return w, Cluster.pool(4, memory=8, licences=2)


def test_part_of_measure_and_every_name_is_described():
    w, pool = world()
    found = measure(Schedule.recorded(w), w, pool)
    alone = resource_metrics(Schedule.recorded(w), w, pool, np.ones(4, bool))
    assert alone.items() <= found.items()
    assert found["utilisation_licences"] > 0 and found["short_memory"] > 0
    assert set(found) <= set(REGISTRY) | {name for name in found if name in REGISTRY}
    for name in found:
        assert describe(name).definition, name
    assert describe("stranded_licences").better == "lower"
    assert describe("short_procs").group == "resources"


def test_only_the_window_counts():
    w, pool = world()
    window = Window(since=40, until=90)
    found = measure(Schedule.recorded(w), w, pool, window=window)
    late = by_the_second(Schedule.recorded(w), w, pool, 40, 90)
    for name in ("imbalance_mean", "stranded_procs", "short_memory", "throughput_per_h"):
        assert found[name] == pytest.approx(late[name])
    assert found["dominant_procs"] == 1.0  # one job is submitted in the window


def test_one_resource_has_no_balance():
    w = Workload.build(submit=[0, 9], run=[5, 5], procs=[1, 1], recorded_start=[0, 9])
    names = measure(Schedule.recorded(w), w, Cluster.pool(2))
    assert not {n for n in names if REGISTRY[n].group == "resources"}
    more = Cluster.pool(2, memory=9)  # which no job requests
    assert "imbalance_mean" not in measure(Schedule.recorded(w), w, more)


def test_hosts_have_balance_but_no_resource_is_reported_short():
    """On hosts a job may not fit though the machine as a whole has enough."""
    w, _ = world()
    hosts = tuple(Host(f"h{i}", (2, 8, 1)) for i in range(2))
    machine = Cluster(shape="hosts", resources=("procs", "memory", "licences"), hosts=hosts)
    found = resource_metrics(Schedule.recorded(w), w, machine, np.ones(4, bool))
    assert "imbalance_mean" in found and "short_memory" not in found


def test_shares_are_a_step_function():
    w, pool = world()
    shares = shares_over_time(Schedule.recorded(w), w, pool)
    assert shares.names == ("procs", "memory", "licences")
    assert shares.at[0] == 0 and shares.share[0].tolist() == [0.25, 0.75, 0.0]
    assert shares.share[-1].tolist() == [0, 0, 0] and np.isnan(shares.imbalance[-1])
    assert shares.fullest[0] == 0.75 and shares.imbalance[0] == pytest.approx(2.25)
