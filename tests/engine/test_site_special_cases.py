"""The older shapes are special cases of a site, start by start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.node_worlds import as_cluster as as_nodes
from engine.worlds import as_cluster, as_workload, worlds
from naive.nodes import Machine
from shadowtime.cluster import Cluster
from shadowtime.cluster.cluster import Host
from shadowtime.cluster.site import Limits, Node, Qos, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

COLUMNS = ("start", "end", "reason", "kills", "killed", "promised", "blocked_at")
ON_A_POOL = [
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "easy(reserve=3)",
    "easy(reserve=all)",
    "lxfw(reserve=2)",
    "conservative",
    "conservative(compress=no)",
    "easy++",
    "pv-easy",
    "pv-easy(prune=yes)",
    "bb",
    "bl",
    "ibb",
    "easy-saf(reserve=2)",
    "relaxed",
    "selective",
    "selective-adaptive",
]


def assert_equal(one: Schedule, other: Schedule) -> None:
    for name in COLUMNS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@pytest.mark.parametrize("policy", [*ON_A_POOL, "priority-conservative"])
def test_one_node_is_the_pool(policy: str) -> None:
    """The promises of a function that selects are its own where jobs outlive their estimates."""

    @given(worlds(resources=2, overruns=policy in ON_A_POOL))
    @settings(max_examples=examples(25), deadline=None)
    def equal(world) -> None:
        jobs, capacity = world
        workload = as_workload(jobs)
        site = Site(nodes=(Node(name="n", amounts=capacity),), resources=("cpus", "memory"))
        asked = Requests.of_jobs(
            [
                Request(tasks=int(procs), max_nodes=1, memory=int(memory) or None)
                for procs, memory in workload.demand.tolist()
            ]
        )
        pool = simulate(workload, as_cluster(capacity), parse_policy(policy))
        assert_equal(simulate(workload.replace(requests=asked), site, parse_policy(policy)), pool)

    equal()


@pytest.mark.parametrize(
    "policy", ["easy", "easy-sjbf(reserve=2)", "lxfw(reserve=3)", "greedy", "lxf"]
)
def test_jobs_of_one_node_are_hosts(policy: str) -> None:
    @given(st.data())
    @settings(max_examples=examples(25), deadline=None)
    def equal(data) -> None:
        hosts = [data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6))) for _ in range(3)]
        biggest = max(hosts)
        count = data.draw(st.integers(1, 12))
        submit = sorted(data.draw(st.integers(0, 15)) for _ in range(count))
        request = [data.draw(st.integers(1, 12)) for _ in range(count)]
        procs = [data.draw(st.integers(1, biggest[0])) for _ in range(count)]
        memory = [data.draw(st.integers(0, biggest[1])) for _ in range(count)]
        run = [data.draw(st.integers(1, length)) for length in request]
        workload = Workload.build(
            submit=submit, run=run, request=request, procs=procs, demand={"memory": memory}
        )
        machine = hosts_cluster(hosts)
        site = Site(
            nodes=tuple(Node(name=f"h{i}", amounts=host) for i, host in enumerate(hosts)),
            resources=("cpus", "memory"),
        )
        asked = Requests.of_jobs(
            [
                Request(tasks=wide, max_nodes=1, memory=need or None)
                for wide, need in zip(procs, memory, strict=True)
            ]
        )
        chosen = parse_policy(policy)
        one = simulate(workload, machine, chosen)
        other = simulate(workload.replace(requests=asked), site, chosen)
        assert_equal(other, one)
        places = [one.place[row] for row in range(count)]
        assert [text.partition(":")[0] for text in other.place] == places

    equal()


def hosts_cluster(hosts: list[tuple[int, int]]) -> Cluster:
    return Cluster(
        hosts=tuple(Host(f"h{i}", host) for i, host in enumerate(hosts)),
        resources=("procs", "memory"),
        shape="hosts",
    )


@pytest.mark.parametrize("policy", ["greedy", "easy", "easy-sjbf"])
def test_nodes_of_one_cpu_are_the_nodes_shape(policy: str) -> None:
    chosen = parse_policy(policy)
    chosen = chosen.replace(place=parse_policy("easy(place=first-fit)").place)

    @given(worlds())
    @settings(max_examples=examples(25), deadline=None)
    def equal(world) -> None:
        jobs, capacity = world
        workload = as_workload(jobs)
        site = Site(nodes=tuple(Node(name=f"n{i}", amounts=(1,)) for i in range(capacity[0])))
        nodes = as_nodes(Machine(capacity[0], 1, 10**9))
        workload = workload.replace(extra={"bandwidth": np.zeros(len(workload), np.int64)})
        assert (
            simulate(workload, site, chosen).start.tolist()
            == simulate(workload, nodes, chosen).start.tolist()
        )

    equal()


@given(worlds(), st.sampled_from(["easy", "conservative", "lxfw(reserve=2)"]))
@settings(max_examples=examples(20), deadline=None)
def test_empty_limits_and_other_names_change_nothing(world, policy: str) -> None:
    jobs, capacity = world
    workload = as_workload(jobs)
    whole, half = capacity[0], max(1, capacity[0] // 2)
    plain = Site(nodes=(Node(name="a", amounts=(whole,)), Node(name="b", amounts=(half,))))
    bounded = plain.replace(
        qos=(Qos(name="", limits=Limits(group_jobs=1000)),), enforce=frozenset({"limits"})
    )
    other = plain.replace(nodes=tuple(replace(n, name=f"z{n.name}") for n in plain.nodes))
    chosen = parse_policy(policy)
    made = simulate(workload, plain, chosen)
    for site in (bounded, other):
        assert_equal(simulate(workload, site, chosen), made)


def test_jobs_cancelled_in_the_queue_leave_it() -> None:
    workload = Workload.build(
        submit=[0, 1, 2],
        run=[10, 5, 5],
        procs=[2, 2, 1],
        extra={"cancel_at": np.array([-1, 4, -1])},
    )
    site = Site(nodes=(Node(name="n", amounts=(2,)),))
    made = simulate(workload, site, parse_policy("easy"))
    assert made.start.tolist() == [0, -1, 10]
    assert made.unstarted.tolist() == [False, True, False]
    assert made.counters["cancelled"] == 1
