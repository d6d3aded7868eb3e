"""The live loop decides as the simulator does: driven over a log it makes the same schedule."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import share
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob, decide
from shadowtime.errors import PolicyError
from shadowtime.live.replay import LogPort, follow
from shadowtime.policy import parse_policy
from shadowtime.policy.catalogue import catalogue
from shadowtime.policy.partition import ByClass
from shadowtime.policy.place import NodePlace
from shadowtime.testing import small_worlds
from shadowtime.workload import Workload

VARIANTS = (
    "easy(fixed_reservation=yes)",
    "easy(extra_update=no)",
    "easy(estimate=last-two)",
    "easy(reserve=4, order=lxf)",
    "conservative(estimate=last-two)",
    "conservative(compress=no)",
    "pv-easy(prune=yes)",
    "pv-easy(estimate=requested)",
)
ON_POOLS = [
    policy.name
    for policy in catalogue()
    if not isinstance(policy.place, NodePlace) and not isinstance(policy.partition, ByClass)
]
NAMES = [*ON_POOLS, *VARIANTS]


def as_hosts(cluster: Cluster) -> Cluster:
    """A machine as a port shows it: a list of hosts."""
    return Cluster(shape="nodes", resources=cluster.resources, hosts=cluster.hosts)


def assert_alike(workload: Workload, cluster: Cluster, name: str, shape: str = "pool") -> None:
    """Every start and every lost attempt."""
    policy = parse_policy(name)
    wanted = simulate(workload, cluster, policy)
    found = follow(LogPort(workload=workload, cluster=as_hosts(cluster)), policy, shape=shape)
    starts = [found.started[str(job)] for job in workload.job_id]
    assert starts == wanted.start.tolist()
    lost = sorted((job, start, end) for job, start, end in found.attempts)
    known = wanted.attempts
    kept = [
        (str(known.job_id[i]), int(known.start[i]), int(known.end[i]))
        for i in np.flatnonzero(known.killed)
    ]
    assert lost == sorted(kept)


@pytest.mark.parametrize("name", NAMES)
def test_a_log_through_the_loop_gives_the_simulated_schedule(name: str) -> None:
    """For every policy on a pool, with everything it remembers between passes."""
    for _, workload, cluster in share(small_worlds(), NAMES.index(name)):
        assert_alike(workload, cluster, name)


@pytest.mark.parametrize("name", ["easy", "bb", "bl", "ibb", "greedy"])
def test_several_resources(name: str) -> None:
    """Memory beside processors."""
    for seed in share(range(6), NAMES.index(name)):
        draw = np.random.default_rng(seed)
        jobs = Workload.build(
            submit=np.sort(draw.integers(0, 120, 30)),
            run=draw.integers(1, 40, 30),
            procs=draw.integers(1, 9, 30),
            request=draw.integers(20, 60, 30),
            demand={"memory": draw.integers(0, 65, 30)},
        )
        assert_alike(jobs, Cluster.pool(8, memory=64), name)


@pytest.mark.parametrize("name", ["lxfw", "easy", "lxf", "part-l-sm"])
def test_hosts_that_hold_whole_jobs(name: str) -> None:
    """Placement is the same too."""
    if name == "part-l-sm":
        name = "lxfw(partition=by-class(hosts=1, above=5, hours=1))"
    hosts = tuple(Host(f"h{k}", (8,)) for k in range(4))
    cluster = Cluster(shape="hosts", hosts=hosts)
    for seed in range(4):
        draw = np.random.default_rng(seed)
        jobs = Workload.build(
            submit=np.sort(draw.integers(0, 120, 40)),
            run=draw.integers(1, 40, 40),
            procs=draw.integers(1, 9, 40),
            request=draw.integers(20, 60, 40),
        )
        policy = parse_policy(name)
        wanted = simulate(jobs, cluster, policy)
        port = follow(LogPort(workload=jobs, cluster=as_hosts(cluster)), policy, shape="hosts")
        assert [port.started[str(job)] for job in jobs.job_id] == wanted.start.tolist()
        where = {d.job: d.place[0][0] for _, d in port.decided}
        assert tuple(where[str(job)] for job in jobs.job_id) == tuple(wanted.place)


FOUR = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))


def test_jobs_of_others_are_never_stopped() -> None:
    """PV-EASY stops jobs that came later than the head, but none that is not ours."""
    late = {"id": "9", "submit": 8, "need": (3,), "request": 50, "start": 9}
    head = WaitingJob(id="3", submit=2, need=(4,), request=9)
    for ours, decided in ((True, ["9", "3"]), (False, [])):
        state = Snapshot(
            now=10, cluster=FOUR, waiting=(head,), running=(RunningJob(**late, ours=ours),)
        )
        made = decide(parse_policy("pv-easy"), state)
        assert [d.job for d in made.decisions] == decided


def test_a_promise_that_fell_due_between_two_looks_is_kept_late() -> None:
    """The loop polls at intervals: a promise that has just passed is kept now."""
    policy = parse_policy("conservative")
    run = RunningJob(id="1", submit=0, need=(4,), request=10, start=0)
    job = WaitingJob(id="2", submit=1, need=(2,), request=5)
    first = decide(policy, Snapshot(now=1, cluster=FOUR, waiting=(job,), running=(run,)))
    assert (first.wake, first.promises, first.decisions) == (10, {"2": 10}, ())
    memory = Memory.from_json(first.memory.to_json())
    late = decide(policy, Snapshot(now=12, cluster=FOUR, waiting=(job,)), memory)
    assert [d.job for d in late.decisions] == ["2"]


@pytest.mark.parametrize("name", ["easy(estimate=actual)", "easy(estimate=noisy)"])
def test_what_cannot_be_known_is_rejected(name: str) -> None:
    """A real job's true run time is unknown, so a policy that needs it is rejected."""
    with pytest.raises(PolicyError, match="true run time"):
        decide(parse_policy(name), Snapshot(now=0, cluster=FOUR))


@pytest.mark.parametrize("name", ["easy", "conservative", "lxfw", "pv-easy", "easy++"])
def test_predicted_starts_are_those_of_a_simulation(name: str) -> None:
    """From an empty machine on, with requests for run times, forward() is simulate()."""
    from shadowtime.engine.live_pass.decide import forward

    draw = np.random.default_rng(5)
    request = draw.integers(5, 60, 30)
    jobs = Workload.build(submit=[7] * 30, run=request, procs=draw.integers(1, 9, 30))
    waiting = tuple(
        WaitingJob(id=str(k + 1), submit=7, need=(int(jobs.procs[k]),), request=int(request[k]))
        for k in range(30)
    )
    machine = Cluster(shape="nodes", hosts=(Host("n1", (8,)),))
    found = forward(parse_policy(name), Snapshot(now=7, cluster=machine, waiting=waiting))
    wanted = simulate(jobs, Cluster.pool(8), parse_policy(name))
    assert list(found.values()) == wanted.start.tolist()
