"""Places under limits, and licences that are planned with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Limits, Node, Qos, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests


def limited(*cpus: int, most: int, weights: tuple[int, ...] = ()) -> Site:
    """Nodes n0, n1, ... of these sizes; each user may hold so many cpus."""
    nodes = tuple(
        Node(name=f"n{at}", amounts=(count,), weight=weights[at] if weights else 1)
        for at, count in enumerate(cpus)
    )
    qos = Qos(name="normal", limits=Limits(user_resources={"cpus": most}))
    return Site(nodes=nodes, qos=(qos,), enforce=frozenset({"limits"}))


def jobs(*asked: Request, **columns: Any) -> Workload:
    """One job for each request, by default of the same user and submitted at once."""
    n = len(asked)
    given = {"submit": [0] * n, "run": [100] * n, "user": [0] * n} | columns
    requests = Requests.of_jobs([replace(one, qos="normal") for one in asked])
    return Workload.build(procs=[one.cpus for one in asked], requests=requests, **given)


def where(made: Schedule, row: int) -> list[tuple[int, int]]:
    """Nodes and tasks of a job."""
    assert made.place is not None
    return made.place.tasks_of(row)  # type: ignore[attr-defined]


WHOLE = Request(tasks=2, exclusive=True)


@pytest.mark.parametrize("policy", ["easy", "conservative", "lxfw", "fcfs", "pv-easy"])
@pytest.mark.parametrize("place", ["best-fit", "first-fit", "pack", "spread"])
def test_a_place_within_the_limit_is_found(policy: str, place: str) -> None:
    """Of nodes with 16 and 8 cpus, a user with 10 may have the small one alone."""
    workload, site = jobs(WHOLE), limited(16, 8, most=10)
    made = simulate(workload, site, parse_policy(f"{policy}(place={place})"))
    assert (made.start[0], where(made, 0)) == (0, [(1, 2)])


def test_what_is_in_use_counts_towards_the_limit() -> None:
    """While 4 of 10 cpus are in use the node with 8 is too large; it starts when they are given."""
    workload = jobs(Request(tasks=4), WHOLE, run=[50, 100])
    made = simulate(workload, limited(16, 8, 4, most=11), parse_policy("easy"))
    assert where(made, 0) == [(2, 4)]
    assert (made.start.tolist(), where(made, 1)) == ([0, 50], [(1, 2)])


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_a_set_of_nodes_within_the_limit_is_searched(policy: str) -> None:
    """Two whole nodes of 16, 8, 8 under 16 cpus are the small ones; of 16, 4, 8 under 20 16 + 4."""
    two = Request(nodes=2, tasks=2, exclusive=True)
    made = simulate(jobs(two), limited(16, 8, 8, most=16), parse_policy(policy))
    assert where(made, 0) == [(1, 1), (2, 1)]
    wide = Request(nodes=2, max_nodes=2, tasks=18, exclusive=True)
    made = simulate(jobs(wide), limited(16, 8, 16, 4, most=20), parse_policy(policy))
    assert where(made, 0) == [(0, 16), (3, 2)]


def test_a_plan_is_made_under_the_limit() -> None:
    """Both nodes are busy: the plan is for the small one, though the large one is free earlier."""
    others = Request(tasks=16), Request(tasks=8)
    workload = jobs(*others, WHOLE, run=[50, 90, 100], submit=[0, 0, 1], user=[1, 2, 0])
    site = limited(16, 8, most=10)
    loose = Site(nodes=site.nodes, qos=(*site.qos, Qos(name="free")), enforce=site.enforce)
    asked = Requests.of_jobs([replace(one, qos="free") for one in others] + [workload.requests[2]])
    workload = workload.replace(requests=asked)
    for policy in ("easy", "conservative"):
        made = simulate(workload, loose, parse_policy(policy))
        assert made.promised is not None
        assert (made.promised[2], made.start[2], where(made, 2)) == (90, 90, [(1, 2)]), policy


CASES = {
    "the fewest free cpus": ((16, 8), (), 10, WHOLE, [(1, 2)]),
    "the lighter node is over the limit": ((16, 8), (1, 5), 10, WHOLE, []),
    "two nodes from the first on": ((16, 8, 8), (), 16, Request(nodes=2, exclusive=True), []),
}
"""What slurmctld 22.05 did with MaxTRESPerUser on the same nodes: where the job ran, if it did."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("policy", ["easy(place=slurm)", "conservative(place=slurm)", "slurm"])
def test_slurm_chooses_nodes_and_then_rejects_them(case: str, policy: str) -> None:
    cpus, weights, most, asked, expected = CASES[case]
    made = simulate(jobs(asked), limited(*cpus, most=most, weights=weights), parse_policy(policy))
    if not expected:
        assert made.unstarted.tolist() == [True]
        return
    assert made.start[0] >= 0
    held = made.place[0] if policy == "slurm" else where(made, 0)  # type: ignore[index]
    assert held == ("n1:8" if policy == "slurm" else expected)


@pytest.mark.parametrize("policy", ["easy(place=slurm)", "slurm"])
def test_a_rejected_job_blocks_no_other_and_starts_on_the_small_node(policy: str) -> None:
    """As slurmctld did: the large node alone is free; a job behind starts there at once."""
    others = Request(tasks=8, wanted=("n1",)), WHOLE, Request(tasks=1, wanted=("n0",))
    workload = jobs(*others, submit=[0, 1, 2], run=[60, 60, 60], user=[1, 0, 2])
    made = simulate(workload, limited(16, 8, most=10), parse_policy(policy))
    assert made.start[2] < 60 <= made.start[1] < 120


# ------------------------------------------------------------------------------- licences
POLICIES = ("fcfs", "easy", "easy(reserve=3)", "lxfw", "easy-sjbf", "conservative", "pv-easy")


def on_pool_and_site(
    licences: int, cpus: int, columns: dict[str, list[int]], asked: list[int]
) -> tuple[tuple[Workload, Cluster], tuple[Workload, Site]]:
    """The same jobs with licences as a resource of a pool, and as those of a site of one node."""
    procs = columns.pop("procs")
    pool = Workload.build(procs=procs, demand={"licences": asked}, **columns)
    each = [
        Request(tasks=count, nodes=1, max_nodes=1, amounts=(("license/m", n),) if n else ())
        for count, n in zip(procs, asked, strict=True)
    ]
    site = Site(nodes=(Node(name="n", amounts=(cpus,)),), amounts={"license/m": licences})
    workload = Workload.build(procs=procs, requests=Requests.of_jobs(each), **columns)
    machine = Cluster.pool(cpus, licences=licences)
    return (pool, machine), (workload, site)


def test_a_job_that_needs_every_licence_waits_as_long_on_a_site_as_on_a_pool() -> None:
    """Small jobs go on taking single licences; the large job has a plan and they stay behind it.

    Before, licences were only tested on a site: it waited until the small ones ran out.
    """
    count = 30
    columns = {
        "submit": [0, 1, *range(2, 2 + count)],
        "run": [10, 10] + [10] * count,
        "procs": [1, 1] + [1] * count,
    }
    asked = [1, 8] + [1] * count
    (pool, machine), (workload, site) = on_pool_and_site(8, 64, columns, asked)
    for policy in POLICIES:
        chosen = parse_policy(policy)
        there = simulate(workload, site, chosen)
        assert there.wait[1] == 9, policy
        assert there.start.tolist() == simulate(pool, machine, chosen).start.tolist(), policy
        assert check(there, workload, site).first_violation is None


@pytest.mark.parametrize("policy", POLICIES)
def test_licences_of_a_site_are_a_resource_of_a_pool(policy: str) -> None:
    """The same starts, promises and reasons."""

    @given(st.data())
    @settings(max_examples=examples(40), deadline=None)
    def equal(data: st.DataObject) -> None:
        count = data.draw(st.integers(1, 12))

        def some(low: int, high: int) -> list[int]:
            return data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

        columns = {"submit": sorted(some(0, 20)), "run": some(1, 12), "procs": some(1, 4)}
        columns["request"] = [a + b for a, b in zip(columns["run"], some(0, 5), strict=True)]
        (pool, machine), (workload, site) = on_pool_and_site(3, 4, columns, some(0, 3))
        here, there = (
            simulate(w, m, parse_policy(policy)) for w, m in ((pool, machine), (workload, site))
        )
        for name in ("start", "promised", "blocked_at", "reason"):
            assert getattr(here, name).tolist() == getattr(there, name).tolist(), name

    equal()


def test_more_licences_than_the_site_has_are_a_cause() -> None:
    from shadowtime.study.unstarted import why_never

    site = Site(nodes=(Node(name="n", amounts=(4,)),), amounts={"license/m": 2})
    asked = Requests.of_jobs([Request(amounts=(("license/m", 3),)), Request()])
    workload = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 1], requests=asked)
    made = simulate(workload, site, parse_policy("easy"))
    assert made.start.tolist() == [-1, 0]
    assert [one.why for one in why_never(made, workload, site)] == ["too few licences (m)"]
