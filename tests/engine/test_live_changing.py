"""A live pass of a policy that changes sizes decides as the simulation does at that instant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shadowtime as st
from python_policies import make_room, stand_aside
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import (
    Continue,
    Memory,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
    decide,
)
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.errors import PolicyError
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.guard import guard
from shadowtime.live.port import WaitingJob
from shadowtime.policy import Policy

NODES, PER_NODE = 8, 4
MACHINE = Cluster(
    shape="nodes", hosts=tuple(Host(f"n{k}", (PER_NODE,)) for k in range(1, NODES + 1))
)


@st.resize
def grow(now, jobs, free):  # type: ignore[no-untyped-def]
    """Beyond what any job may have."""
    for i in range(len(jobs.held)):
        jobs.size[i] = jobs.most[i] + 1


def worlds(seed: int) -> st.Workload:
    """Random jobs whose time does not depend on their sizes, as Slurm has it."""
    rng = np.random.default_rng(seed)
    n = 25
    least = rng.choice([1, 2, 3, 8], n, p=[0.4, 0.3, 0.2, 0.1])
    most = np.minimum(NODES, least + rng.integers(0, 6, n))
    return st.Workload.build(
        submit=(10 * np.arange(n)).tolist(),
        run=rng.integers(5, 90, n).tolist(),
        procs=most.tolist(),
        request=[100] * n,
        extra={"min_procs": least, "max_procs": most, "speedup": np.zeros(n, np.int64)},
        names={"speedup": ("1:1",)},
    )


def state_of(now: int, jobs: st.Workload, seen: list[tuple[int, int, int]]) -> Snapshot:
    """The jobs that a simulated pass saw, as a port would show them."""
    waiting, running, used = [], [], 0
    for submit, held, _ in seen:
        at = jobs.submit.tolist().index(submit)
        least, most = int(jobs.extra["min_procs"][at]), int(jobs.extra["max_procs"][at])
        known: dict[str, Any] = {"id": str(submit), "submit": submit, "request": 100}
        known |= {"sizes": (least, most), "alone": True}
        if held:
            place = tuple((f"n{k}", PER_NODE) for k in range(used + 1, used + held + 1))
            used += held
            need = (held * PER_NODE,)
            running.append(RunningJob(**known, need=need, start=submit, place=place))
        else:
            waiting.append(WaitingJob(**known, need=(least * PER_NODE,), nodes=least))
    return Snapshot(now=now, cluster=MACHINE, waiting=tuple(waiting), running=tuple(running))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_decisions_at_every_instant(seed: int) -> None:
    """Sizes, stops and starts in nodes, from the simulation's own function and pass."""
    passes: list[tuple[int, list[tuple[int, int, int]]]] = []

    @st.resize(compiled=False)
    def noted(now, jobs, free):  # type: ignore[no-untyped-def]
        held = jobs.held.tolist()
        make_room(now, jobs, free)
        found = zip(jobs.submit.tolist(), held, jobs.size.tolist(), strict=True)
        passes.append((int(now), list(found)))

    workload, policy = worlds(seed), st.easy(backfill=noted)
    st.simulate(workload, st.Cluster.pool(NODES), policy)
    simulated, kinds = list(passes), set()
    for now, seen in simulated:
        wanted = {str(job): size for job, held, size in seen if size != held}
        made = decide_with_hosts(policy, state_of(now, workload, seen), Memory())
        found = {}
        for one in made.decisions:
            kinds.add(type(one))
            found[one.job] = 0 if isinstance(one, Stop) else one.procs // PER_NODE
            assert isinstance(one, Stop) or len(one.place) == found[one.job]
        assert found == wanted, f"at {now}"
    assert kinds == {Start, Stop, Resize}


def policy_of(function: Any) -> Policy:
    made: Policy = st.easy(backfill=function)
    return made


SHARED = RunningJob(
    id="1", submit=0, need=(16,), request=60, start=3, alone=True, sizes=(2, 4),
    place=tuple((f"n{k}", PER_NODE) for k in range(1, 5)),
)  # fmt: skip
OTHER = RunningJob(
    id="2", submit=0, need=(16,), request=60, start=3, ours=False,
    place=tuple((f"n{k}", PER_NODE) for k in range(5, 9)),
)  # fmt: skip
NEXT = WaitingJob(id="3", submit=5, need=(8,), request=60, nodes=2, alone=True, sizes=(2, 2))
STATE = Snapshot(now=9, cluster=MACHINE, waiting=(NEXT,), running=(SHARED, OTHER))


def test_jobs_of_others_are_left_alone() -> None:
    """Only the loop's job gives nodes up, the last ones; a rigid one and others keep theirs."""
    policy = policy_of(st.resize(make_room))
    made = decide_with_hosts(policy, STATE, Memory()).decisions
    first, second = (("n1", 4), ("n2", 4)), (("n3", 4), ("n4", 4))
    assert made == (Resize("1", 8, first), Start("3", procs=8, place=second))
    for changes in ({"sizes": (0, 0)}, {"ours": False}, {"settled": False}):
        state = STATE.replace(running=(replace(SHARED, **changes), OTHER))
        assert decide_with_hosts(policy, state, Memory()).decisions == ()


def test_growing_is_an_error_that_names_the_job() -> None:
    """No job may grow: its largest size is what it has."""
    with pytest.raises(PolicyError, match="gives job 1 at 9 5 processors, and it may have 2 to 4"):
        decide(policy_of(grow), STATE)


def test_the_guard_looks_again() -> None:
    """A job is shrunk if it still holds the same nodes, may shrink, and others gain by it."""
    made = decide_with_hosts(policy_of(st.resize(make_room)), STATE, Memory()).decisions
    assert guard(made, STATE, STATE).allowed == made
    for changes, why in (
        ({"place": SHARED.place[:3]}, "it holds other nodes than when this was decided"),
        ({"sizes": (3, 4)}, "it may go on with 3 to 4 nodes"),
        ({"settled": False}, "it is about to start, or stopping already"),
    ):
        fresh = STATE.replace(running=(replace(SHARED, **changes), OTHER))
        found = guard(made, STATE, fresh)
        assert found.allowed == () and found.refused[0].why == why
    gone = guard(made, STATE, STATE.replace(waiting=()))
    assert gone.allowed == (), "no job shrinks for one that has left"


LONG = replace(SHARED, request=6000, sizes=(4, 4), alone=False)
SHORT = replace(NEXT, need=(24,), nodes=6, sizes=(6, 6))
HALT = policy_of(st.resize(stand_aside))


def test_a_job_is_suspended_and_continues_where_it_was() -> None:
    """Its nodes are free for another; it goes on there, and nowhere else, once they are again."""
    state = STATE.replace(running=(LONG,), waiting=(SHORT,))
    made = decide_with_hosts(HALT, state, Memory()).decisions
    six = tuple((f"n{k}", PER_NODE) for k in range(1, 7))
    assert made == (Suspend("1"), Start("3", procs=24, place=six))
    assert guard(made, state, state).allowed == made
    assert guard(made, state, state.replace(waiting=())).allowed == ()

    stands = replace(LONG, suspended=True)
    runs = RunningJob(
        id="3", submit=5, need=(16,), request=60, start=9, alone=True, place=six[2:], settled=True
    )
    above = state.replace(running=(stands, runs), waiting=())
    assert decide_with_hosts(HALT, above, Memory()).decisions == ()  # four are free, not its own
    after = above.replace(running=(stands,))
    made = decide_with_hosts(HALT, after, Memory()).decisions
    assert made == (Continue("1", LONG.place),)
    assert guard(made, after, after).allowed == made
    for changes, why in (
        ({"suspended": False}, "it is not suspended by the loop"),
        ({"ours": False}, "it is not suspended by the loop"),
        ({"place": LONG.place[:3]}, "it holds other nodes than when this was decided"),
    ):
        fresh = after.replace(running=(replace(stands, **changes),))
        assert guard(made, after, fresh).refused[0].why == why
    assert guard(made, after, above).refused[0].why == "n3 no longer has room for it"
    for again in (Suspend("1"), Resize("1", procs=4, place=LONG.place[:1])):
        (refused,) = guard((again,), after, after).refused
        assert refused.why == "it is suspended: it has to continue first"
    assert guard((Stop("1"),), after, after).allowed == (Stop("1"),)  # size 0: it waits again


def test_exclusive_jobs_do_not_start_above_suspended_exclusive_ones() -> None:
    """As Slurm has it: nothing is suspended for one that would wait all the same."""
    whole = replace(LONG, alone=True)
    state = STATE.replace(running=(whole,), waiting=(SHORT,))
    assert decide_with_hosts(HALT, state, Memory()).decisions == ()
    shares = replace(SHORT, alone=False)
    made = decide_with_hosts(HALT, state.replace(waiting=(shares,)), Memory()).decisions
    assert [type(one) for one in made] == [Suspend, Start]


def test_what_is_left_of_a_suspended_job() -> None:
    """The time that it stands still does not count: a port adds it to its request."""
    left: list[int] = []

    @st.resize(compiled=False)
    def noted(now: int, jobs: Any, free: Any) -> None:
        left.extend(jobs.left.tolist())

    for run in (LONG, replace(LONG, suspended=True, request=LONG.request + 50)):
        decide(policy_of(noted), STATE.replace(now=103, running=(run,), waiting=()))
    assert left == [6000 - 100, 6000 - 50]


def test_what_no_scheduler_does_is_refused() -> None:
    """Speeds anywhere, sizes where jobs are not shrunk, nodes that differ."""
    slow = st.resize(speeds={1000: 1.0, 500: 0.4})(make_room)
    with pytest.raises(PolicyError, match="no scheduler sets the clock of a job"):
        refuse(policy_of(slow), resizes=True)
    with pytest.raises(PolicyError, match="one partition of equal nodes of Slurm"):
        refuse(policy_of(grow))
    refuse(policy_of(grow), resizes=True)
    uneven = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (8,))))
    with pytest.raises(PolicyError, match="these have 4 to 8 processors"):
        decide(policy_of(grow), STATE.replace(cluster=uneven, running=()))
