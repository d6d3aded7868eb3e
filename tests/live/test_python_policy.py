"""A policy written in Python on a live cluster decides as it does in a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import examples
from live.test_alike import FOUR, as_hosts
from live.test_alike_site import follow as follow_on_site
from live.test_alike_site import worlds
from python_policies import PythonEasy, PythonGreedy
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob, decide
from shadowtime.errors import PolicyError
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.replay import LogPort, follow
from shadowtime.live.status import predict
from shadowtime.policy import parse_policy
from shadowtime.policy.estimate import Actual, LastTwo
from shadowtime.policy.snapshot import Promise, Start, Stop, Wake
from shadowtime.testing import small_worlds
from shadowtime.workload import Workload
from shadowtime.workload.request import Request


@pytest.mark.parametrize("estimate", [None, LastTwo()], ids=["requested", "last-two"])
def test_a_log_through_the_loop_gives_the_simulated_schedule(estimate: Any) -> None:
    """EASY in Python, live: the starts of its own simulation and of the compiled EASY."""
    policy = PythonEasy()
    compiled = parse_policy("easy")
    if estimate is not None:
        policy.estimate = estimate  # type: ignore[attr-defined]
        compiled = compiled.replace(estimate=estimate)
    for _, workload, cluster in list(small_worlds())[:6]:
        if len(cluster.resources) > 1:
            continue
        port = follow(LogPort(workload=workload, cluster=as_hosts(cluster)), policy)
        starts = [port.started[str(job)] for job in workload.job_id]
        assert starts == simulate(workload, cluster, policy).start.tolist()
        assert starts == simulate(workload, cluster, compiled).start.tolist()


def test_hosts_that_hold_whole_jobs() -> None:
    """Greedy on hosts: the same starts on the same hosts as its own simulation."""
    hosts = Cluster(shape="hosts", hosts=tuple(Host(f"h{k}", (8,)) for k in range(4)))
    draw = np.random.default_rng(1)
    jobs = Workload.build(
        submit=np.sort(draw.integers(0, 60, 40)),
        run=draw.integers(1, 40, 40),
        procs=draw.integers(1, 9, 40),
        request=draw.integers(20, 60, 40),
    )
    port = follow(LogPort(workload=jobs, cluster=as_hosts(hosts)), PythonGreedy(), shape="hosts")
    wanted = simulate(jobs, hosts, PythonGreedy())
    assert [port.started[str(job)] for job in jobs.job_id] == wanted.start.tolist()


@given(world=worlds())
@settings(max_examples=examples(12), deadline=None)
def test_passes_on_a_site_make_the_simulated_schedule(world: Any) -> None:
    """Nodes, partitions and limits of a site: the starts of the simulation, job by job."""
    work, site = world
    made = simulate(work, site, PythonGreedy())
    live = follow_on_site(work, site, PythonGreedy())
    assert {row: start for row, (start, _) in live.items()} == {
        row: int(made.start[row]) for row in range(len(work)) if made.start[row] >= 0
    }


def at_work(**more: Any) -> Snapshot:
    """One job runs on four processors, one waits for all of them, one for one."""
    run = RunningJob(id="1_7", submit=0, need=(3,), request=90, start=0, user="ann", **more)
    waiting = (
        WaitingJob(id="2", submit=1, need=(4,), request=50, user="bob"),
        WaitingJob(id="3", submit=2, need=(1,), request=40, user="ann"),
        WaitingJob(id="4", submit=3, need=(9,), request=40, user="ann"),
    )
    return Snapshot(now=5, cluster=FOUR, waiting=waiting, running=(run,))


class Asked:
    """Returns the given decisions, and keeps the snapshots it saw."""

    def __init__(self, *decisions: object) -> None:
        self.decisions, self.seen = decisions, []

    def decide(self, snapshot: Snapshot) -> object:
        self.seen.append(snapshot)
        return self.decisions


def test_the_snapshot_of_a_live_pass_is_complete() -> None:
    """Names, estimates, expected ends and free processors; a job that never fits is not shown."""
    policy = Asked()
    made = decide(policy, at_work())
    [seen] = policy.seen
    assert [job.id for job in seen.waiting] == ["2", "3"] and made.unfit == ("4",)
    assert [job.estimate for job in seen.waiting] == [50, 40]
    [run] = seen.running
    assert (run.id, run.user, run.estimate, run.expected_end) == ("1_7", "ann", 90, 90)
    assert (seen.free, seen.capacity, seen.now) == ((1,), (4,), 5)


def test_promises_and_wakes_reach_the_loop() -> None:
    """What a policy promises is remembered, and it is called again when it asked to be."""
    made = decide(Asked(Promise("2", 90), Wake(60), Start("3")), at_work())
    assert made.promises == {"2": 90} and made.wake == 60
    assert [one.job for one in made.decisions] == ["3"]
    assert made.decisions[0].reason.label == "backfilled"
    assert made.memory.jobs["2"].promised == 90


def test_a_stop_makes_room_unless_the_job_is_not_ours() -> None:
    """Stop, then start; a foreign job, or one that is just starting, may not be stopped."""
    swap = Asked(Stop("1_7"), Start("2"))
    assert [one.job for one in decide(swap, at_work()).decisions] == ["1_7", "2"]
    for more in ({"ours": False}, {"settled": False}):
        with pytest.raises(PolicyError, match="stops job 1_7, which may not be stopped"):
            decide(swap, at_work(**more))


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Start("2"), "starts job 2, but it does not fit now"),
        (Start("9"), "no job for the"),
    ],
    ids=["full", "unknown"],
)
def test_wrong_decisions_are_errors_of_the_policy(decision: object, message: str) -> None:
    """The same sentences as in a simulation."""
    with pytest.raises(PolicyError, match=message):
        decide(Asked(decision), at_work())


def test_what_a_real_cluster_does_not_know_is_refused() -> None:
    """True run times, and nodes that share bandwidth."""
    policy = PythonEasy()
    policy.estimate = Actual()  # type: ignore[attr-defined]
    with pytest.raises(PolicyError, match="needs the true run time"):
        decide(policy, at_work())
    with pytest.raises(PolicyError, match="runs on a pool, on hosts and on a site"):
        decide(PythonEasy(), at_work(), shape="nodes")


def test_hosts_are_found_for_its_starts() -> None:
    """The loop gives every start hosts, whichever policy decided it."""
    two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    jobs = (WaitingJob(id="1", submit=0, need=(6,), request=9),)
    made = decide_with_hosts(PythonEasy(), Snapshot(now=1, cluster=two, waiting=jobs), Memory())
    assert [one.place for one in made.decisions] == [(("n1", 4), ("n2", 2))]


def test_predicted_starts_are_those_of_the_compiled_twin() -> None:
    """A prediction simulates a copy of the policy."""
    state = at_work()
    assert predict(PythonEasy(), state) == predict(parse_policy("easy"), state)


def test_predicted_starts_on_a_site() -> None:
    """The running job keeps its node; the policy sees the jobs by their own names."""
    site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    ask = Request(tasks=4, nodes=1)
    run = RunningJob(
        id="1_7", submit=0, need=(4,), request=90, start=0, held=(("a", (4,)),),
        place=(("a", 4),), ask=ask,
    )  # fmt: skip
    waiting = (
        WaitingJob(id="2", submit=1, need=(4,), request=50, ask=ask),
        WaitingJob(id="3", submit=2, need=(2,), request=40, ask=Request(tasks=2, nodes=1)),
    )
    state = Snapshot(now=5, cluster=site.as_nodes(), waiting=waiting, running=(run,), site=site)
    found = predict(PythonGreedy(), state, shape="site")
    assert found == predict(parse_policy("greedy"), state, shape="site")
    assert 5 < found["2"].earliest < found["2"].latest <= 90
    assert found["3"].earliest == found["3"].latest == 5
