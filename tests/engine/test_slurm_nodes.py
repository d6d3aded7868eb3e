"""Slurm's policies on nodes (consres, lessc, hperf) equal the slow reference to the second."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from drawing import Drawing
from engine.node_worlds import COLUMNS, as_cluster, as_workload, penalised_of, places_of, rows_of
from naive import nodes as naive_nodes
from naive.nodes import Machine, NodeJob, NodeResult
from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.engine.nodes.slurm.availability import BLOCK, MOST_KINDS
from shadowtime.errors import ClusterError, PolicyError, StoreWarning, UsageError
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.types import NO_LIMIT
from shadowtime.workload import Workload

CAP = 1000
SLOPE = Fraction(1, 2)
FEW = st.lists(st.sampled_from([0, 100, 300, 400, 667, 750]), min_size=1, max_size=3)
MANY = st.lists(st.integers(0, 750), min_size=MOST_KINDS + 3, max_size=20, unique=True)
"""More demands than the node profile has kinds, so some jobs share a kind."""


@st.composite
def slurm_worlds(
    draw: st.DrawFn, *, least: int = 1, most: int = 12, demands: Any = FEW
) -> tuple[list[NodeJob], Machine]:
    """Jobs with tags on a machine that could hold each of them alone, at 1.3 times its demand."""
    pick = Drawing(draw)
    machine = Machine(pick.number(1, 4), pick.number(1, 4), CAP)
    spread = pick.one((0, 3, 20, 60))
    lengths = (1, 2, 3, 4, 5, 7, 10, 16, 25, 40)
    kinds = draw(demands)
    jobs = []
    for number in pick.shuffled(range(1, pick.number(least, most) + 1)):
        request = pick.one(lengths)
        run = pick.one((request, pick.one(lengths), max(1, request * 4 // 5)))
        kind = pick.number(0, len(kinds) - 1)
        b = kinds[kind]
        worst = max(kinds) * 13 / 10
        room = min(machine.cores, math.floor(CAP / worst)) if worst > 0 else machine.cores
        width = pick.number(1, max(1, machine.nodes * min(room, 2)))
        width = min(width, machine.nodes * max(1, room))
        tag = str(pick.one((kind, kind, 0)))  # sometimes a tag is shared
        submit = pick.number(0, spread)
        jobs.append(NodeJob(number, submit, (width,), request, run, request, bandwidth=b, tag=tag))
    return jobs, machine


def simulated(jobs: list[NodeJob], machine: Machine, policy: str) -> Schedule:
    """The engine on a naive world."""
    workload = as_workload(jobs)
    ordered = sorted(jobs, key=lambda job: job.priority)
    tags = np.array([int(job.tag) for job in ordered])
    workload = workload.replace(extra={**workload.extra, "tag": tags})
    cluster = as_cluster(machine, law="sloped", slope=float(SLOPE))
    return simulate(workload, cluster, parse_policy(policy))


def assert_same(schedule: Schedule, result: NodeResult, grace: int | None) -> None:
    """Equal job by job: times, reasons, kills, limits, places, exact delays, passes."""
    theirs = [(row.id, *(int(getattr(row, c)) for c in COLUMNS)) for row in result.result.rows]
    assert rows_of(schedule) == theirs
    assert places_of(schedule) == result.place
    assert penalised_of(schedule) == result.penalised
    assert schedule.counters["passes"] == result.result.passes
    assert schedule.limit is not None
    limits = dict(zip(schedule.job_id.tolist(), schedule.limit.tolist(), strict=True))
    assert limits == {j: NO_LIMIT if grace is None else r + grace for j, r in result.limit.items()}


def first_measures(jobs: list[NodeJob], factor: Fraction) -> dict[str, list[Fraction]]:
    """One record a tag, of the first job that has it."""
    found: dict[str, list[Fraction]] = {}
    for job in sorted(jobs, key=lambda job: job.priority):
        whole = Fraction(math.floor(factor * job.bandwidth * 1000), 1000)
        found.setdefault(job.tag, [whole])
    return found


def preloaded(jobs: list[NodeJob], machine: Machine, **options: Any) -> NodeResult:
    known = first_measures(jobs, naive_nodes.TCM_FACTOR)
    return naive_nodes.hperf(jobs, machine, preloaded=known, **options)


OVER = {"1": Fraction(13, 10)}
POLICIES: dict[str, Any] = {
    "consres": naive_nodes.consres,
    "lessc": naive_nodes.lessc,
    "hperf": naive_nodes.hperf,
    "hperf(predict=start)": lambda j, m, **o: naive_nodes.hperf(j, m, predict="start", **o),
    "hperf(record=rate)": lambda j, m, **o: naive_nodes.hperf(j, m, record="rate", **o),
    "hperf(share=1)": lambda j, m, **o: naive_nodes.hperf(j, m, excl_ppn=1, **o),
    "hperf(factor=0.8/1:1.3)": lambda j, m, **o: naive_nodes.hperf(j, m, tcm_factor=OVER, **o),
    "hperf(preloaded=yes)": preloaded,
}


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(60), deadline=None)
@given(world=slurm_worlds(), grace=st.sampled_from([0, 3, None]))
def test_equals_the_reference(policy: str, world: Any, grace: int | None) -> None:
    """Every policy, grace and way of measuring."""
    jobs, machine = world
    if policy == "hperf(share=1)" and any(job.procs > machine.nodes for job in jobs):
        jobs = [job for job in jobs if job.procs <= machine.nodes]
    written = "unlimited" if grace is None else str(grace)
    text = (
        f"{policy[:-1]}, grace={written})" if policy.endswith(")") else f"{policy}(grace={written})"
    )
    theirs = POLICIES[policy](jobs, machine, grace=grace, slope=SLOPE)
    ours = simulated(jobs, machine, text)
    assert_same(ours, theirs, grace)


@pytest.mark.parametrize("policy", ["lessc", "hperf(preloaded=yes)"])
@settings(max_examples=examples(40), deadline=None)
@given(world=slurm_worlds(least=14, most=22, demands=MANY))
def test_equals_the_reference_with_many_demands(policy: str, world: Any) -> None:
    """Nearly every job has a demand of its own."""
    jobs, machine = world
    theirs = POLICIES[policy](jobs, machine, grace=0, slope=SLOPE)
    assert_same(simulated(jobs, machine, policy), theirs, 0)


def crowd(seed: int, count: int = 70, demands: int = 3) -> tuple[list[NodeJob], Machine]:
    """Jobs that arrive faster than they can run: wide and narrow, short and long."""
    draw = np.random.default_rng(seed)
    machine = Machine(int(draw.integers(2, 6)), 4, CAP)
    kinds = draw.choice([0, 100, 240, 300, 490], 3).tolist()
    kinds += draw.integers(1, 490, demands - 3).tolist()
    jobs = []
    for number in range(1, count + 1):
        wide = int(draw.integers(1, 2 * machine.nodes + 1)) if draw.random() < 0.5 else 1
        request = int(draw.choice([2, 5, 9, 30, 100]))
        run = max(1, int(request * draw.choice([0.3, 0.7, 1.0])))
        kind = int(draw.integers(0, len(kinds)))
        submit = int(draw.integers(0, 300))
        jobs.append(
            NodeJob(
                number, submit, (wide,), request, run, request, bandwidth=kinds[kind], tag=str(kind)
            )
        )
    return jobs, machine


@pytest.mark.parametrize("policy", ["lessc", "hperf(preloaded=yes)"])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_reference_in_overload(policy: str, seed: int) -> None:
    """Runs often end early, and most of a long queue is deferred repeatedly."""
    jobs, machine = crowd(seed)
    theirs = POLICIES[policy](jobs, machine, grace=0, slope=SLOPE)
    assert_same(simulated(jobs, machine, policy), theirs, 0)


@pytest.mark.parametrize("policy", ["lessc", "hperf(preloaded=yes)"])
@pytest.mark.parametrize(("seed", "demands"), [(0, 3), (1, 5), (2, MOST_KINDS + 4)])
def test_equals_the_reference_in_many_blocks(policy: str, seed: int, demands: int) -> None:
    """The list of waiting jobs has several blocks, with gaps where jobs have started."""
    jobs, machine = crowd(seed, 3 * BLOCK, demands)
    theirs = POLICIES[policy](jobs, machine, grace=0, slope=SLOPE)
    assert_same(simulated(jobs, machine, policy), theirs, 0)


def small(bandwidth: list[int], procs: list[int], **columns: Any) -> Workload:
    count = len(procs)
    return Workload.build(
        submit=[0] * count,
        run=[60] * count,
        procs=procs,
        request=[60] * count,
        extra={"bandwidth": np.array(bandwidth), **columns},
    )


MACHINE = node_cluster(2, procs=4, bandwidth=CAP)


@settings(max_examples=examples(25), deadline=None)
@given(world=slurm_worlds())
def test_declared_bandwidth_is_a_limit(world: Any) -> None:
    """LessC claims it, and check proves it; ConsRes does not, and over-commits."""
    jobs, machine = world
    schedule = simulated(jobs, machine, "lessc")
    cluster = as_cluster(machine, law="sloped", slope=float(SLOPE))
    report = check(schedule, as_workload(jobs), cluster)
    assert report.ok, report.first_violation
    assert any(
        proof.name == "within-shared" and proof.verdict == "proved" for proof in report.proofs
    )


def test_the_check_sees_a_node_that_is_asked_for_too_much() -> None:
    """Three processes of 400 MB/s on a node of 1,000."""
    jobs = small([400, 400], [2, 1])
    schedule = simulate(jobs, MACHINE, parse_policy("consres"))
    report = check(schedule, jobs, MACHINE, claims=["within-shared"])
    assert report.first_violation is not None
    assert "at 0 s the jobs on n1 ask for 1200 of 1000" in report.first_violation.detail


def test_records_of_a_store_are_known_at_the_beginning(tmp_path: Path) -> None:
    """A job whose tag is in the store shares nodes at once; any other runs alone."""
    from shadowtime.hperf import Record, open_store

    path = str(tmp_path / "perf.sqlite")
    open_store(path).add([Record(tag="7", bandwidth=300.0), Record(tag="7", bandwidth=500.0)])
    jobs = small([400, 400, 400], [2, 2, 1], tag=np.array([7, 7, 8]))
    known = simulate(jobs, MACHINE, parse_policy(f"hperf(store={path})"))
    assert list(known.place) == ["n1:2", "n2:2", "n1:1"]
    assert known.start.tolist() == [0, 0, 60]
    alone = simulate(jobs, MACHINE, parse_policy("hperf"))
    assert alone.start.tolist() == [0, 0, 60]
    (tmp_path / "bad").write_bytes(b"rubbish" * 100)
    with pytest.warns(StoreWarning, match="not a performance store.*goes on without it"):
        without = simulate(jobs, MACHINE, parse_policy(f"hperf(store={tmp_path}/bad)"))
    assert without.start.tolist() == alone.start.tolist()
    assert list(without.place) == list(alone.place)
    with pytest.warns(StoreWarning, match="there is no store.*goes on without it"):
        simulate(jobs, MACHINE, parse_policy(f"hperf(store={tmp_path}/nope)"))


def test_what_can_never_run_is_refused() -> None:
    """More than a node has per process, or more than the empty machine holds."""
    with pytest.raises(UsageError, match="need more bandwidth per process than a node has"):
        simulate(small([1001], [1]), MACHINE, parse_policy("lessc"))
    with pytest.raises(UsageError, match="do not fit on the empty machine within 1000 MB/s"):
        simulate(small([600], [3]), MACHINE, parse_policy("lessc"))
    with pytest.raises(UsageError, match="counted with more bandwidth per process"):
        simulate(small([900], [1], tag=np.array([0])), MACHINE, parse_policy("hperf(factor=2)"))
    with pytest.raises(UsageError, match="on nodes of their own"):
        simulate(small([1], [5], tag=np.array([0])), MACHINE, parse_policy("hperf(share=1)"))
    with pytest.raises(ClusterError, match="no node gives its own"):
        simulate(small([1], [1]), node_cluster(2), parse_policy("lessc"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("lessc(order=sjf)", "needs order=fcfs"),
        ("lessc(reserve=1)", "needs reserve=all"),
        ("consres(estimate=by-tag)", "needs place=capped"),
        ("lessc(grace=soon)", "whole seconds from 0, or unlimited"),
        ("hperf(factor=0)", "must be a number above 0"),
        ("hperf(factor=0.8/3:0)", "must be a number above 0"),
        ("hperf(factor=-1)", "must be a number above 0"),
        ("hperf(factor=0.8/x:1)", "must be a number above 0"),
    ],
)
def test_parts_without_a_meaning_are_refused(text: str, what: str) -> None:
    """The error names what is needed."""
    with pytest.raises(PolicyError, match=what):
        simulate(small([1], [1]), MACHINE, parse_policy(text))


def test_grace_means_nothing_on_a_pool() -> None:
    """It is rejected there rather than ignored."""
    with pytest.raises(PolicyError, match="defined on nodes"):
        simulate(small([1], [1]), Cluster.pool(4), parse_policy("lessc(grace=60)"))


def test_a_job_without_a_tag_always_runs_alone() -> None:
    """Nothing is learnt from it either."""
    jobs = small([1, 1], [1, 1], tag=np.array([-1, -1]))
    made = simulate(jobs, node_cluster(1, procs=4, bandwidth=CAP), parse_policy("hperf"))
    assert made.start.tolist() == [0, 60]
