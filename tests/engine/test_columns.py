"""Columns of the log in every slot: as the slow reference decides, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import as_cluster, as_workload, assert_same, worlds
from naive.shorthand import frame
from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.errors import PolicyError
from shadowtime.verify.world import Job
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(40), deadline=None)


def deadline(job):
    """A column of whole numbers that both sides can work out."""
    return job.submit + 3 * job.request + 7 * job.user


def risk(job):
    """A column of fractions."""
    return job.request / 3.0 + 0.25 * job.user


def with_columns(jobs: list[Job]) -> Workload:
    made = as_workload(jobs)
    by_id = {job.id: job for job in jobs}
    own = [by_id[number] for number in made.job_id.tolist()]
    return made.replace(
        extra={
            "deadline": np.array([deadline(job) for job in own], np.int64),
            "risk": np.array([risk(job) for job in own]),
            "never read": np.array(["x"] * len(own)),
        }
    )


@st.order
def earliest_deadline(now, job):
    return -job.deadline


@st.order
def slack_and_risk(now, job, weight=0.5):
    return now - job.deadline - weight * job.risk


@st.backfill_key
def riskiest(now, job):
    return job.risk


@st.backfill_test
def can_wait(now, job):
    return now + job.estimate <= job.deadline


@st.reserve
def urgent(now, job):
    return now + 2 * job.estimate > job.deadline


@st.plan
def by_deadline(now, job, user, start):
    return max(start, job.deadline - job.estimate)


@st.estimate
def risky(now, job):
    return job.risk * 2


SLOTS = {
    "order": (
        {"order": earliest_deadline},
        {"order": lambda now, job, user: -deadline(job)},
    ),
    "order with a fraction": (
        {"order": slack_and_risk},
        {"order": lambda now, job, user: now - deadline(job) - 0.5 * risk(job)},
    ),
    "key": ({"backfill": riskiest}, {"key": lambda now, job, user: risk(job)}),
    "test": (
        {"backfill": can_wait},
        {"test": lambda now, job, user: now + job.estimate <= deadline(job)},
    ),
    "reserve": (
        {"reserve": urgent},
        {"reserve": lambda now, job, user: now + 2 * job.estimate > deadline(job)},
    ),
    "plan": (
        {"reserve": by_deadline},
        {"plan": lambda now, job, user, start: max(start, deadline(job) - job.estimate)},
    ),
    "estimate": ({"estimate": risky}, {"predict": lambda now, job, user: risk(job) * 2}),
}


@pytest.mark.parametrize("slot", SLOTS)
@EXAMPLES
@given(world=worlds())
def test_each_slot(slot, world):
    """A column decides as a function of known fields with the same values does."""
    jobs, capacity = world
    parts, twin = SLOTS[slot]
    made = simulate(with_columns(jobs), as_cluster(capacity), st.easy(**parts))
    assert_same(made, frame(jobs, capacity, **twin))


LOG = Workload.build(
    submit=[0, 0, 0],
    run=[5, 5, 5],
    procs=[2, 2, 2],
    user=[1, 1, 1],
    demand={"power": [7, 9, 8]},
    extra={
        "deadline": np.array([30, 10, 20]),
        "class": np.array(["b", "a", "c"]),
        "io-rate": np.array([0.5, 2.5, 1.5]),
    },
)
POOL = Cluster.pool(2, power=100)
SITE = Site(nodes=(Node(name="a", amounts=(2,)),))


@st.order
def most_power(now, job):
    return job.power


@st.order
def most_io(now, job):
    return job.io_rate


def test_resources_and_names_that_are_no_words():
    """What a job takes of a further resource is a column; other signs become underscores."""
    assert simulate(LOG, POOL, st.easy(order=most_power)).start.tolist() == [10, 0, 5]
    assert simulate(LOG, POOL, st.easy(order=most_io)).start.tolist() == [10, 0, 5]


def test_on_a_site():
    """A site's passes hand out the same record."""
    assert simulate(LOG, SITE, st.easy(order=earliest_deadline)).start.tolist() == [10, 0, 5]


@st.select
def by_columns(now, jobs, free):
    for i in (jobs.deadline - jobs.io_rate).argsort():
        if st.earliest(free, jobs.need[i], jobs.estimate[i]) == now:
            st.occupy(free, jobs.need[i], now, now + jobs.estimate[i])
            jobs.start[i] = 1


def test_a_function_that_chooses_sees_them():
    """Compiled and in Python: whole numbers and fractions."""
    in_python = st.select(compiled=False)(by_columns.function)
    for part in (by_columns, in_python):
        assert simulate(LOG, POOL, st.easy(backfill=part)).start.tolist() == [10, 0, 5]


def test_a_session_sees_them():
    """An observation has every column of the log."""
    session = st.session(LOG, "pool:2,power=100")
    seen = session.observe()
    assert seen.jobs.deadline.tolist() == [30, 10, 20]
    assert seen.jobs.io_rate.tolist() == [0.5, 2.5, 1.5]


class EarliestFirst:
    """The same in Python."""

    name = "edf"

    def decide(self, snapshot):
        free = snapshot.free[0]
        for job in sorted(snapshot.waiting, key=lambda job: job.deadline):
            if job.procs <= free:
                free -= job.procs
                yield st.Start(job.id)


def test_a_policy_in_python_sees_them():
    """On a pool and on a site; an unknown column is an error that lists the known ones."""
    assert simulate(LOG, POOL, EarliestFirst()).start.tolist() == [10, 0, 5]
    assert simulate(LOG, SITE, EarliestFirst()).start.tolist() == [10, 0, 5]
    plain = LOG.replace(extra={"due": np.array([1, 2, 3])})
    with pytest.raises(PolicyError, match=r"has no attribute 'deadline'.*\bdue_\b"):
        simulate(plain, POOL, EarliestFirst())


@st.order
def misspelt(now, job):
    return job.deadlin


def helper(job):
    return job.deadline


@st.order
def through_a_helper(now, job):
    return -helper(job)


def test_an_unknown_column_is_refused_with_the_known_ones():
    """Before the run, with the line."""
    with pytest.raises(
        PolicyError, match=r"misspelt .*test_columns.py:\d+\) reads job.deadlin: .*deadline"
    ):
        simulate(LOG, POOL, st.easy(order=misspelt))
    with pytest.raises(PolicyError, match=r"reads job\.deadline: neither every job nor this log"):
        simulate(LOG.replace(extra={}), POOL, st.easy(order=earliest_deadline))


@st.backfill_test(
    columns={"safe": "user-quantile(quantile=0.9, least=1)", "half": "column(column=guess)"}
)
def safely_short(now, job):
    return job.safe <= 3 and job.half <= 3


@pytest.mark.parametrize("part", [earliest_deadline, by_columns, safely_short])
def test_a_live_loop_refuses_them(part):
    """Before its first pass: a real cluster has no log."""
    with pytest.raises(PolicyError, match=r"test_columns\.py:\d+\) needs the column \w+ of a log"):
        refuse(st.easy(**{part.slot: part}))


def test_a_helper_may_read_them():
    """A function that the slot's function calls."""
    assert simulate(LOG, POOL, st.easy(order=through_a_helper)).start.tolist() == [10, 0, 5]


def test_several_estimates_of_a_job():
    """Predictors fill columns before the run; the estimate itself stays what it is."""
    jobs = Workload.build(
        submit=[0, 20, 20, 21, 22],
        run=[2, 30, 30, 2, 2],
        request=[30, 30, 30, 20, 20],
        procs=[1, 3, 4, 1, 1],
        user=[1, 2, 2, 1, 3],
        extra={"guess": np.array([1, 1, 1, 2, 2])},
    )
    made = simulate(jobs, Cluster.pool(4), st.easy(backfill=safely_short))
    assert made.start.tolist() == [0, 20, 50, 21, 80]  # user 3 has no history: 20 s, as requested
    with pytest.raises(PolicyError, match="must give a name that can follow a dot"):
        st.order(columns={"a b": "nearest"})(lambda now, job: 0)
    with pytest.raises(PolicyError, match="predicts from a log"):
        st.order(columns={"a": "requested"})(lambda now, job: 0)
