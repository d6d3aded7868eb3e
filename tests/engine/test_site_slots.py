"""Functions of a user's own in every slot on a site decide as the slow reference does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine import test_slots as pool
from engine.site_worlds import assert_same, crowds, sites, workloads
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.engine.plan import refuse_functions_on_nodes
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import Run, SiteJobs
from shadowtime.errors import PolicyError
from shadowtime.verify import slots as slow
from shadowtime.verify.site import ALL, Rules
from shadowtime.verify.slots import Functions
from shadowtime.workload import Workload


def adaptive(now, job, user):
    return slow.expansion(now, job, user) > (user[1] / user[0] if user[0] else 2.0)


def add_slowdown(now, job, user):
    user[0] += 1
    user[1] += (now - job.submit) / max(1, job.ran)


def needy(threshold):
    return lambda now, job, user: slow.expansion(now, job, user) > threshold


CATALOGUE = {
    "priority-conservative": Rules(depth=-1, key="lxf", every_pass=True),
    "easy-saf": Rules(own=Functions(key=slow.saf)),
    "easy-saf(reserve=2, place=first-fit)": Rules(
        depth=2, place="first-fit", own=Functions(key=slow.saf)
    ),
    "relaxed": Rules(own=Functions(plan=slow.relax(0.5))),
    "relaxed(factor=2, order=lxf)": Rules(own=Functions(plan=slow.relax(2), order=slow.expansion)),
    "selective": Rules(depth=ALL, own=Functions(order=slow.expansion, reserve=needy(2))),
    "selective(threshold=1.3, order=fcfs)": Rules(depth=ALL, own=Functions(reserve=needy(1.3))),
    "selective-adaptive": Rules(
        depth=ALL,
        own=Functions(
            order=slow.expansion, reserve=adaptive, learn={"end": add_slowdown}, shared=True
        ),
    ),
}


def assert_equal(policy, rules, *, overruns=False):
    """On sites with every feature, and where many jobs wait for few plain nodes."""

    @given(workloads(overruns=overruns), sites())
    @settings(max_examples=examples(12), deadline=None)
    def on_any_site(workload, site):
        assert_same(workload, site, policy, rules)

    @given(crowds())
    @settings(max_examples=examples(25), deadline=None)
    def in_a_crowd(world):
        assert_same(*world, policy, rules)

    on_any_site()
    in_a_crowd()


@pytest.mark.parametrize("policy", CATALOGUE)
def test_catalogue(policy):
    """The papers' policies that are functions, with limits, outages, tiers and reservations."""
    assert_equal(policy, CATALOGUE[policy])


def as_rules(twin):
    """The reference's arguments for a pool, as rules of a site."""
    functions = {name: twin[name] for name in twin if name != "depth"}
    depth = ALL if "reserve" in twin else twin.get("depth", 1)
    return Rules(depth=depth, own=Functions(**functions))


@pytest.mark.parametrize("name", pool.OWN)
def test_each_slot(name):
    """Order, backfill key and test, reserve, plan, estimate, and what they learn."""
    parts, twin = pool.OWN[name]
    assert_equal(st.easy(**parts), as_rules(twin), overruns=True)


@st.victim
def youngest(now, job):
    """The last to start is stopped first."""
    return job.start


@st.victim(memory=2)
def busiest(now, job, user, weight=3.0):
    return user[0] - weight * job.ran * job.procs


@busiest.learn(on="start")
def count_start(now, job, user):
    user[0] += 1 + job.procs


STOPS = {
    "youngest": ({"preempt": youngest(prune=True)}, {"victim": lambda now, job, user: job.start}),
    "busiest": (
        {"preempt": busiest},
        {"victim": busiest.function, "learn": {"start": count_start}},
    ),
    "a prediction": (
        {"estimate": pool.mean_run},
        {"predict": pool.mean_run.function, "learn": {"end": pool.add_run}},
    ),
}


@pytest.mark.parametrize("name", STOPS)
def test_pv_easy(name):
    """A function chooses the jobs that a head stops, and another predicts run times."""
    parts, twin = STOPS[name]
    estimate = "requested" if "estimate" in parts else "last"
    rules = Rules(
        backfill="venture", estimate=estimate, prune=name == "youngest", own=Functions(**twin)
    )
    assert_equal(st.policy("pv-easy", **parts), rules)


SITE = Site(nodes=tuple(Node(name=name, amounts=(2,)) for name in "ab"))


@pytest.mark.parametrize("slot", pool.FAILURES)
def test_a_failure_names_slot_job_and_line(slot):
    """In every slot: the run ends with one sentence."""
    part, message = pool.FAILURES[slot]
    with pytest.raises(PolicyError, match=message):
        simulate(pool.JOBS, SITE, st.easy(**{part.slot: part}))


def test_a_failing_victim_function_is_named():
    """The error names the candidate job and the line."""

    @st.victim
    def bad(now, job):
        return 1 / (job.procs - 1)

    jobs = Workload.build(
        submit=[0, 1, 2], run=[9, 5, 40], procs=[3, 4, 1], request=[9, 9, 60], user=[1, 1, 1]
    )
    with pytest.raises(PolicyError, match=r"the victim function bad .* failed for job 3 at 9"):
        simulate(jobs, SITE, st.policy("pv-easy", preempt=bad))


def test_promises_for_good_report_nothing():
    """A function that learns is rejected where it would never be given an end."""

    @st.place(memory=1)
    def tidy(now, job, node, user):
        return node.number - user[0]

    @tidy.learn
    def _(now, job, user):
        user[0] += 1

    with pytest.raises(PolicyError, match="place=tidy cannot learn; remove its learn function"):
        simulate(pool.JOBS, SITE, st.policy("conservative", place=tidy))


@st.select
def none(now, jobs, free):
    """Starts no job."""


@st.place
def first(now, job, node):
    return -node.number


GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/your-own-policy.md"
SLOTS = {
    "order": st.easy(order=st.order(lambda now, job: job.wait)),
    "backfill key": st.easy(backfill=pool.widest),
    "backfill test": st.easy(backfill=pool.short),
    "reserve": st.easy(reserve=pool.every_other),
    "plan": st.easy(reserve=pool.late),
    "estimate": st.easy(estimate=st.estimate(lambda now, job: job.request)),
    "learn": st.easy(order=pool.fair),
    "victim": st.policy("pv-easy", preempt=youngest),
    "place": st.easy(place=first),
    "select": st.easy(backfill=none),
    "begin": st.easy(order=st.begin(lambda now, job: now)),
}


def where_it_runs(policy, shape):
    """The word in the guide's table: live, simulated or no."""
    try:
        policy.refuse_nonsense(shape)
        if shape == "nodes":
            refuse_functions_on_nodes(policy)
    except PolicyError:
        return "no"
    try:
        (refuse_on_site if shape == "site" else refuse)(policy)
    except PolicyError:
        return "simulated"
    return "live"


def test_the_guide_says_where_each_slot_runs():
    """Its table is what the engine accepts; on nodes that share bandwidth it accepts none."""
    rows = re.findall(r"^\| ([a-z ]+) \| (\w+) \| (\w+) \| (\w+) \|$", GUIDE.read_text(), re.M)
    found = {
        slot: tuple(where_it_runs(policy, shape) for shape in ("pool", "hosts", "site"))
        for slot, policy in SLOTS.items()
    }
    assert {slot: tuple(cells) for slot, *cells in rows if slot != "slot"} == found
    assert {where_it_runs(policy, "nodes") for policy in SLOTS.values()} == {"no"}


def test_live_the_first_promise_is_remembered():
    """A plan that reads the first promise gets the same one in every pass."""
    site = Site(nodes=(Node(name="a", amounts=(4,)),))
    jobs = Workload.build(submit=[0, 1, 2], run=[50, 50, 15], procs=[3, 4, 1], epoch=0)
    running = {0: Run(start=0, tasks={"a": 3})}
    policy = st.policy("relaxed", factor=0.5)
    seen = SiteJobs(now=40, jobs=jobs, running=running)
    assert decide_site(policy, site, seen).starts.keys() == {2}, "50 + (50 - 1) / 2 is far enough"
    early = SiteJobs(now=40, jobs=jobs, running=running, blocked={1: 1}, promised={1: 10})
    assert decide_site(policy, site, early).starts == {}, "10 + (10 - 1) / 2 is past"


def test_live_a_memory_is_refused():
    """A live pass on a site stores promises, not what functions learned."""
    with pytest.raises(PolicyError, match="keeps a memory, which a live loop does not"):
        refuse_on_site(st.policy("selective-adaptive"))
