"""Conservative backfilling on nodes: the slow reference, plain backfilling, promises, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.node_worlds import (
    as_cluster,
    as_workload,
    assert_same,
    node_worlds,
    rows_of,
    simulated,
)
from naive import nodes as naive_nodes
from naive.conservative import Conservative
from naive.nodes import Machine, NodeJob
from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.workload import Workload
from shadowtime.workload.demand import draw_bandwidth
from shadowtime.workload.embedded import demo_workload

World = tuple[list[NodeJob], Machine]

LCT = naive_nodes.LessConsumeThreshold
SEARCHES = {
    "first-fit": naive_nodes.FirstFit(),
    "first-fit(limit=pf)": naive_nodes.FirstFit("pf"),
    "less-consume": naive_nodes.LessConsume(),
    "less-consume(horizon=0)": naive_nodes.LessConsume("req", 0),
    "less-consume(horizon=3, limit=pf)": naive_nodes.LessConsume("pf", 3),
    "less-consume(threshold=1)": LCT("req", 100),
    "less-consume(threshold=1.15)": LCT("req", 115),
    "less-consume(threshold=1.25, limit=pf)": LCT("pf", 125),
    "least-slowdown": naive_nodes.RuaSearch(),
    "least-slowdown(limit=req)": naive_nodes.RuaSearch("req"),
    "first-fit(resv=counts)": naive_nodes.FirstFit(),
    "less-consume(resv=counts)": naive_nodes.LessConsume(),
    "less-consume(threshold=1.15, resv=counts)": LCT("req", 115),
}


@pytest.mark.parametrize("place", SEARCHES)
@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds(), compress=st.booleans(), longer=st.sampled_from([0, 0, 7, 1000]))
def test_equals_the_reference(place: str, world: World, compress: bool, longer: int) -> None:
    """Every placement, with and without compression, with limits longer than the plan."""
    jobs, machine = world
    jobs = [replace(job, limit=job.request + longer) for job in jobs]
    policy = f"conservative(place={place}, compress={'yes' if compress else 'no'})"
    reference = Conservative(
        jobs, machine, SEARCHES[place], compress=compress, counted="counts" in place
    )
    expected = reference.run()
    made = simulated(jobs, machine, policy)
    assert_same(made, expected)
    assert made.counters["slipped_promises"] == reference.slipped
    assert check(made, as_workload(jobs), as_cluster(machine)).ok


LARGER = ((11, 4), (9, 7), (2, 36))
"""Machines with more processors than a word has bits; nodes across two words, or wider."""


@pytest.mark.parametrize("place", ["first-fit", "less-consume(horizon=3, limit=pf)"])
@settings(max_examples=examples(50), deadline=None)
@given(world=node_worlds(most=8, caps=(6000,), shapes=LARGER))
def test_equals_the_reference_on_larger_machines(place: str, world: World) -> None:
    """Processors are bits in words of 32."""
    expected = Conservative(*world, SEARCHES[place]).run()
    assert_same(simulated(*world, f"conservative(place={place})"), expected)


COUNTED = (
    "first-fit(",
    "less-consume(",
    "less-consume(threshold=1.15, ",
    "less-consume(horizon=3, ",
)
PINNED = ("first-fit", "less-consume", "less-consume(threshold=1.15)", "least-slowdown")


@settings(max_examples=examples(40), deadline=None)
@given(world=node_worlds(caps=(10**9,)), compress=st.sampled_from(["yes", "no"]))
def test_with_capacity_to_spare_every_placement_is_plain(world: World, compress: str) -> None:
    """Where reservations count processors it equals conservative on a pool, job by job.

    Where they pin processors, which a pool cannot, all placements agree. On a pool a
    job is killed if it overran its request in the log; on nodes, if it did not finish the work of
    its request.
    """
    jobs, machine = world
    jobs = [replace(job, run=naive_nodes.work_of(job)) for job in jobs]
    pool = Cluster.pool(machine.nodes * machine.cores)
    name = f"conservative(compress={compress})"
    plain = rows_of(simulate(as_workload(jobs), pool, parse_policy(name)))
    assert rows_of(simulated(jobs, machine, name)) == plain
    for place in COUNTED:
        policy = f"conservative(place={place}resv=counts), compress={compress})"
        assert rows_of(simulated(jobs, machine, policy)) == plain
    pinned = [
        rows_of(simulated(jobs, machine, f"conservative(place={place}, compress={compress})"))
        for place in PINNED
    ]
    assert all(rows == pinned[0] for rows in pinned)
    wide = [replace(job, need=(machine.nodes * machine.cores,)) for job in jobs]
    plain = rows_of(simulate(as_workload(wide), pool, parse_policy(name)))
    for place in PINNED:
        policy = f"conservative(place={place}, compress={compress})"
        assert rows_of(simulated(wide, machine, policy)) == plain


@settings(max_examples=examples(60), deadline=None)
@given(world=node_worlds())
def test_promises_are_kept(world: World) -> None:
    """Where no job outlives its limit none starts late, and the schedule claims it."""
    jobs, machine = world
    for place in ("first-fit(limit=pf)", "less-consume", "less-consume(threshold=1.15)"):
        made = simulated(jobs, machine, f"conservative(place={place})")
        assert made.promised is not None
        assert (made.start <= made.promised).all()
        assert "promises-kept" in made.claims


@pytest.mark.parametrize("place", ["less-consume(horizon=3, limit=pf)", "least-slowdown"])
@settings(max_examples=examples(40), deadline=None)
@given(world=node_worlds(caps=(6000,)))
def test_plans_follow_what_is_believed(place: str, world: World) -> None:
    """Expected run times count for the penalty factor alone; wrong demands mislead the plan."""
    jobs, machine = world
    known = [replace(job, expected=max(1, min(job.run, job.request))) for job in jobs]
    made = simulated(jobs, machine, f"conservative(place={place}, estimate=actual)")
    assert_same(made, Conservative(known, machine, SEARCHES[place]).run())
    jobs = sorted(jobs, key=lambda job: job.priority)
    off = np.random.default_rng(1).uniform(-0.5, 0.5, len(jobs))
    misled = [
        replace(job, believed=int(min(machine.cap, np.rint(job.bandwidth * (1 + e)))))
        for job, e in zip(jobs, off, strict=True)
    ]
    made = simulated(jobs, machine, f"conservative(place={place}, estimate=noisy-demand(x=0.5))")
    assert_same(made, Conservative(misled, machine, SEARCHES[place]).run())


@settings(max_examples=examples(30), deadline=None)
@given(world=node_worlds(caps=(6000,)))
def test_any_shared_resource_counts(world: World) -> None:
    """With a second resource that is plentiful, and as that second resource."""
    jobs, machine = world
    policy = parse_policy("conservative(place=less-consume(threshold=1.15, limit=pf))")
    alone = rows_of(simulate(as_workload(jobs), as_cluster(machine), policy))
    both = node_cluster(machine.nodes, procs=machine.cores, bandwidth=6000, network=6000)
    both = both.replace(options={"contention": {"shared": ["bandwidth", "network"]}})
    drawn = as_workload(jobs).extra["bandwidth"]
    for first, second in ((drawn, drawn * 0 + 1), (drawn * 0 + 1, drawn)):
        workload = as_workload(jobs).replace(extra={"bandwidth": first, "network": second})
        assert rows_of(simulate(workload, both, policy)) == alone


def test_a_slipped_promise_is_counted() -> None:
    """Two jobs slow each other down beyond their requests, unkilled; the third waits."""
    jobs = [
        NodeJob(1, 0, (2,), 10, 10, 100, bandwidth=3000),
        NodeJob(2, 0, (2,), 10, 10, 100, bandwidth=3000),
        NodeJob(3, 1, (4,), 5, 5, 100, bandwidth=0),
    ]
    made = simulated(jobs, Machine(1), "conservative(place=first-fit)")
    assert made.end.tolist() == [20, 20, 25]  # 12,000 of 6,000: half the speed
    assert made.promised is not None and made.promised.tolist() == [0, 0, 10]
    assert made.counters["slipped_promises"] == 10
    assert "promises-kept" not in made.claims


def test_reservations_count_in_the_shared_windows() -> None:
    """A newcomer that would share a node with another job's reservation goes elsewhere."""
    jobs = [
        NodeJob(1, 0, (8,), 10, 10, 10, bandwidth=0),
        NodeJob(2, 1, (2,), 10, 10, 10, bandwidth=3000),  # promised 10, on the first node
        NodeJob(3, 2, (2,), 10, 10, 10, bandwidth=3000),  # promised 10 too, on the second
    ]
    made = simulated(jobs, Machine(2), "conservative(place=less-consume)")
    assert made.start.tolist() == [0, 10, 10]
    assert list(made.place or ()) == ["n1:4 n2:4", "n1:2", "n2:2"]
    made = simulated(jobs, Machine(2), "conservative(place=first-fit)")
    assert list(made.place or ()) == ["n1:4 n2:4", "n1:2", "n1:2"]


def test_the_table_grows_with_the_queue() -> None:
    """Six hundred jobs at once exceed the initial size of the table."""
    n = 600
    draw = np.random.default_rng(7)
    request = draw.integers(5, 500, n)
    jobs = Workload.build(
        submit=np.sort(draw.integers(0, 50, n)),
        run=np.maximum(1, request * draw.uniform(0.1, 1, n)).astype(np.int64),
        procs=draw.integers(1, 17, n),
        request=request,
        extra={"bandwidth": np.zeros(n, np.int64)},
    )
    plain = simulate(jobs, Cluster.pool(32), parse_policy("conservative"))
    for place in ("best-fit", "first-fit(resv=counts)", "less-consume(resv=counts)"):
        policy = parse_policy(f"conservative(place={place})")
        assert rows_of(simulate(jobs, node_cluster(8, bandwidth=1), policy)) == rows_of(plain)
    pinned = [
        simulate(jobs, node_cluster(8, bandwidth=1), parse_policy(f"conservative(place={place})"))
        for place in ("first-fit", "less-consume")
    ]
    assert rows_of(pinned[0]) == rows_of(pinned[1])


@pytest.mark.parametrize(
    ("high", "one", "other"),
    [
        (1750, "less-consume(threshold=1.25)", "less-consume(threshold=1.5)"),
        (2000, "less-consume(horizon=0)", "less-consume(threshold=1.5)"),
    ],
)
def test_identities_of_the_paper(high: int, one: str, other: str) -> None:
    """Identities of every reservation, not of the head's alone (spec: algorithms 4.9)."""
    jobs = draw_bandwidth(demo_workload().take(np.arange(600)), "HIGH", high=high)
    made = [
        simulate(
            jobs, node_cluster(64, bandwidth=6000), parse_policy(f"conservative(place={part})")
        )
        for part in (one, other)
    ]
    assert rows_of(made[0]) == rows_of(made[1])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("conservative(place=first-fit(limit=pf, resv=counts))", "needs a planned place"),
        ("rua(reserve=kept)", "use backfill=in-order"),
        ("conservative(order=sjf, place=first-fit)", "arrival order"),
        ("conservative(estimate=last, place=first-fit)", "once, at submission"),
        ("easy(reserve=3, place=first-fit)", "use reserve=1, kept or none"),
    ],
)
def test_what_has_no_meaning_is_refused(policy: str, message: str) -> None:
    """The error is one sentence with what to do instead."""
    jobs = [NodeJob(1, 0, (1,), 5, 5, 5)]
    with pytest.raises(PolicyError, match=message):
        simulated(jobs, Machine(1), policy)
