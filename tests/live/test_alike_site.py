"""Passes on snapshots of a site make the same schedule as a simulation of the site."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.site_passes import passes
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from drawing import Drawing
from engine.site_worlds import LENGTHS, RESOURCES, requests
from shadowtime.cluster.site import Limits, Node, Partition, Qos, Site
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import (
    Memory,
    RunningJob,
    Snapshot,
    Start,
    WaitingJob,
    decide,
)
from shadowtime.engine.live_pass.decide import forward
from shadowtime.live.record import state_from_json, state_to_json
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

MOST = 500
"""Passes that nine short jobs may take."""


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Workload, Site]:
    """Mixed nodes, two partitions that overlap, limits of a QOS that hold at every moment."""
    pick = Drawing(draw)
    nodes = []
    for i in range(pick.number(2, 4)):
        gpus = pick.one([0, 2])
        nodes.append(
            Node(
                name=f"n{i}",
                amounts=(pick.one([2, 4]), pick.number(2, 6), gpus, gpus),
                features=frozenset(pick.some("xy")),
            )
        )
    names = tuple(node.name for node in nodes)
    limits = Limits(
        user_jobs=pick.one([None, 1, 2]),
        group_resources=pick.one([{}, {"cpus": 3}, {"gpu": 1}]),
    )
    site = Site(
        nodes=tuple(nodes),
        resources=RESOURCES,
        partitions=(
            Partition(name="p0", nodes=names, default=True, max_nodes=pick.one([None, 2])),
            Partition(name="p1", nodes=names[1:]),
        ),
        qos=(Qos(name="q", limits=limits),),
        enforce=frozenset({"limits"}),
    )
    count = pick.number(1, 9)
    submit = sorted(pick.number(0, 12) for _ in range(count))
    request = [pick.one(LENGTHS) for _ in range(count)]
    run = [min(asked, pick.one(LENGTHS)) for asked in request]
    asked_for = requests(plain=True)
    plain = [draw(asked_for) for _ in range(count)]
    asks = []
    for one in plain:
        where = pick.one([("p0",), ("p1",), ("p1", "p0")])
        values = {**vars(one), "partitions": where, "qos": pick.one(["", "q"])}
        asks.append(Request(**values))
    work = Workload.build(
        submit=submit,
        run=run,
        request=request,
        procs=[ask.cpus for ask in asks],
        user=[pick.number(1, 2) for _ in range(count)],
        names={"user": ("", "ann", "bob")},
        requests=Requests.of_jobs(asks),
        epoch=0,
    )
    return work, site


def follow(work: Workload, site: Site, policy: Any) -> dict[int, tuple[int, list[tuple[str, int]]]]:
    """Last start and place of each job under passes on snapshots, from event to event.

    Memory and snapshots pass through plain data, as they do between two polls of the loop.
    """
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    found: dict[int, tuple[int, list[tuple[str, int]]]] = {}
    for one in passes(work, site, chosen, most=MOST):
        again = state_from_json(json.loads(json.dumps(state_to_json(one.state))))
        kept = Memory.from_json(json.loads(json.dumps(one.memory.to_json())))
        assert decide(chosen, again, kept, shape="site") == one.made
        for decision in one.made.decisions:
            if isinstance(decision, Start):
                found[int(decision.job)] = one.state.now, sorted(decision.place)
    return found


@pytest.mark.parametrize(
    "policy",
    ["easy", "conservative", "lxfw", "fcfs", "pv-easy", "easy-saf", "relaxed", "selective",
     "priority-conservative"],
)  # fmt: skip
def test_passes_on_snapshots_make_the_simulated_schedule(policy: str) -> None:
    """Start by start; a recorded snapshot gives the same decisions; the memory is plain data."""

    @given(worlds())
    @settings(max_examples=examples(12), deadline=None)
    def equal(world: Any) -> None:
        work, site = world
        made = simulate(work, site, parse_policy(policy))
        assert {row: start for row, (start, _) in follow(work, site, policy).items()} == {
            row: int(made.start[row]) for row in range(len(work)) if made.start[row] >= 0
        }

    equal()


def test_a_limit_that_never_lets_a_job_in_costs_no_further_passes() -> None:
    """It gets no promise, others get its nodes, and the loop may sleep.

    The limit is met only where the job is placed: alone on its nodes it takes all their processors.
    When the limit is raised, it is considered again.
    """
    nodes = tuple(Node(name=f"n{i}", amounts=(2, 4, 0, 0)) for i in range(2))

    def site_with(most: int) -> Site:
        limits = Limits(group_resources={"cpus": most})
        return Site(
            nodes=nodes,
            resources=RESOURCES,
            partitions=(Partition(name="p", nodes=("n0", "n1"), default=True),),
            qos=(Qos(name="q", limits=limits),),
            enforce=frozenset({"limits"}),
        )

    alone = WaitingJob(
        id="1", submit=0, need=(1, 0, 0, 0), request=9, user="ann",
        ask=Request(nodes=2, tasks=2, exclusive=True, partitions=("p",), qos="q"),
    )  # fmt: skip
    chosen = parse_policy("conservative")

    def look(now: int, memory: Memory, most: int = 3) -> Any:
        site = site_with(most)
        state = Snapshot(now=now, cluster=site.as_nodes(), waiting=(alone,), running=(), site=site)
        return decide(chosen, state, memory, shape="site")

    first = look(5, Memory())
    assert not first.decisions and first.wake is None and not first.promises
    memory = Memory.from_json(json.loads(json.dumps(first.memory.to_json())))
    second = look(6, memory)
    assert not second.decisions and second.wake is None and not second.promises
    third = look(7, second.memory, most=4)
    assert [one.job for one in third.decisions] == ["1"]


def test_a_job_that_holds_no_memory_leaves_all_of_it() -> None:
    """A job that asks for all memory of a node may join one that runs there without any."""
    site = Site(
        nodes=(Node(name="n0", amounts=(4, 6, 0, 0)),),
        resources=RESOURCES,
        partitions=(Partition(name="p", nodes=("n0",), default=True),),
    )
    runs = RunningJob(
        id="1", submit=0, need=(1, 0, 0, 0), request=9, start=0, place=(("n0", 1),), user="ann",
        held=(("n0", (1, 0, 0, 0)),), ask=Request(partitions=("p",)),
    )  # fmt: skip
    waits = WaitingJob(
        id="2", submit=1, need=(1, 0, 0, 0), request=9, user="ann",
        ask=Request(memory=0, partitions=("p",)),
    )  # fmt: skip
    state = Snapshot(now=1, cluster=site.as_nodes(), waiting=(waits,), running=(runs,), site=site)
    found = decide(parse_policy("fcfs"), state, Memory(), shape="site")
    assert [one.job for one in found.decisions] == ["2"]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_a_job_with_unequal_amounts_on_its_nodes_counts_once(policy: str) -> None:
    """All memory of mixed nodes is not the same on each: limits see one job and its licences."""
    site = Site(
        nodes=tuple(Node(name=f"n{i}", amounts=(2, 2 + i, 0, 0)) for i in range(3)),
        resources=RESOURCES,
        partitions=(Partition(name="p", nodes=("n0", "n1", "n2"), default=True),),
        qos=(Qos(name="q", limits=Limits(user_jobs=2, group_resources={"cpus": 5})),),
        amounts={"license/matlab": 2},
        enforce=frozenset({"limits"}),
    )
    ask = Request(partitions=("p",), qos="q", amounts=(("license/matlab", 1),))
    runs = RunningJob(
        id="1", submit=0, need=(1, 0, 0, 0), request=9, start=0, user="ann", ask=ask,
        place=tuple((f"n{i}", 1) for i in range(3)),
        held=tuple((f"n{i}", (1, 2 + i, 0, 0)) for i in range(3)),
    )  # fmt: skip

    def job(name: str, user: str, **more: Any) -> WaitingJob:
        return WaitingJob(
            id=name, submit=1, need=(1, 0, 0, 0), request=5, user=user, ask=Request(**more)
        )

    asks = {"partitions": ("p",), "qos": "q"}
    second = job("2", "ann", **asks, amounts=(("license/matlab", 1),))
    third = job("3", "ann", **asks)  # a third job of hers
    wide = job("4", "bob", **asks, nodes=2, tasks=2)  # more than what is left
    licensed = job(
        "5", "bob", partitions=("p",), amounts=(("license/matlab", 1),)
    )  # no licence is left
    chosen = parse_policy(policy)
    for waiting, started in (
        ((second,), ["2"]),
        ((second, third), ["2"]),
        ((second, wide), ["2"]),
        ((second, licensed), ["2"]),
    ):
        state = Snapshot(
            now=1, cluster=site.as_nodes(), waiting=waiting, running=(runs,), site=site
        )
        found = decide(chosen, state, Memory(), shape="site")
        assert [one.job for one in found.decisions] == started
        assert forward(chosen, state, Memory(), shape="site")["2"] == 1
