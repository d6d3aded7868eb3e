"""Hosts, dedicated jobs and class partitioning equal the slow reference job by job."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.worlds import as_workload, assert_same, simulated, worlds
from naive import shorthand as naive_hosts
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(120), deadline=None)


def as_hosts(hosts, dedicated=None) -> Cluster:
    """A machine of hosts with processors and memory."""
    options = {}
    if dedicated is not None:
        options = {"dedicated": dict(zip(("procs", "memory"), dedicated, strict=True))}
    return Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(Host(f"h{i}", tuple(capacity)) for i, capacity in enumerate(hosts)),
        options=options,
    )


@st.composite
def host_worlds(draw):
    """Jobs of two resources and up to four hosts of different sizes."""
    jobs, _ = draw(worlds(resources=2, most=12))
    sizes = st.tuples(st.sampled_from([4, 8, 16]), st.sampled_from([4, 8, 16]))
    hosts = draw(st.lists(sizes, min_size=1, max_size=4))
    fits = [
        j for j in jobs if any(all(n <= c for n, c in zip(j.need, h, strict=True)) for h in hosts)
    ]
    assume(fits)
    return fits, hosts


DEDICATED = st.sampled_from([None, (6, 9)])


@pytest.mark.parametrize("key", ["fcfs", "lxfw", "lxfwp", "lpf", "sjf"])
@pytest.mark.parametrize("depth", [1, 3])
@EXAMPLES
@given(world=host_worlds(), dedicated=DEDICATED)
def test_single_class(key, depth, world, dedicated):
    """K dynamic reservations over hosts, best fit, dedicated jobs."""
    jobs, hosts = world
    cluster = as_hosts(hosts, dedicated)
    workload = as_workload(jobs)
    schedule = simulate(workload, cluster, parse_policy(f"easy(order={key}, reserve={depth})"))
    reference = naive_hosts.dyn_k(jobs, hosts, depth=depth, key=key, dedicated=dedicated)
    assert_same(schedule, reference.result)
    places = dict(zip(schedule.job_id.tolist(), schedule.place, strict=True))
    assert places == {job: f"h{host}" for job, host in reference.place.items()}
    assert check(schedule, workload, cluster).ok


@pytest.mark.parametrize("large_in_two", [False, True])
@pytest.mark.parametrize("times", [1, 2])
@EXAMPLES
@given(world=host_worlds(), dedicated=DEDICATED, count=st.integers(1, 2), short=st.integers(0, 20))
def test_partitioned(large_in_two, times, world, dedicated, count, short):
    """part-L/SM and part-L/A with their reservation rules."""
    jobs, hosts = world
    assume(count <= len(hosts))
    one = sorted(sorted(range(len(hosts)), key=lambda h: ([-c for c in hosts[h]], h))[:count])
    two = [h for h in range(len(hosts)) if h not in one]

    def allowed(job):
        if job.need[0] > 5:
            return one + (two if large_in_two else [])
        return two + (one if job.request <= short else [])

    homeful = [
        job
        for job in jobs
        if any(all(n <= c for n, c in zip(job.need, hosts[h], strict=True)) for h in allowed(job))
    ]
    assume(homeful)
    reference = naive_hosts.part_l(
        homeful,
        hosts,
        class_one=one,
        short=short,
        large_in_two=large_in_two,
        large=5,
        times=times,
        dedicated=dedicated,
    )
    where = "anywhere" if large_in_two else "class-one"
    policy = parse_policy(
        f"lxfw(partition=by-class(hosts={count}, hours={short / 3600!r}, large={where}, above=5, "
        f"times={times}))"
    )
    schedule = simulate(as_workload(homeful), as_hosts(hosts, dedicated), policy)
    assert_same(schedule, reference.result)


@pytest.mark.parametrize("policy", ["easy", "lxfw(reserve=3)", "greedy", "fcfs"])
@settings(max_examples=examples(40), deadline=None)
@given(world=worlds(resources=2))
def test_one_host_is_a_pool(policy, world):
    """One host behaves as the pool, job by job."""
    jobs, capacity = world
    pool = simulated(jobs, capacity, policy)
    host = simulate(as_workload(jobs), as_hosts([capacity]), parse_policy(policy))
    for column in ("start", "end", "reason", "promised", "blocked_at"):
        assert getattr(pool, column).tolist() == getattr(host, column).tolist()


def test_more_class_one_hosts_than_hosts_is_refused():
    """The error comes before the run and gives the reason."""
    jobs = Workload.build(submit=[0], run=[1], procs=[1], demand={"memory": [1]})
    with pytest.raises(PolicyError, match="the machine has 2"):
        simulate(
            jobs, as_hosts([(8, 8), (8, 8)]), parse_policy("lxfw(partition=by-class(hosts=3))")
        )


def test_a_class_without_a_home_is_refused():
    """A partition that leaves a class nowhere to run names the first job."""
    jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 7], demand={"memory": [1, 1]})
    policy = parse_policy("lxfw(partition=by-class(hosts=1, above=5, hours=0))")
    with pytest.raises(PolicyError, match="nowhere to run, the first is job 1"):
        simulate(jobs, as_hosts([(8, 8)]), policy)


def test_preemption_on_hosts_is_refused():
    """An undefined combination is an error with the reason."""
    jobs = Workload.build(submit=[0], run=[1], procs=[1], demand={"memory": [1]})
    with pytest.raises(PolicyError, match="pool only"):
        simulate(jobs, as_hosts([(8, 8)]), parse_policy("pv-easy"))
