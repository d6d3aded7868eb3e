"""order=multifactor on sites and pools: equal to the slow reference, by hand, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.site_worlds import assert_same, sites, workloads
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Association, Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import SiteJobs
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.verify.site import ALL, Rules
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

RULES = {
    "fcfs": {"depth": 0, "backfill": "never"},
    "greedy": {"depth": 0, "backfill": "any"},
    "easy": {},
    "easy-sjbf": {"backfill": "sjbf"},
    "easy(reserve=3)": {"depth": 3},
    "dynamic-conservative": {"depth": ALL},
    "bb": {"backfill": "balanced-one"},
    "ibb": {"backfill": "not-worse"},
    "conservative": {"depth": -1},
    "conservative(compress=no)": {"depth": -1, "compress": False},
}


@st.composite
def weighed(draw: st.DrawFn) -> tuple[Site, dict[str, Any]]:
    """A site with weights, accounts and usage, and its settings as the reference takes them."""
    site = draw(sites())
    weight = st.sampled_from([0, 100, 1000])
    found: dict[str, Any] = {
        "age": draw(weight),
        "fair_share": draw(st.sampled_from([1000, 5000])),
        "job_size": draw(weight),
        "partition": draw(weight),
        "qos": draw(weight),
        "assoc": draw(weight),
        "tres": draw(st.sampled_from([(), (("cpu", 500.0), ("node", 30.0))])),
        "max_age": draw(st.sampled_from([5, 60])),
        "half_life": draw(st.sampled_from([0, 30, 100_000])),
        "period": draw(st.sampled_from([1, 4, 10])),
        "fair_tree": draw(st.booleans()),
    }
    config = {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": found["age"],
        "PriorityWeightFairShare": found["fair_share"],
        "PriorityWeightJobSize": found["job_size"],
        "PriorityWeightPartition": found["partition"],
        "PriorityWeightQOS": found["qos"],
        "PriorityWeightAssoc": found["assoc"],
        "PriorityWeightTRES": ",".join(f"{name}={value}" for name, value in found["tres"]),
        "PriorityMaxAge": f"0-00:00:{found['max_age']}" if found["max_age"] < 60 else "1",
        "PriorityDecayHalfLife": f"{found['half_life'] // 3600:02}:"
        f"{found['half_life'] // 60 % 60:02}:{found['half_life'] % 60:02}",
        "PriorityCalcPeriod": f"00:00:{found['period']:02}",
        "PriorityFlags": "" if found["fair_tree"] else "NO_FAIR_TREE",
    }
    shares, usage = st.integers(0, 3), st.sampled_from([0.0, 0.0, 7.0, 40.0])
    limits = {one.account + one.user: one.limits for one in site.associations}
    above = draw(st.sampled_from(["root", "a"]))
    tree = [Association(account="root")]
    for account, user, parent in [
        ("root", "9", ""),
        ("a", "", "root"),
        ("b", "", above),
        ("a", "0", ""),
        ("b", "0", ""),
        ("b", "1", ""),
    ]:
        tree.append(
            Association(
                account=account,
                user=user,
                parent=parent,
                shares=draw(shares),
                usage=draw(usage),
                priority=draw(st.integers(0, 2)),
                limits=limits.get(account + user, Association(account="").limits),
            )
        )
    return site.replace(
        config={key: str(value) for key, value in config.items()},
        associations=tuple(tree),
        qos=tuple(
            type(one)(name=one.name, limits=one.limits, priority=draw(st.integers(0, 3)))
            for one in site.qos
        ),
        partitions=tuple(
            type(one)(
                **{
                    **{name: getattr(one, name) for name in one.__dataclass_fields__},
                    "priority_factor": draw(st.integers(0, 2)),
                    "billing": draw(st.sampled_from([{}, {"cpus": 2.0, "gpu": 0.5}])),
                }
            )
            for one in site.partitions
        ),
    ), found


@pytest.mark.parametrize("policy", RULES)
def test_equals_the_reference(policy: str) -> None:
    """Weights, ticks, decay, charging, both formulas: the same starts on the same nodes."""
    text = f"{policy[:-1]}, order=multifactor)" if "(" in policy else f"{policy}(order=multifactor)"

    @given(workloads(), weighed(), st.lists(st.integers(-200, 400), min_size=10, max_size=10))
    @settings(max_examples=examples(25), deadline=None)
    def equal(workload, world, nice) -> None:
        site, weights = world
        asked = workload.requests
        users = enumerate(workload.user.tolist())
        assume(any(who == 0 or (who == 1 and not asked[row].account) for row, who in users))
        columns = {name: getattr(asked, name) for name in Requests.COLUMNS}
        columns["nice"] = nice[: len(workload)]
        each = [asked[row] for row in range(len(workload))]
        fresh = Requests.of_jobs(each, dependencies=asked.dependencies, **columns)
        rules = Rules(**RULES[policy], priority=weights)
        assert_same(workload.replace(requests=fresh), site, text, rules)

    equal()


def two_users(**config: str) -> tuple[Workload, Site]:
    """One user fills four CPUs for an hour; then both request all of them, the same user first."""
    jobs = Workload.build(submit=[0, 10, 20], run=[3600, 100, 100], procs=[4, 4, 4], user=[1, 1, 2])
    return jobs, Site(nodes=(Node(name="n", amounts=(4,)),), config=config)


def test_the_user_with_less_usage_goes_first() -> None:
    """Without associations every user of the log has an equal share."""
    jobs, site = two_users(PriorityWeightFairShare="1000")
    made = simulate(jobs, site, parse_policy("easy(order=multifactor)"))
    assert made.start.tolist() == [0, 3700, 3600]
    assert simulate(jobs, site, parse_policy("easy")).start.tolist() == [0, 3600, 3700]


def test_weights_may_be_given_by_hand_on_a_pool() -> None:
    """A pool has no configuration: weights come from the policy, users from the log."""
    jobs, _ = two_users()
    policy = parse_policy("fcfs(order=multifactor(fair_share=1000))")
    assert simulate(jobs, Cluster.pool(4), policy).start.tolist() == [0, 3700, 3600]


def test_usage_is_charged_at_ticks_alone() -> None:
    """A job shorter than a period is free unless AccountingStorageEnforce names limits.

    spec: slurm 5.5.
    """
    jobs = Workload.build(
        submit=[0, 1, 10, 20], run=[110, 190, 90, 90], procs=[4] * 4, user=[1, 3, 1, 2]
    )
    config = {"PriorityWeightFairShare": "9", "PriorityCalcPeriod": "2"}
    site = Site(nodes=(Node(name="n", amounts=(4,)),), config=config)
    policy = parse_policy("easy(order=multifactor)")
    assert simulate(jobs, site, policy).start.tolist() == [0, 110, 300, 390]
    limited = site.replace(enforce=frozenset(["limits"]))
    assert simulate(jobs, limited, policy).start.tolist() == [0, 110, 390, 300]


def test_usage_at_the_beginning_counts() -> None:
    """Usage that sshare reports for the accounts before the log begins."""
    jobs, site = two_users(PriorityWeightFairShare="1000")
    tree = (
        Association(account="root"),
        Association(account="x", parent="root"),
        Association(account="x", user="1"),
        Association(account="x", user="2", usage=1e9),
    )
    made = simulate(jobs, site.replace(associations=tree), parse_policy("easy(order=multifactor)"))
    assert made.start.tolist() == [0, 3600, 3700]
    assert made.counters["without_association"] == 0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("easy(order=multifactor)", "no PriorityWeight"),
        ("pv-easy(order=multifactor)", "order=fcfs"),
        ("easy(order=multifactor(period=0, age=1))", "at least a second"),
    ],
)
def test_what_has_no_meaning_is_refused(policy: str, message: str) -> None:
    """The error is one sentence: what is missing, and what to do."""
    jobs, site = two_users()
    with pytest.raises(PolicyError, match=message):
        simulate(jobs, site, parse_policy(policy))


def test_fair_share_needs_users() -> None:
    """No user can be charged if no job has a user."""
    jobs = Workload.build(submit=[0, 1], run=[9, 9], procs=[4, 4])
    with pytest.raises(PolicyError, match="fair_share=0"):
        simulate(jobs, Cluster.pool(4), parse_policy("easy(order=multifactor(fair_share=9))"))
    policy = parse_policy("easy(order=multifactor(fair_share=0, age=1000))")
    assert simulate(jobs, Cluster.pool(4), policy).start.tolist() == [0, 9]


def test_a_single_decision_has_no_history() -> None:
    """The live loop does not know usage, so the order is rejected there."""
    jobs, site = two_users(PriorityWeightFairShare="1000")
    policy = parse_policy("easy(order=multifactor)")
    with pytest.raises(PolicyError, match="whole run"):
        decide_site(policy, site, SiteJobs(now=5, jobs=jobs))
