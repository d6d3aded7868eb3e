"""Bounds that change over time (a power cap by the hour): starts equal the reference, and hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from drawing import Drawing
from engine.site_worlds import POWER, M, assert_same, sites, workloads
from engine.test_site import POLICIES
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.simulate import keeps_bounds
from shadowtime.engine.site import simulate_site
from shadowtime.errors import InputError, PolicyError
from shadowtime.policy import parse_policy
from shadowtime.report import explain
from shadowtime.schedule.check import check
from shadowtime.study.unstarted import why_never
from shadowtime.verify.follow import follow
from shadowtime.workload import Workload
from shadowtime.workload.series import Series
from shadowtime.workload.site_requests import pool_as_site, pool_with_bounds


@st.composite
def bounded(draw: st.DrawFn, *, plain: bool) -> Workload:
    """Jobs with a power cap that changes, and often licences that come and go."""
    pick = Drawing(draw)
    series = {}
    for name, most in ((POWER, 9), (M, 3)):
        if name == POWER or pick.yes():
            time = sorted({pick.number(-3, 40) for _ in range(pick.number(1, 6))})
            value = [float(pick.number(0, most)) + pick.one([0.0, 0.5]) for _ in time]
            series[name] = Series(name=name, time=np.array(time), value=np.array(value))
    return draw(workloads(plain=plain, most=12)).replace(series=series)


SAFE = {
    name: POLICIES[name]
    for name in (
        "fcfs", "greedy", "easy", "easy-sjbf(place=spread)", "easy(place=slurm)",
        "easy(reserve=2)", "sjf(backfill=sjbf, reserve=2)", "conservative",
        "conservative(compress=no)", "priority-conservative", "bb", "ibb",
    )
}  # fmt: skip
"""Policies of every kind whose jobs do not outlive their estimates."""


@pytest.mark.parametrize("policy", SAFE)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "with everything"])
def test_starts_equal_the_reference(policy: str, *, plain: bool) -> None:
    """On random sites, with limits, closings, dependencies and cancellations too."""

    @given(bounded(plain=plain), sites(plain=plain))
    @settings(max_examples=examples(60), deadline=None)
    def equal(workload, site) -> None:
        assert_same(workload, site, policy, SAFE[policy])

    equal()


def jobs_with_watts(cap: Series, **more: object) -> Workload:
    made = Workload.build(
        submit=[0, 1, 2, 3], run=[20, 20, 20, 5], request=[20, 20, 20, 5], procs=[1, 1, 1, 1],
        extra={"power": np.array([300, 300, 300, 100])},
    )  # fmt: skip
    return made.replace(series={"power": cap}, **more)


DAY = Series(name="power", time=np.array([0, 30]), value=np.array([1000.0, 350.0]), period=60)
"""From second 30 to 60 of each minute one job of 300 W alone may run."""


def test_a_cap_by_the_hour_on_a_pool() -> None:
    """No job is started that would run into the low cap with others; a short one goes ahead."""
    jobs = jobs_with_watts(DAY)
    made = simulate(jobs, Cluster.pool(4), parse_policy("easy"))
    assert made.start.tolist() == [0, 1, 2, 3]
    late = jobs_with_watts(DAY.shifted(-15))  # the low cap begins at 15 s: one of them at a time
    made = simulate(late, Cluster.pool(4), parse_policy("easy"))
    assert made.start.tolist() == [0, 20, 40, 3]
    assert check(made, late, Cluster.pool(4)).first_violation is None
    assert [row.start for row in follow(late, Cluster.pool(4), parse_policy("easy")).rows] == [
        0, 20, 40, 3,
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["easy", "conservative", "easy-sjbf", "sjf(backfill=sjbf)"])
def test_a_pool_and_a_site_of_one_node_agree(policy: str) -> None:
    """And what check proves of the one holds for the other."""
    rng = np.random.default_rng(3)
    n = 60
    cap = Series(name="power", time=np.array([0, 40]), value=np.array([900.0, 450.0]), period=90)
    request = rng.integers(1, 30, n)
    jobs = Workload.build(
        submit=np.sort(rng.integers(0, 300, n)), run=rng.integers(1, request + 1),
        request=request, procs=rng.integers(1, 5, n),
        extra={"power": 100 * rng.integers(1, 5, n)},
    ).replace(series={"power": cap})  # fmt: skip
    pool = simulate(jobs, Cluster.pool(8), parse_policy(policy))
    node = Site(nodes=(Node(name="n", amounts=(8,)),))
    assert pool.start.tolist() == simulate(jobs, node, parse_policy(policy)).start.tolist()
    assert check(pool, jobs, Cluster.pool(8)).first_violation is None
    free = simulate(jobs.replace(series={}), Cluster.pool(8), parse_policy(policy))
    broken = check(free, jobs, Cluster.pool(8)).first_violation
    assert broken is not None and "series allows" in broken.detail


COUNTED = [
    "fcfs", "greedy", "easy", "easy-sjbf", "easy(estimate=last-two)", "easy-sjbf(estimate=actual)",
]  # fmt: skip


@pytest.mark.parametrize("changes", [False, True], ids=["for ever", "by the hour"])
@pytest.mark.parametrize("policy", COUNTED)
def test_a_cap_is_counted_on_the_pool(policy: str, *, changes: bool) -> None:
    """All columns equal those of a site of one node, whether it changes or not."""

    @given(st.integers(0, 2**32 - 1), st.integers(400, 1500), st.booleans())
    @settings(max_examples=examples(100), deadline=None)
    def equal(seed: int, most: int, overdue: bool) -> None:
        rng = np.random.default_rng(seed)
        n, overdue = int(rng.integers(1, 60)), overdue and not changes
        request = rng.integers(1, 30, n)
        steps = int(rng.integers(2, 9)) if changes else 2
        value = most + (100 * rng.integers(-4, 4, steps) if changes else np.array([0, 0.5]))
        period = int(rng.integers(60, 100)) if changes and rng.random() < 0.5 else 0
        time = np.sort(rng.choice(60 if period else 250, steps, replace=False))
        jobs = Workload.build(
            submit=np.sort(rng.integers(0, 150, n)),
            run=rng.integers(1, request + 1 + 9 * overdue),
            request=request, procs=rng.integers(1, 5, n), user=rng.integers(0, 3, n),
            extra={"power": 100 * rng.integers(0, 5, n)},
        )  # fmt: skip
        cap = Series(name="power", time=time, value=value, period=period)
        jobs = jobs.replace(series={"power": cap})
        pool, made = Cluster.pool(8), parse_policy(policy)
        fast, slow = simulate(jobs, pool, made), simulate_site(*pool_as_site(jobs, pool), made)
        for column in ("start", "end", "reason", "promised", "blocked_at", "kills", "killed"):
            assert getattr(fast, column).tolist() == getattr(slow, column).tolist(), column
        # A guess may be too short: the cap falls while a job runs. And check counts no job as
        # waiting that never starts.
        if "last-two" not in policy and (fast.start >= 0).all():
            assert check(fast, jobs, pool).first_violation is None

    equal()


def test_a_pool_counts_a_cap_that_changes() -> None:
    """Two hundred jobs under a cap by the hour never enter a site's passes."""
    made = pool_with_bounds(jobs_with_watts(DAY), Cluster.pool(4))
    assert made is not None
    assert keeps_bounds(parse_policy("easy"), made)
    assert made.missing[:3].tolist() == [[0, 0], [0, 650], [0, 0]]
    assert not keeps_bounds(parse_policy("conservative"), made)


def test_the_lower_of_two_bounds_holds() -> None:
    """The machine's own number caps the series."""
    flat = Series(name="power", time=np.array([0]), value=np.array([10_000.0]))
    site = Site(nodes=(Node(name="n", amounts=(8,)),), amounts={"power": 600})
    made = simulate(jobs_with_watts(flat), site, parse_policy("easy"))
    assert made.start.tolist() == [0, 1, 20, 21]
    pool = Cluster.pool(8)
    assert simulate(jobs_with_watts(flat), pool, parse_policy("easy")).start.tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_a_job_that_no_bound_lets_in_never_starts() -> None:
    """It would need 40 s at 1,000 W, and a minute has 30 of them; the others go on."""
    jobs = Workload.build(
        submit=[0, 0], run=[40, 5], request=[40, 5], procs=[1, 1],
        extra={"power": np.array([900, 100])},
    ).replace(series={"power": DAY})  # fmt: skip
    for machine in (Site(nodes=(Node(name="n", amounts=(8,)),)), Cluster.pool(8)):
        made = simulate(jobs, machine, parse_policy("easy"))
        assert made.start.tolist() == [-1, 0]
        [why] = why_never(made, jobs, machine)
        assert (why.why, why.first) == ("more power than the site has", (1,))


def test_explain_names_the_bound_at_that_time() -> None:
    """Of a job that waits until the cap rises."""
    late = jobs_with_watts(DAY.shifted(-15), name="log")
    site = Site(nodes=(Node(name="n", amounts=(8,)),))
    made = simulate(late, site, parse_policy("easy"))
    first = explain(late, made, 2, cluster=site).in_the_way[0]
    assert (first.kind, first.bound, first.used, first.asked) == ("power", 350, 300, 300)


def test_what_cannot_be_bounded_is_refused() -> None:
    """A negative bound, and policies that do not plan with bounds."""
    low = Series(name="power", time=np.array([0]), value=np.array([-1.0]))
    with pytest.raises(InputError, match="below 0"):
        simulate(jobs_with_watts(low), Cluster.pool(4), parse_policy("easy"))
    with pytest.raises(PolicyError, match="series power"):
        site = Site(nodes=(Node(name="n", amounts=(8,)),))
        simulate(jobs_with_watts(DAY), site, parse_policy("slurm"))
