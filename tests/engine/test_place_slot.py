"""Placement scored by a user's function equals the slow reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.site_worlds import assert_same, sites, workloads
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import Run, SiteJobs
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.verify.site import Rules
from shadowtime.workload import Workload


def tidy(now, job, node, spread=0.5):
    """Reads every field: a mistake in one of them moves jobs."""
    free = node.free_cpus / node.cpus + 0.3 * node.free_memory / node.memory
    idle = node.free_gpus - 2 * node.gpus
    drift = ((now + job.wait + 3 * job.submit + job.estimate + job.request) % 3) * node.number
    return spread * free - idle + drift + node.weight - 0.1 * node.room + (node.start - now) % 2


part = st.place(tidy)

POLICIES = {
    "easy": (st.easy(place=part), Rules(place="score", score=tidy)),
    "two reservations": (
        st.easy(place=part, reserve=2, backfill="shortest-first"),
        Rules(place="score", score=tidy, depth=2, backfill="sjbf"),
    ),
    "conservative": (
        st.policy("conservative", place=part),
        Rules(place="score", score=tidy, depth=-1),
    ),
    "pv-easy": (
        st.policy("pv-easy", place=part),
        Rules(place="score", score=tidy, backfill="venture", estimate="last"),
    ),
}


@pytest.mark.parametrize("name", POLICIES)
def test_equals_the_reference(name):
    """Every job on every node, with outages, reservations, limits and tiers."""
    policy, rules = POLICIES[name]

    @given(workloads(), sites())
    @settings(max_examples=examples(25), deadline=None)
    def equal(workload, site):
        assert_same(workload, site, policy, rules)

    equal()


@given(workloads(plain=True, most=14), sites(plain=True))
@settings(max_examples=examples(40), deadline=None)
def test_plans_follow_the_clock(workload, site):
    """Built-in rules keep the head's plan between passes; a user's score is evaluated again."""
    assert_same(workload, site, *POLICIES["easy"])


SITE = Site(nodes=tuple(Node(name=name, amounts=(4,)) for name in "abc"))
JOBS = Workload.build(submit=[0, 1, 2, 3], run=[9, 9, 9, 9], procs=[1, 1, 1, 2])


@st.place
def emptiest(now, job, node):
    return node.free_cpus


def test_live_as_simulated():
    """A single decision on a snapshot puts the job where the simulation does."""
    policy = st.easy(place=emptiest)
    made = simulate(JOBS, SITE, policy)
    assert list(made.place) == ["a:1", "b:1", "c:1", "a:2"]
    running = {row: Run(start=row, tasks={"abc"[row]: 1}) for row in range(2)}
    seen = SiteJobs(now=2, jobs=JOBS.take([0, 1, 2]), running=running)
    assert decide_site(policy, SITE, seen).starts == {2: Run(start=2, tasks={"c": 1})}


@st.place
def broken(now, job, node):
    return 1 / (node.number - 1) if now > 1 else 0.0


@st.place
def no_number(now, job, node, high=2):
    return (node.free_cpus - node.free_cpus * 1.0) / 0.0 if job.submit >= high else 0.0


@pytest.mark.parametrize(
    ("part", "base", "message"),
    [
        (
            broken,
            "easy",
            r"place function broken .*test_place_slot.py:\d+\) failed for job 3 at 2 ",
        ),
        (broken, "conservative", r"failed for job 3 at 2 .*node.number=1.*division by zero"),
        (no_number, "easy", "failed for job 3 at 2 .*"),
        (broken, "pv-easy", "failed for job 3 at 2 .*division by zero"),
    ],
)
def test_a_failure_names_job_node_and_line(part, base, message):
    """An exception or nan ends the run at once, with the instant at which it happened."""
    with pytest.raises(PolicyError, match=message):
        simulate(JOBS, SITE, st.policy(base, place=part))


def test_signature_is_checked():
    """A function can only request arguments that the slot provides."""
    with pytest.raises(PolicyError, match=r"write function\(now, job, node, user\)"):

        @st.place
        def wrong(now, job, host):
            return 0.0


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("pool", "but a pool has none to choose from; use a site"),
        ("hosts", "but a host has none to choose from; use a site"),
        ("nodes", "not defined on nodes that share bandwidth"),
    ],
)
def test_refused_without_nodes(shape, message):
    """Where there is nothing to choose, the function is rejected instead of ignored."""
    with pytest.raises(PolicyError, match=message):
        st.easy(place=emptiest).refuse_nonsense(shape)
    if shape == "pool":
        with pytest.raises(PolicyError, match=message):
            simulate(JOBS, Cluster.pool(4), st.easy(place=emptiest))


def test_with_a_priority_from_outside():
    """Usage-based orders compute their keys outside the pass: rejected, with what to do."""
    with pytest.raises(PolicyError, match="does not go with a function of your own in place"):
        st.policy("easy", order="multifactor", place=emptiest).refuse_nonsense("site")


def test_from_a_file(tmp_path):
    """As any other part: on the command line by file and name, with its parameters."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import shadowtime as st\n\n@st.place\ndef last(now, job, node, sign=1):\n"
        "    return sign * node.number\n"
    )
    assert simulate(JOBS, SITE, parse_policy(f"{file}:last")).place[0] == "c:1"
    assert simulate(JOBS, SITE, parse_policy(f"{file}:last(sign=-1)")).place[0] == "a:1"
