"""Victims in the order of a user's function, as in the slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies

import shadowtime as st
from conftest import examples
from engine.worlds import as_cluster, as_workload, assert_same, simulated, worlds
from naive import shorthand as naive
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
from shadowtime.engine.live_pass.decide import decide
from shadowtime.engine.rules import rules_of
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.policy.snapshot import Stop
from shadowtime.schedule.check import check
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(60), deadline=None)


@st.victim
def youngest(now, job):
    """The last to start is stopped first."""
    return job.start


@st.victim
def least_done(now, job, weight=1.0):
    return -weight * job.ran * job.procs


CASES = {
    "youngest": (youngest, {"first": lambda run, now: run.start}),
    "youngest, pruned and suspended": (
        youngest(prune=True, mode="suspend", overhead=2),
        {"first": lambda run, now: run.start, "prune": True, "every": 1, "restart": 2},
    ),
    "least done": (
        least_done(weight=2),
        {"first": lambda run, now: -2.0 * (now - run.start) * run.job.need[0]},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("resources", [1, 2])
@EXAMPLES
@given(data=strategies.data())
def test_equals_the_reference(name, resources, data):
    """Every column and attempt; and every schedule is proved, strict fairness included."""
    part, twin = CASES[name]
    jobs, capacity = data.draw(worlds(resources=resources))
    policy = st.policy("pv-easy", preempt=part)
    schedule = simulated(jobs, capacity, policy)
    assert_same(schedule, naive.pv_easy_world(jobs, capacity, **twin).result())
    workload, cluster = as_workload(jobs), as_cluster(capacity)
    report = check(schedule, workload, cluster, rules=rules_of(policy, workload, cluster))
    assert report.ok and "strictly-fair" in schedule.claims, report.first_violation


def test_a_memory_distinguishes_them():
    """Jobs of users with finished jobs are stopped first; by rank the latest would be."""

    @st.victim(memory=1)
    def rich(now, job, user):
        return user[0]

    @rich.learn
    def _(now, job, user):
        user[0] += job.ran

    jobs = Workload.build(
        submit=[0, 10, 11, 12, 13], run=[5, 50, 40, 90, 90], procs=[1, 2, 3, 1, 1],
        request=[5, 50, 40, 90, 90], user=[1, 3, 3, 1, 2],
    )  # fmt: skip
    chosen = simulate(jobs, Cluster.pool(4), st.policy("pv-easy", preempt=rich))
    by_rank = simulate(jobs, Cluster.pool(4), parse_policy("pv-easy"))
    assert chosen.attempts.job_id[np.argmin(chosen.attempts.end)] == 4
    assert chosen.kills.tolist() == [0, 0, 0, 1, 1], "then job 5 has to go for job 4"
    assert by_rank.kills.tolist() == [0, 0, 0, 0, 1]


def test_a_failing_function_is_named():
    """The job and the line, as for every other slot."""

    @st.victim
    def bad(now, job):
        return 1 / (job.procs - 1)

    jobs = Workload.build(
        submit=[0, 1, 2], run=[9, 5, 40], procs=[3, 4, 1], request=[9, 9, 60], user=[1, 1, 1]
    )
    with pytest.raises(PolicyError, match=r"the victim function bad .* failed for job 3 at 9"):
        simulate(jobs, Cluster.pool(4), st.policy("pv-easy", preempt=bad))


def stops(made):
    return [one.job for one in made.decisions if isinstance(one, Stop)]


def test_live():
    """A pass on a snapshot stops the youngest too; a mode that keeps work is refused there."""
    state = Snapshot(
        now=100,
        cluster=Cluster.pool(4),
        running=(
            RunningJob(id="8", submit=49, need=(3,), request=500, start=60, user="u"),
            RunningJob(id="7", submit=50, need=(1,), request=500, start=52, user="u"),
        ),
        waiting=(WaitingJob(id="3", submit=5, need=(2,), request=50, user="u"),),
    )
    policy = st.policy("pv-easy", preempt=youngest)
    made = decide(policy, state, Memory())
    assert stops(made) == ["8"]
    assert stops(decide(parse_policy("pv-easy"), state, Memory())) == ["7", "8"], "by rank"
    with pytest.raises(
        PolicyError,
        match="live, a suspended job keeps its memory",
    ):
        decide(st.policy("pv-easy", preempt=youngest(mode="suspend")), state, Memory())


def test_parameters_are_checked():
    """Modes are checked by name; hosts are rejected."""
    assert str(youngest(mode="checkpoint", every=60)) == "youngest(mode=checkpoint, every=60)"
    with pytest.raises(PolicyError, match="mode must be one of kill, suspend, checkpoint"):
        youngest(mode="freeze")
    with pytest.raises(PolicyError, match="preempt=victims is defined on a pool only"):
        st.policy("pv-easy", preempt=youngest).refuse_nonsense("hosts")
