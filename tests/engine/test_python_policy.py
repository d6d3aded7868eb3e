"""A policy written in Python gives the same schedule as its compiled twin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conftest import examples
from engine.worlds import as_cluster, as_workload, worlds
from python_policies import PythonEasy
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.policy.estimate import Last
from shadowtime.policy.order import Custom
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Resize, Start, Stop, Suspend
from shadowtime.testing import CHECKS
from shadowtime.workload import Workload

COLUMNS = ("start", "end", "reason", "promised", "blocked_at")


@settings(max_examples=examples(60), deadline=None)
@given(world=worlds())
def test_python_easy_equals_easy(world):
    """Slower, same results, in every column."""
    workload, cluster = as_workload(world[0]), as_cluster(world[1])
    ours = simulate(workload, cluster, PythonEasy())
    theirs = simulate(workload, cluster, parse_policy("easy"))
    for column in COLUMNS:
        assert getattr(ours, column).tolist() == getattr(theirs, column).tolist(), column


@settings(max_examples=examples(60), deadline=None)
@given(world=worlds())
def test_compiled_order_equals_built_in(world):
    """A user's priority function, compiled into the engine, equals the built-in order."""
    workload, cluster = as_workload(world[0]), as_cluster(world[1])
    ours = simulate(workload, cluster, CUSTOM_LXF)
    theirs = simulate(workload, cluster, parse_policy("lxf"))
    assert ours.start.tolist() == theirs.start.tolist()


def expansion(wait, estimate, procs):
    return (wait + estimate) / estimate


CUSTOM_LXF = Policy(name="mine", order=Custom(expansion))


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_python_policy_conforms(check):
    """The shipped conformance checks work for a user's own policy."""
    check(PythonEasy)


class Wrong:
    """Returns the decisions passed to its constructor."""

    def __init__(self, *decisions):
        self.decisions = decisions

    def decide(self, view):
        return self.decisions


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Wrong(Start(9)), "no job"),
        (Wrong(Start(2)), "does not fit"),
        (Wrong(Stop(1)), "does not run"),
        (Wrong("start"), "no job"),
        (Wrong(), "never starts"),
        (Wrong(Suspend(1)), r"changes the running job 1, .* @st.resize\(compiled=False\)"),
        (Wrong(Resize(1, 2)), r"changes the running job 1"),
    ],
)
def test_wrong_decisions_are_refused(policy, message):
    """The error is one sentence: which policy, when, which job."""
    jobs = Workload.build(submit=[0, 0], run=[5, 5], procs=[3, 4])
    with pytest.raises(PolicyError, match=message):
        simulate(jobs, Cluster.pool(4), Wrong(Start(1), Start(2)) if "fit" in message else policy)


def test_conformance_catches_a_prophet():
    """A policy that knows the future fails the check made for it."""

    class Prophet:
        name = "prophet"

        def decide(self, view):
            free = view.free[0]
            for job in sorted(view.waiting, key=lambda j: TRUTH.get(j.id, 0)):
                if job.procs <= free:
                    free -= job.procs
                    yield Start(job.id)

    class Cheating(dict):
        pass

    TRUTH = Cheating()
    import shadowtime.testing as conformance

    original = conformance.simulate

    def leaking(workload, cluster, policy):
        TRUTH.clear()
        TRUTH.update(zip(workload.job_id.tolist(), workload.run.tolist(), strict=True))
        return original(workload, cluster, policy)

    conformance.simulate = leaking
    try:
        with pytest.raises(AssertionError, match="not yet known"):
            conformance.future_is_unknown(Prophet)
    finally:
        conformance.simulate = original


class Broken:
    """A policy with a bug of its own."""

    def decide(self, view):
        raise KeyError("oops")


def test_a_bug_in_a_policy_is_reported_as_its_own():
    """Reported neither as a traceback nor as an internal error."""
    jobs = Workload.build(submit=[7], run=[5], procs=[3])
    with pytest.raises(PolicyError, match=r"Broken.decide failed at 7: KeyError: 'oops'"):
        simulate(jobs, Cluster.pool(4), Broken())


def test_a_class_in_a_file_is_made_into_an_object(tmp_path):
    """my.py:Name may be a class with decide as well as an object."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from shadowtime.policy.view import Start\n"
        "class Mine:\n"
        "    def decide(self, view):\n"
        "        return [Start(job.id) for job in view.waiting]\n"
    )
    policy = parse_policy(f"{file}:Mine")
    jobs = Workload.build(submit=[7], run=[5], procs=[3])
    assert simulate(jobs, Cluster.pool(4), policy).start.tolist() == [7]


def test_the_front_door_has_the_vocabulary_of_a_pass():
    """A policy file needs one import; names that older files import are the same objects."""
    import shadowtime as st
    from shadowtime.policy import view

    assert st.Start is Start and view.Start is Start and st.Promise is view.Promise
    jobs = Workload.build(submit=[7], run=[5], procs=[3])
    eager = type("Eager", (), {"decide": lambda self, seen: [st.Start(seen.waiting[0].id)]
                               if seen.waiting else [st.Wait(0, "nothing waits")][:0]})  # fmt: skip
    assert simulate(jobs, Cluster.pool(4), eager()).start.tolist() == [7]


def test_jobs_that_did_not_change_are_the_same_objects():
    """A pass builds only jobs that are new or changed, such as by a learned estimate."""
    jobs = Workload.build(
        submit=[0, 1, 2, 3], run=[9, 9, 9, 9], request=[90] * 4, procs=[4] * 4, user=[1] * 4
    )
    seen = []

    class Watch:
        estimate = Last()

        def decide(self, snapshot):
            seen.append({job.id: job for job in snapshot.waiting})
            return [Start(job.id, optional=True) for job in snapshot.waiting[:1]]

    simulate(jobs, Cluster.pool(4), Watch())
    assert seen[2][2] is seen[3][2]
    assert (seen[3][4].estimate, seen[4][4].estimate) == (90, 9)
