"""On nodes that share bandwidth the live loop decides as the simulator does, hosts included."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.node_worlds import as_cluster, as_workload, places_of
from engine.test_slurm_nodes import slurm_worlds
from naive.nodes import Machine, NodeJob
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, Start, WaitingJob, decide
from shadowtime.engine.live_pass.decide import forward
from shadowtime.errors import ClusterError, PolicyError
from shadowtime.live.placing import placed
from shadowtime.live.record import Pass, decision_from_json, decision_to_json
from shadowtime.live.replay import LogPort, follow
from shadowtime.policy import parse_policy
from shadowtime.policy.estimate import ByTag
from shadowtime.workload import Workload
from shadowtime.workload.workload import unlimited

PLENTY = 10**7
"""What a node can really deliver: no job slows another down, as in a log."""


def world(jobs: list[NodeJob], machine: Machine) -> tuple[Workload, Cluster]:
    """The same jobs and machine as the package sees them, with tags."""
    workload = as_workload(jobs)
    tags = np.array([int(job.tag) for job in sorted(jobs, key=lambda job: job.priority)])
    workload = workload.replace(extra={**workload.extra, "tag": tags})
    return workload, as_cluster(machine, law="sloped", phys=PLENTY)


def memory_again(memory: Memory) -> Memory:
    """The memory after a round trip through the state file."""
    return Memory.from_json(json.loads(json.dumps(memory.to_json())))


def decision_again(decision: Any) -> Any:
    """The decision after a round trip through a recording."""
    return decision_from_json(json.loads(json.dumps(decision_to_json(decision))))


@pytest.mark.parametrize(
    "name",
    [
        "consres",
        "lessc",
        "hperf",
        "hperf(predict=start)",
        "hperf(factor=0.8/1:1.3)",
        "hperf(share=1)",
    ],
)
@settings(max_examples=examples(40), deadline=None)
@given(drawn=slurm_worlds(), grace=st.booleans())
def test_a_log_through_the_loop_gives_the_simulated_schedule(
    name: str, drawn: Any, grace: bool
) -> None:
    """Starts, hosts, reasons and first promises; and repeated passes decide the same."""
    jobs, machine = drawn
    if name == "hperf(share=1)":
        jobs = [job for job in jobs if job.procs <= machine.nodes]
    workload, cluster = world(jobs, machine)
    if grace:  # jobs outlive their limits, in the log and in the simulation
        workload = unlimited(workload)
        name = (
            name.replace(")", ", grace=unlimited)") if "(" in name else f"{name}(grace=unlimited)"
        )
    policy = parse_policy(name)
    wanted = simulate(workload, cluster, policy)
    passes, promised = [], {}

    def note(state: Snapshot, memory: Memory, decided: Any, decisions: Any) -> None:
        passes.append(Pass(name, "nodes", state, memory, decisions))
        for job, when in decided.promises.items():
            promised.setdefault(job, when)

    measures = policy.estimate if isinstance(policy.estimate, ByTag) else None
    port = LogPort(workload=workload, cluster=cluster, measures=measures)
    follow(port, policy, shape="nodes", record=note)
    ids = [str(job) for job in workload.job_id]
    assert [port.started[job] for job in ids] == wanted.start.tolist()
    made = {decision.job: decision for _, decision in port.decided}
    number = {host.name: at for at, host in enumerate(cluster.hosts)}
    places = {int(j): {number[h]: n for h, n in made[j].place} for j in ids}
    assert places == places_of(wanted)
    assert [int(made[job].reason) for job in ids] == wanted.reason.tolist()
    assert [promised.get(job, -1) for job in ids] == wanted.promised.tolist()
    for found in passes:
        assert memory_again(found.memory) == found.memory
        assert tuple(map(decision_again, found.decisions)) == found.decisions
        assert found.decide_again(policy) == found.decisions


@pytest.mark.parametrize("name", ["consres", "lessc", "hperf"])
@settings(max_examples=examples(30), deadline=None)
@given(drawn=slurm_worlds())
def test_predicted_starts_are_those_of_a_simulation(name: str, drawn: Any) -> None:
    """From any state of a run on: forward() with the true run times is what simulate() does."""
    jobs, machine = drawn
    jobs = [job for job in jobs if job.run <= job.request]
    workload, cluster = world(jobs, machine)
    workload = workload.replace(submit=np.zeros(len(workload), np.int64)).sorted()
    policy = parse_policy(name)
    wanted = dict(zip(map(str, workload.job_id), simulate(workload, cluster, policy).start.tolist(),
                      strict=True))  # fmt: skip
    runs = dict(zip(map(str, workload.job_id), workload.run.tolist(), strict=True))
    measures = policy.estimate if isinstance(policy.estimate, ByTag) else None
    port = LogPort(workload=workload, cluster=cluster, measures=measures)
    seen = []
    follow(port, policy, shape="nodes", record=lambda s, m, d, x: seen.append((s, m)))
    for state, memory in seen:
        found = forward(policy, state, memory, runs=runs, shape="nodes")
        assert found == {job.id: wanted[job.id] for job in state.waiting}


TWO = node_cluster(2, procs=4, bandwidth=1000)


def start_of(policy: str, state: Snapshot, memory: Memory | None = None) -> Any:
    return decide(parse_policy(policy), state, memory, shape="nodes").decisions


def waiting(job: str, procs: int, **more: Any) -> WaitingJob:
    return WaitingJob(id=job, submit=0, need=(procs, more.pop("asks", 0)), request=60, **more)


def test_a_job_without_demand_draws_nothing_or_runs_alone() -> None:
    """lessc counts what is declared; under hperf an unknown tag shares with no job."""
    state = Snapshot(now=1, cluster=TWO, waiting=(waiting("1", 1, tag="cg"), waiting("2", 1)))
    assert [d.place for d in start_of("lessc", state)] == [(("n1", 1),), (("n1", 1),)]
    found = start_of("hperf", state)
    assert [(d.place, d.alone) for d in found] == [((("n1", 1),), True), ((("n2", 1),), True)]
    known = Snapshot(now=1, cluster=TWO, waiting=(waiting("1", 2, bandwidth=400), waiting("2", 1)))
    first, second = start_of("hperf", known)
    assert (first.alone, first.bandwidth, first.place) == (False, 400, (("n1", 2),))
    assert (second.alone, second.place) == (True, (("n2", 1),))


def test_what_a_job_asks_the_scheduler_for_comes_first() -> None:
    """A requested generic resource takes precedence over what was measured for the tag."""
    state = Snapshot(now=1, cluster=TWO, waiting=(waiting("1", 4, asks=2000, bandwidth=1),))
    assert start_of("hperf", state)[0].place == (("n1", 2), ("n2", 2))


def test_a_prediction_is_frozen_at_submission() -> None:
    """Measured while it waited: predict=submit keeps what was known, predict=start does not."""
    full = RunningJob(id="9", submit=0, need=(8, 0), request=90, start=0, bandwidth=100,
                   place=(("n1", 4), ("n2", 4)))  # fmt: skip
    before = Snapshot(now=1, cluster=TWO, running=(full,), waiting=(waiting("1", 2, tag="cg"),))
    after = Snapshot(now=5, cluster=TWO, waiting=(waiting("1", 2, tag="cg", bandwidth=300),))
    for policy, alone in (("hperf", True), ("hperf(predict=start)", False)):
        memory = decide(parse_policy(policy), before, shape="nodes").memory
        assert start_of(policy, after, memory)[0].alone == alone


def test_running_jobs_count_with_what_they_hold() -> None:
    """Per node where the port knows it, also if a node's amount is no multiple of its cores."""
    held = (("n1", (3, 700)), ("n2", (1, 1)))
    place = (("n1", 3), ("n2", 1))
    run = RunningJob(id="9", submit=0, need=(4, 701), request=90, start=0, place=place, held=held)
    for asks, host in ((300, "n1"), (301, "n2"), (999, "n2")):
        state = Snapshot(now=1, cluster=TWO, running=(run,), waiting=(waiting("1", 1, asks=asks),))
        assert start_of("lessc", state)[0].place == ((host, 1),)
    state = Snapshot(now=1, cluster=TWO, running=(run,), waiting=(waiting("1", 1, asks=1000),))
    assert start_of("lessc", state) == ()


def test_jobs_beyond_what_a_node_has_are_only_counted_up_to_it() -> None:
    """Two foreign jobs that demand more than a node has fill it and no more."""
    runs = tuple(
        RunningJob(id=str(k), submit=0, need=(3, 900), request=90, start=0, place=(("n1", 3),))
        for k in (8, 9)
    )
    state = Snapshot(now=1, cluster=TWO, running=runs, waiting=(waiting("1", 4, asks=1000),))
    assert start_of("lessc", state)[0].place == (("n2", 4),)


def test_a_job_that_could_never_run_is_passed_over() -> None:
    """Wider than the machine, or more demand than a node has: no plan, and no job waits for it."""
    never = (waiting("1", 9), waiting("2", 1, asks=1001), waiting("3", 3, asks=1800))
    state = Snapshot(now=1, cluster=TWO, waiting=(*never, waiting("4", 8)))
    assert [d.job for d in start_of("lessc", state)] == ["4"]
    assert list(forward(parse_policy("lessc"), state, shape="nodes")) == ["4"]


def test_nodes_that_a_job_asks_for_are_left_to_placing() -> None:
    """A number of nodes, certain nodes, or tasks of several processors that must lie together."""
    for more, place in (
        ({"nodes": 2}, (("n1", 1), ("n2", 1))),
        ({"only": ("n2",)}, (("n2", 2),)),
        ({"chunk": 2}, (("n1", 2),)),
    ):
        state = Snapshot(now=1, cluster=TWO, waiting=(waiting("1", 2, **more),))
        found = decide(parse_policy("lessc"), state, shape="nodes").decisions
        assert [d.place for d in placed(found, state)] == [place]
    busy = RunningJob(id="9", submit=0, need=(1, 0), request=9, start=0, place=(("n1", 1),))
    state = Snapshot(now=1, cluster=TWO, running=(busy,), waiting=(waiting("1", 1, only=("n1",)),))
    found = placed(decide(parse_policy("hperf"), state, shape="nodes").decisions, state)
    assert found == [Start(job="1", place=(), reason=found[0].reason, alone=True)]


def test_a_machine_without_a_usable_node() -> None:
    """No job starts, nothing is forgotten, and nothing is predicted."""
    none = Cluster(shape="nodes", resources=("procs", "membw"), hosts=(Host("none", (1, 0)),))
    state = Snapshot(now=1, cluster=none, waiting=(waiting("1", 1),))
    made = decide(parse_policy("lessc"), state, shape="nodes")
    assert (made.decisions, list(made.memory.jobs)) == ((), ["1"])
    assert forward(parse_policy("lessc"), state, shape="nodes") == {}


def test_what_cannot_decide_on_real_nodes_is_refused() -> None:
    """With the reason: other placements, nodes without bandwidth, nodes that differ."""
    state = Snapshot(now=1, cluster=TWO)
    with pytest.raises(PolicyError, match="consres, lessc and hperf can decide"):
        decide(parse_policy("rua"), state, shape="nodes")
    with pytest.raises(ClusterError, match="Gres=membw"):
        decide(parse_policy("lessc"), Snapshot(now=1, cluster=node_cluster(2)), shape="nodes")
    mixed = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (8,))))
    with pytest.raises(ClusterError, match="same number of processors"):
        decide(parse_policy("consres"), Snapshot(now=1, cluster=mixed), shape="nodes")
