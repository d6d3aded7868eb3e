"""Functions that select a set of jobs: ours equal the slow reference, users' are safe."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import assert_followed, simulated, worlds
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
from shadowtime.engine.live_pass.decide import decide
from shadowtime.errors import PolicyError

CATALOGUE = [
    "los",
    "los(depth=2)",
    "los(area=yes, order=lxf)",
    "priority-conservative",
    "priority-conservative(order=fcfs)",
    "priority-conservative(order=sjf)",
    "slack",
    "slack(factor=0)",
    "slack(factor=2.5, order=sjf)",
    "selective-adaptive",
]
EXAMPLES = settings(max_examples=examples(60), deadline=None)


@pytest.mark.parametrize("policy", CATALOGUE)
@EXAMPLES
@given(world=worlds(most=11))
def test_catalogue(policy, world):
    """LOS, slack-based, promises in an order, the adaptive threshold: on a pool of processors."""
    assert_followed(*world, policy)


def test_a_large_idle_machine_costs_no_more_than_its_jobs():
    """LOS weighs sets of waiting jobs: its tables are as long as these, not as the machine."""
    jobs = st.Workload.build(
        submit=[0, 1, 2, 3], run=[90, 50, 95, 40], procs=[500_000, 600_000, 3, 2]
    )
    started = simulate(jobs, Cluster.pool(1_000_000), st.policy("los"))
    assert started.start.tolist() == [0, 90, 2, 3]


@pytest.mark.parametrize("policy", CATALOGUE)
@EXAMPLES
@given(world=worlds(resources=2, overruns=True, most=11))
def test_two_resources_and_overruns(policy, world):
    """The same where memory counts and jobs outlive their request."""
    assert_followed(*world, policy)


JOBS = st.Workload.build(
    job_id=[11, 12, 13, 14, 15, 16],
    submit=[0, 1, 2, 3, 15, 16],
    run=[9, 5, 4, 2, 3, 4],
    procs=[3, 4, 1, 2, 4, 2],
    request=[9] * 6,
    user=[1, 2, 1, 2, 1, 2],
)
POOL = st.Cluster.pool(4)


def first_fit(now, jobs, free):
    for i in range(len(jobs.procs)):
        if st.earliest(free, jobs.need[i], jobs.estimate[i]) == now:
            st.occupy(free, jobs.need[i], now, now + jobs.estimate[i])
            jobs.start[i] = 1


def easy(now, jobs, free):
    """EASY, written with the primitives."""
    blocked = False
    for i in range(len(jobs.procs)):
        at = st.earliest(free, jobs.need[i], jobs.estimate[i])
        if at == now or not blocked:
            st.occupy(free, jobs.need[i], at, at + jobs.estimate[i])
        if at == now:
            jobs.start[i] = 1
        elif not blocked:
            blocked = True
            if jobs.blocked_at[i] < 0:
                jobs.promised[i] = at


@pytest.mark.parametrize("compiled", [True, False])
@EXAMPLES
@given(world=worlds(resources=2, overruns=True))
def test_a_function_that_writes_easy_down_is_easy(compiled, world):
    """In every column, compiled and in Python: reasons and blocked jobs are noted alike."""
    mine = st.easy(backfill=st.select(easy, compiled=compiled))
    ours, theirs = simulated(*world, mine), simulated(*world, "easy")
    for column in ("start", "reason", "blocked_at", "promised"):
        assert getattr(ours, column).tolist() == getattr(theirs, column).tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_the_queue_holds_what_the_log_knows(compiled):
    """Columns of facts, and the order of the policy."""
    jobs = st.Workload.build(
        submit=[0, 0], run=[5, 5], procs=[2, 2], demand={"gpus": [1, 3]}, request=[7, 8],
        user=[5, 6], group=[7, 7], queue=[1, 3], partition=[4, 4], executable=[2, 9],
    )  # fmt: skip

    def look(now, jobs, free):
        first = jobs.user[0] == 6 and jobs.gpus[0] == 3 and jobs.need[0, 1] == 3
        others = jobs.account[0] == 7 and jobs.qos[0] == 3 and jobs.executable[0] == 9
        if now == 0 and not (first and others and jobs.partition[0] == 4 and jobs.nodes[0] == -1):
            raise ValueError("not what was expected")
        jobs.start[0] = 1

    part = st.select(look, compiled=compiled)
    run = st.simulate(jobs, st.Cluster.pool(2, gpus=4), st.easy(backfill=part, order=last_user))
    assert run.schedule.start.tolist() == [5, 0]


@st.order
def last_user(now, job):
    return job.user


def test_a_plan_rings_the_pass_again():
    """A job planned for 30 starts then, although there is no event at that instant."""

    def at_thirty(now, jobs, free):
        for i in range(len(jobs.procs)):
            jobs.due[i] = 30
            jobs.start[i] = now >= 30

    one = st.Workload.build(submit=[0], run=[5], procs=[2])
    for compiled in (True, False):
        part = st.select(at_thirty, compiled=compiled)
        assert st.simulate(one, POOL, st.easy(backfill=part)).schedule.start.tolist() == [30]


def starts_all(now, jobs, free):
    jobs.start[:] = 1


def starts_nothing(now, jobs, free):
    pass


def divides(now, jobs, free):
    jobs.start[0] = now == 0
    if now > 0:
        jobs.due[0] = 90 // (len(jobs.procs) - 2)


def beyond(now, jobs, free):
    jobs.start[len(jobs.procs) + 1] = 1


FAILURES = {
    starts_all: r"starts_all .*test_select.py:\d+\) starts job 12 at 1, but it does not fit",
    starts_nothing: "never starts job 11: nothing is left to wait for",
    divides: r"divides .*test_select.py:\d+\) failed at 2 with 2 jobs .*: ZeroDivisionError",
    beyond: r"beyond .*test_select.py:\d+\) failed at 0 with 1 jobs .*: IndexError",
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("function", FAILURES)
def test_a_mistake_ends_the_run_with_a_sentence(function, compiled):
    """The error has function, line, time and reason; an index out of range writes nothing."""
    mine = st.easy(backfill=st.select(function, compiled=compiled))
    with pytest.raises(PolicyError, match=FAILURES[function]):
        simulate(JOBS, POOL, mine)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: st.select(lambda now, jobs: 0), r"write function\(now, jobs, free\)"),
        (lambda: st.select(lambda now, jobs, free, x="y": 0), "a parameter must be"),
        (lambda: simulate(JOBS, POOL, st.policy("los(reserve=4)")), "omit it"),
        (lambda: simulate(JOBS, POOL, st.policy("los(depth=63)")), "between 1 and 62"),
        (lambda: simulate(JOBS, HOSTS, st.policy("los")), "amounts of a whole pool"),
        (
            lambda: simulate(JOBS, POOL, st.easy(backfill=st.select(uncompilable))),
            "the select function uncompilable .* cannot be compiled",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make, message):
    """Rejected where it is defined, or before it runs."""
    with pytest.raises(PolicyError, match=message):
        make()


def uncompilable(now, jobs, free):
    return open(jobs.procs)


HOSTS = Cluster(shape="hosts", hosts=(Host("a", (4,)), Host("b", (4,))))


@pytest.mark.parametrize("name", ["los", "slack", "priority-conservative"])
def test_the_claims_are_proved(name):
    """The catalogue's functions make promises, and check verifies them."""
    run = st.simulate(JOBS, POOL, name)
    assert "promises-kept" in run.schedule.claims
    assert run.check().ok


def test_a_live_pass_remembers_its_plans():
    """What was planned in one pass is known in the next, and triggers it."""
    one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    runs = RunningJob(id="1", submit=0, need=(4,), request=9, start=0)
    wide = WaitingJob(id="2", submit=1, need=(4,), request=50)
    policy = st.policy("priority-conservative")
    state = Snapshot(now=2, cluster=one, running=(runs,), waiting=(wide,))
    made = decide(policy, state)
    assert made.decisions == () and made.wake == 9 and made.promises == {"2": 9}
    assert made.memory.jobs["2"].due == 9
    late = WaitingJob(id="3", submit=3, need=(1,), request=90)
    state = Snapshot(now=4, cluster=one, running=(runs,), waiting=(wide, late))
    again = decide(policy, state, made.memory)
    assert again.promises == {"2": 9, "3": 59}


def test_a_second_process_compiles_nothing(tmp_path):
    """The function is found again by its digest, the pass by its sources."""
    code = (
        "import shadowtime as st, sys\n"
        "jobs = st.Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])\n"
        "print(st.simulate(jobs, 'pool:4', 'los').schedule.start.tolist())\n"
        "from shadowtime.engine.selecting import compile_select, use_of\n"
        "made = compile_select(use_of(st.policy('los').backfill)).compiled\n"
        "print(made.cache_hits)\n"
    )
    bare = os.environ | {"SHADOWTIME_PREBUILT": "no"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=bare)
    assert done.stdout.split("\n")[0] == "[0, 9, 2]", done.stderr
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=bare)
    assert again.stdout.split("\n")[1] == "1", again.stderr
