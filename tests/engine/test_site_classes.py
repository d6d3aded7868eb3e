"""Class partitioning on a site: the reference's starts, the hosts' starts, and its proofs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.site_worlds import assert_same, sites, workloads
from engine.test_site_special_cases import assert_equal, hosts_cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.rules import rules_of
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import SiteJobs
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.verify.site import ALL, Classes, NowhereError, Rules
from shadowtime.verify.site import simulate as simulate_naive
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

VARIANTS = {
    "part-l-sm": Classes(nodes=1, hours=5 / 3600, anywhere=False, above=2),
    "part-l-a": Classes(nodes=2, hours=0, anywhere=True, above=1, reservations=1, times=1),
}


def text_of(name: str, classes: Classes) -> str:
    return (
        f"{name}(hosts={classes.nodes}, hours={classes.hours!r}, above={classes.above}, "
        f"reservations={classes.reservations}, times={classes.times})"
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_classes_equal_the_reference(name: str) -> None:
    classes = VARIANTS[name]
    rules = Rules(key="lxfw", depth=ALL, classes=classes)

    @given(workloads(), sites())
    @settings(max_examples=examples(40), deadline=None)
    def equal(workload, site) -> None:
        if classes.nodes > len(site.nodes):
            return
        policy = parse_policy(text_of(name, classes))
        try:
            simulate_naive(workload, site, rules)
        except NowhereError as error:
            with pytest.raises(PolicyError, match=f"nowhere to run, the first is job {error}"):
                simulate(workload, site, policy)
            return
        made = assert_same(workload, site, policy, rules)
        proved = check(made, workload, site, rules=rules_of(policy, workload, site))
        assert proved.first_violation is None

    equal()


@pytest.mark.parametrize("name", VARIANTS)
def test_jobs_of_one_node_are_hosts(name: str) -> None:
    """Where every job runs on one node, the classes of a site are those of hosts."""
    classes = VARIANTS[name]

    @given(st.data())
    @settings(max_examples=examples(25), deadline=None)
    def equal(data) -> None:
        hosts = [(6, 6), *(data.draw(st.tuples(st.integers(1, 6), st.just(6))) for _ in range(2))]
        count = data.draw(st.integers(1, 14))
        request = [data.draw(st.integers(1, 12)) for _ in range(count)]
        second = sorted(host[0] for host in hosts)[-2 if classes.nodes == 1 else -3]
        procs = [data.draw(st.integers(1, 6)) for _ in range(count)]
        small = min(second, classes.above)
        procs = [wide if wide > classes.above else min(wide, small) for wide in procs]
        memory = [data.draw(st.integers(0, 6)) for _ in range(count)]
        workload = Workload.build(
            submit=sorted(data.draw(st.integers(0, 15)) for _ in range(count)),
            run=[data.draw(st.integers(1, length)) for length in request],
            request=request,
            procs=procs,
            demand={"memory": memory},
        )
        asked = [
            Request(tasks=wide, max_nodes=1, memory=need or None)
            for wide, need in zip(procs, memory, strict=True)
        ]
        site = Site(
            nodes=tuple(Node(name=f"h{i}", amounts=host) for i, host in enumerate(hosts)),
            resources=("cpus", "memory"),
        )
        policy = parse_policy(text_of(name, classes))
        one = simulate(workload, hosts_cluster(hosts), policy)
        other = simulate(workload.replace(requests=Requests.of_jobs(asked)), site, policy)
        assert_equal(other, one)
        assert [text.partition(":")[0] for text in other.place] == list(one.place)

    equal()


def two_classes() -> tuple[Workload, Site]:
    jobs = Workload.build(
        submit=[0, 0, 1, 2],
        run=[9, 9, 5, 5],
        procs=[8, 2, 4, 6],
        requests=Requests.of_jobs(
            [Request(tasks=8), Request(tasks=2), Request(tasks=4), Request(tasks=6)]
        ),
    )
    sizes = (("big", 8), ("a", 2), ("b", 2), ("c", 2))
    return jobs, Site(nodes=tuple(Node(name=name, amounts=(cpus,)) for name, cpus in sizes))


def test_a_job_outside_its_class_is_caught() -> None:
    jobs, site = two_classes()
    policy = parse_policy("part-l-sm(hosts=1, above=5, hours=0)")
    made = simulate(jobs, site, policy)
    assert list(made.place) == ["big:8", "a:2", "b,c:2", "big:6"]
    rules = rules_of(policy, jobs, site)
    assert check(made, jobs, site, rules=rules).ok
    for place, why in (
        ("a:2 b:2 c:2", "job 4 ran on a, where large jobs may not run"),
        ("big:4 a:2", "job 4 ran on a, where large jobs may not run"),
    ):
        moved = made.replace(place=(*list(made.place)[:3], place), end=made.end, start=made.start)
        found = check(moved, jobs, site, rules=rules).first_violation
        assert found is not None and (found.name, found.detail) == ("class-eligible", why)
    anywhere = parse_policy("part-l-a(hosts=1, above=5, hours=0)")
    start = np.array([0, 0, 9, 20])
    moved = made.replace(
        place=(*list(made.place)[:3], "big:4 a:2"), start=start, end=start + jobs.run
    )
    found = check(moved, jobs, site, rules=rules_of(anywhere, jobs, site)).first_violation
    assert found is not None and found.detail == "job 4 ran on nodes of both classes"


def test_classes_need_nodes_for_every_job() -> None:
    jobs, site = two_classes()
    with pytest.raises(PolicyError, match=r"5 nodes for class one, but the site has 4"):
        simulate(jobs, site, parse_policy("part-l-sm(hosts=5)"))
    with pytest.raises(PolicyError, match=r"leaves 1 jobs nowhere to run, the first is job 1"):
        simulate(jobs, site, parse_policy("part-l-sm(hosts=1, above=9, hours=0)"))


def test_one_decision_is_the_simulations() -> None:
    jobs, site = two_classes()
    policy = parse_policy("part-l-sm(hosts=1, above=5, hours=0)")
    seen = SiteJobs(now=0, jobs=jobs.take(np.array([0, 1])), running={})
    first = decide_site(policy, site, seen)
    assert {row: run.tasks for row, run in first.starts.items()} == {0: {"big": 8}, 1: {"a": 2}}
    later = SiteJobs(now=2, jobs=jobs, running=dict(first.starts))
    assert {row: run.tasks for row, run in decide_site(policy, site, later).starts.items()} == {
        2: {"b": 2, "c": 2}
    }
