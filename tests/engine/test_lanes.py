"""Lanes that stop for an agent's decisions equal the slow reference, decision by decision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from engine.worlds import as_cluster, as_workload, worlds
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.episodes import Episodes
from shadowtime.errors import UsageError
from shadowtime.policy import parse_policy
from shadowtime.verify.world import (
    BACKFILLED,
    Job,
    Result,
    Vector,
    World,
    earliest,
    fits,
    held_by_running,
    make_world,
    minus,
    replay,
)
from shadowtime.workload import Workload

EXAMPLES = settings(max_examples=examples(80), deadline=None)
MODES = ("order", "backfill")


class Agent:
    """Chooses by a rule of its own, the same on both sides."""

    def __init__(self, step: int) -> None:
        self.step, self.asked = step, 0

    def choose(self, among: int) -> int:
        self.asked += 1
        return (self.step * self.asked) % among


def candidates(world: World, head: Job) -> list[Job]:
    """EASY: a job that fits now and ends by the head's reservation, or takes only what is spare."""
    need, length = head.need, world.estimate(head)
    shadow = earliest(world.capacity, held_by_running(world), need, length, world.now)
    spare = minus(world.free_at(shadow), need)
    return [
        job
        for job in world.waiting
        if job != head
        and fits(job.need, world.free())
        and (world.now + world.estimate(job) <= shadow or fits(job.need, spare))
    ]


def slow_order(jobs: list[Job], capacity: Vector, agent: Agent) -> Result:
    """The agent chooses the next job, which holds a reservation while others overtake."""
    chosen: list[Job] = []

    def one_pass(world: World) -> None:
        while world.waiting:
            if not chosen:
                chosen.append(world.waiting[agent.choose(len(world.waiting))])
            if not fits(chosen[0].need, world.free()):
                for job in list(world.waiting):
                    if job in candidates(world, chosen[0]):
                        world.start(job, BACKFILLED)
                return
            world.start_first(chosen.pop())

    return replay(make_world(jobs, capacity, "requested"), one_pass).result()


def slow_backfill(jobs: list[Job], capacity: Vector, agent: Agent) -> Result:
    """The agent chooses the job that overtakes the blocked head, or none."""

    def one_pass(world: World) -> None:
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        while world.waiting and (found := candidates(world, world.waiting[0])):
            action = agent.choose(len(found) + 1)
            if action == len(found):
                return
            world.start(found[action], BACKFILLED)

    return replay(make_world(jobs, capacity, "requested"), one_pass).result()


def played(jobs: Workload, cluster: Cluster, mode: str, agent: Agent) -> tuple[Episodes, float]:
    """One window of all jobs, and its reward."""
    made = Episodes(jobs, cluster, mode=mode, window=len(jobs), slots=16)
    made.reset(seed=1)
    earned = float(made.reward[0])
    assert made.over[0] or earned == 0, "an environment returns no reward of a reset"
    while not made.over[0]:
        possible = np.flatnonzero(made.mask[0])
        made.step(possible[[agent.choose(len(possible))]])
        earned += float(made.reward[0])
    return made, earned


@pytest.mark.parametrize("resources", [1, 3])
@pytest.mark.parametrize("mode", MODES)
@EXAMPLES
@given(data=st.data())
def test_an_agents_schedule(mode, resources, data):
    """Every start, whatever the agent does; the rewards add up to minus the mean slowdown."""
    jobs, capacity = data.draw(worlds(resources=resources))
    slow = slow_order if mode == "order" else slow_backfill
    log = as_workload(jobs)
    first = int(log.submit[0])
    for step in (1, 5):
        made, earned = played(log, as_cluster(capacity), mode, Agent(step))
        rows = slow(jobs, capacity, Agent(step)).rows
        assert (made.starts[0] + first).tolist() == [row.start for row in rows]
        run = log.run
        slowdown = (made.starts[0] + first - log.submit + run) / np.maximum(run, 10)
        assert earned == pytest.approx(-np.maximum(1, slowdown).mean())


def a_log(n: int = 400, seed: int = 3) -> Workload:
    rng = np.random.default_rng(seed)
    request = rng.integers(10, 400, n)
    return Workload.build(
        submit=np.sort(rng.integers(0, 20 * n, n)),
        run=np.minimum(request, rng.integers(1, 300, n)),
        request=request,
        procs=rng.integers(1, 17, n),
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_first_action_is_easy_in_every_lane(mode):
    """Lanes are independent, and each continues with its own windows."""
    log, pool = a_log(), Cluster.pool(32)
    made = Episodes(log, pool, mode=mode, window=60, slots=64, lanes=7, windows=11)
    made.reset(seed=5)
    finished = 0
    for _ in range(400):
        made.step(np.zeros(7, np.int64))
        for lane in np.flatnonzero(made.over):
            part = log.take(np.arange(made.windows[lane], made.windows[lane] + 60))
            wanted = simulate(part, pool, parse_policy("easy")).start - part.submit[0]
            assert made.starts[lane].tolist() == wanted.tolist()
            finished += 1
    assert finished > 14


def test_a_seed_repeats_an_episode():
    """The same windows, observations and rewards."""
    log, pool = a_log(), Cluster.pool(32)
    seen = []
    for _ in range(2):
        made = Episodes(log, pool, mode="backfill", window=50, slots=8, lanes=3)
        made.reset(seed=9)
        total = np.zeros(3)
        for _ in range(60):
            made.step(np.zeros(3, np.int64))
            total += made.reward
        seen.append((made.windows.tolist(), total.tolist(), made.seen.tolist()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("mode", "action", "why"),
    [
        (
            "order",
            5,
            "lane 1: action 5 is not possible, only [1-5] jobs may be next: choose from 0",
        ),
        ("order", 8, "lane 1: action 8 is not possible, actions are 0 to 7 "),
        ("order", -1, "lane 1: action -1 is not possible"),
        ("backfill", 7, r"only [1-7] jobs may overtake the head: choose .* or 8 \(none\)"),
    ],
)
def test_an_impossible_action_is_rejected(mode, action, why):
    """With the lane and the reason, and nothing has moved; all lanes were to get one action."""
    made = Episodes(a_log(), Cluster.pool(32), mode=mode, window=50, slots=8, lanes=3)
    made.reset(seed=9)
    while made.over.any() or (0 <= action < made.mask.shape[1] and made.mask[1, action]):
        made.step(np.zeros(3, np.int64))
    before = made.decisions, made.seen.copy(), made.mask.copy()
    with pytest.raises(UsageError, match=why):
        made.step(np.array([0, action, 0]))
    assert made.decisions == before[0]
    assert (made.seen == before[1]).all() and (made.mask == before[2]).all()
    for wrong in (np.zeros(2, np.int64), np.array([0.0, 0.5, 0.0]), np.zeros((3, 1), np.int64)):
        with pytest.raises(UsageError, match="a whole number for each of the 3 lanes"):
            made.step(wrong)


def test_what_has_no_meaning_is_refused():
    """A job that outlives its request would break promises; one that fits nowhere never starts."""
    log = Workload.build(submit=[0], run=[9], procs=[1], request=[5], limit=[20])
    with pytest.raises(UsageError, match="end within their request"):
        Episodes(log, Cluster.pool(4), mode="order", window=1)
    wide = Workload.build(submit=[0], run=[9], procs=[8])
    with pytest.raises(UsageError, match="fit nowhere"):
        Episodes(wide, Cluster.pool(4), mode="order", window=1)
