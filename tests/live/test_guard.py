"""Starts sent together find room in any order, however the scheduler places them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.live.guard import NOT_YET, guard
from shadowtime.live.port import RunningJob, Snapshot, Start, WaitingJob

CPUS = 4
THREE = Cluster(shape="nodes", hosts=tuple(Host(f"n{k}", (CPUS,)) for k in (1, 2, 3)))
SITE = Site(
    nodes=tuple(Node(name=host.name, amounts=(CPUS,)) for host in THREE.hosts),
    partitions=(Partition(name="all", nodes=("n1", "n2", "n3"), default=True),),
)
Plan = dict[str, int]


def layouts(plan: Plan, free: Plan) -> Iterator[Plan]:
    """Every way to place a job on its nodes, with at least one processor on each."""
    total = sum(plan.values())
    for counts in product(*(range(1, free[host] + 1) for host in plan)):
        if sum(counts) == total:
            yield dict(zip(plan, counts, strict=True))


def all_find_room(plans: Sequence[Plan], free: Plan) -> bool:
    """Whether each job finds room whatever became of those before it, in this order."""
    if not plans:
        return True
    found = list(layouts(plans[0], free))
    return bool(found) and all(
        all_find_room(plans[1:], {host: free[host] - one.get(host, 0) for host in free})
        for one in found
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Plan, list[Plan], list[Plan]]:
    """What is free, jobs that were let through before, and starts that fit beside them by plan."""
    free = {host.name: draw(st.integers(0, CPUS)) for host in THREE.hosts}
    left, plans = dict(free), []
    for _ in range(draw(st.integers(1, 4))):
        hosts = draw(st.lists(st.sampled_from(sorted(left)), min_size=1, max_size=3, unique=True))
        if all(left[host] for host in hosts):
            plans.append({host: draw(st.integers(1, left[host])) for host in sorted(hosts)})
            left = {host: left[host] - plans[-1].get(host, 0) for host in left}
    before = draw(st.integers(0, len(plans)))
    # For earlier starts, the guard of their own poll has ensured it.
    while before and not fit_in_any_order(plans[:before], free):
        before -= 1
    return free, plans[:before], plans[before:]


def fit_in_any_order(plans: Sequence[Plan], free: Plan) -> bool:
    return all(all_find_room(order, free) for order in permutations(plans))


def snapshot(free: Plan, before: Sequence[Plan], starts: Sequence[Plan]) -> Snapshot:
    """The world at second 100: others run for long, those before are about to start."""
    runs = [("other", {host: CPUS - n for host, n in free.items() if n < CPUS}, 5, True)]
    runs += [(f"b{k}", plan, 100, False) for k, plan in enumerate(before)]
    return Snapshot(
        now=100,
        cluster=THREE,
        site=SITE,
        running=tuple(
            RunningJob(id=name, submit=0, need=(sum(plan.values()),), request=999, start=start,
                       place=tuple(plan.items()), settled=settled)
            for name, plan, start, settled in runs if plan
        ),
        waiting=tuple(
            WaitingJob(id=f"s{k}", submit=0, need=(sum(plan.values()),), request=9)
            for k, plan in enumerate(starts)
        ),
    )  # fmt: skip


@given(worlds())
@settings(max_examples=examples(150), deadline=None)
def test_what_is_sent_together_finds_room_in_any_order(
    world: tuple[Plan, list[Plan], list[Plan]],
) -> None:
    """By trying every order and every layout; a start is held back only for this reason."""
    free, before, starts = world
    state = snapshot(free, before, starts)
    decided = [Start(job=f"s{k}", place=tuple(plan.items())) for k, plan in enumerate(starts)]
    found = guard(decided, state, state)
    sent = [dict(one.place) for one in found.allowed]
    assert fit_in_any_order([*before, *sent], free)
    assert all(outcome.why.startswith(NOT_YET) for outcome in found.refused)
    if not before and decided:
        assert found.allowed, "the first is alone and waits for no other"


def test_a_start_beside_one_that_slurm_may_lay_otherwise_waits_for_it() -> None:
    """The plan leaves a processor of n1; Slurm uses the whole node, so the other has no room."""
    free, wide, small = dict.fromkeys(("n1", "n2", "n3"), CPUS), {"n1": 3, "n2": 3}, {"n1": 1}
    both = [Start(job=f"s{k}", place=tuple(one.items())) for k, one in enumerate((wide, small))]
    state = snapshot(free, [], [wide, small])
    found = guard(both, state, state)
    assert [one.job for one in found.allowed] == ["s0"]
    assert found.refused[0].why == f"{NOT_YET} n1"
    state = snapshot(free, [wide], [small])  # a moment later, and not allocated yet
    start = [Start(job="s0", place=(("n1", 1),))]
    assert guard(start, state, state).allowed == ()
    assert len(guard(start, state, state.replace(now=101)).allowed) == 1  # it runs since 100


def test_starts_on_equal_nodes_keep_the_order_of_the_policy() -> None:
    """Jobs that share several nodes are sent last there, and nothing is held back."""
    free, wide, small = dict.fromkeys(("n1", "n2", "n3"), CPUS), {"n1": 3, "n2": 3}, {"n1": 1}
    plans = (small, wide)
    both = [Start(job=f"s{k}", place=tuple(one.items())) for k, one in enumerate(plans)]
    state = snapshot(free, [], plans).replace(site=None)
    assert [one.job for one in guard(both, state, state).allowed] == ["s0", "s1"]
