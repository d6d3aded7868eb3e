"""Many simulations side by side that stop for decisions: one compiled call moves all of them.

A *lane* runs windows of a log one after the other on a pool, by the event loop and with the verbs
of all other passes. It stops where an agent has to decide:

- mode ORDER: whenever jobs wait, which of them is next. If it fits it starts; otherwise it holds a
  reservation, others overtake in order of arrival as under EASY, and the next question comes when
  it has started.
- mode BACKFILL: the queue is in order of arrival; whenever its head is blocked and others could
  overtake, which of them starts now, or none (the last action).

The tables of all windows lie in stacks, a window a row; a lane begins one by copying its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.events import DONE, advance, carry_out_decisions
from shadowtime.engine.following import refuse_following
from shadowtime.engine.passes.pool import IN_ORDER, find_shadow, make_pool, may_start
from shadowtime.kernel import fields as f
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import first_waiting, next_waiting
from shadowtime.kernel.registers import HEAD, NOW, SHADOW, WAITING
from shadowtime.kernel.running import BACKFILLED, begin, begin_first, fits
from shadowtime.kernel.state import State, World, build
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload

ORDER, BACKFILL = 0, 1
WINDOW, CHOSEN, OVER, EPISODES, DECISIONS_MADE = range(5)
"""A lane's numbers: its window, the blocked job that was chosen, 1 once the window is over, windows
and decisions so far."""


class Lanes(NamedTuple):
    """All lanes: the tables as they are and as they were, and what is exchanged."""

    state: Any  # State of stacks: a row a lane
    world: Any  # World of the same
    fresh_state: Any  # State of stacks: a row a window
    fresh_world: Any
    lane: Any  # int64[lanes, 5]
    offered: Any  # int64[lanes, slots]: the jobs of the actions, -1 where there is none
    seen: Any  # float32[lanes, slots, features_of(resources)]
    mask: Any  # int8[lanes, slots + 1]: 1 for actions that are possible
    reward: Any  # float64[lanes]
    start: Any  # int64[lanes, n]: of the window that was over last
    par: Any  # int64[2]: mode; seconds that bound a slowdown
    plan: Any  # Pool: EASY's tests, for one lane at a time


def features_of(resources: int) -> int:
    """How many numbers describe a job.

    Wait and estimate in seconds, its share of each resource, 1 if it fits now; the share of each
    resource that is free, and seconds until the reservation (0 without one).

    Examples
    --------
    >>> features_of(1), features_of(3)
    (6, 10)
    """
    return 4 + 2 * resources


def make_lanes(
    windows: Sequence[Workload], cluster: Cluster, *, lanes: int, slots: int, mode: int, bound: int
) -> Lanes:
    """Tables for windows of equal length; each lane begins with a window of its own."""
    built = [build(jobs, cluster, estimate=jobs.request) for jobs in windows]
    fresh_state = stacked(State, [state for state, _ in built])
    fresh_world = stacked(World, [world for _, world in built])
    first, resources = np.arange(lanes) % len(windows), len(cluster.resources)
    made = Lanes(
        state=State(*(column[first].copy() for column in fresh_state)),
        world=World(*(column[first].copy() for column in fresh_world)),
        fresh_state=fresh_state,
        fresh_world=fresh_world,
        lane=np.zeros((lanes, 5), np.int64),
        offered=np.full((lanes, slots), -1, np.int64),
        seen=np.zeros((lanes, slots, features_of(resources)), np.float32),
        mask=np.zeros((lanes, slots + 1), np.int8),
        reward=np.zeros(lanes),
        start=np.full((lanes, len(windows[0])), -1, np.int64),
        par=np.array([mode, bound], np.int64),
        plan=make_pool(n=0, resources=resources, rule=IN_ORDER, reserves=True),
    )
    made.lane[:, WINDOW] = first
    made.lane[:, CHOSEN] = -1
    made.lane[:, OVER] = 1  # the first step begins a window
    return made


def stacked(kind: Any, tables: Sequence[Any]) -> Any:
    """One table of stacks from tables of arrays; where lengths differ, the longest gives room."""
    columns = []
    for parts in zip(*tables, strict=True):
        shape = np.max([part.shape for part in parts], axis=0)
        whole = np.zeros((len(parts), *shape), parts[0].dtype)
        for row, part in enumerate(parts):
            whole[row][tuple(slice(size) for size in part.shape)] = part
        columns.append(whole)
    return kind(*columns)


@kernel
def state_of(table: State, i: int) -> Any:
    """The tables of one lane."""
    return State(
        table.reg[i], table.job[i], table.wait[i], table.least[i], table.group[i],
        table.running[i], table.host[i], table.did[i], table.tried[i], table.user[i],
        table.ended[i],
    )  # fmt: skip


@kernel
def world_of(table: World, i: int) -> Any:
    """The truth behind one lane."""
    return World(table.truth[i], table.of_rank[i], table.ends[i], table.corrections[i])


@entry
def step_lanes(lanes: Lanes, actions: AnyArray, following: AnyArray) -> None:
    """Carry out one action in each lane and go on to its next decision.

    A lane whose window is over begins the window that ``following`` names instead, and its action
    is ignored. The others' actions must be possible.
    """
    for i in range(lanes.lane.shape[0]):
        lanes.reward[i] = 0.0
        if lanes.lane[i, OVER] != 0:
            begin_window(lanes, i, following[i])
            continue
        lanes.lane[i, DECISIONS_MADE] += 1
        act(lanes, i, actions[i])


@routine
def begin_window(lanes: Lanes, i: int, window: int) -> None:
    """Copy the tables of a window into a lane and go to its first decision."""
    a, b = state_of(lanes.state, i), state_of(lanes.fresh_state, window)
    copy(a.reg, b.reg)
    copy2(a.job, b.job)
    copy2(a.wait, b.wait)
    copy2(a.least, b.least)
    copy2(a.group, b.group)
    copy2(a.user, b.user)
    for which in range(a.host.shape[0]):
        copy2(a.host[which], b.host[which])
    v, world = world_of(lanes.world, i), world_of(lanes.fresh_world, window)
    copy2(v.truth, world.truth)
    copy(v.of_rank, world.of_rank)
    lanes.lane[i, WINDOW] = window
    lanes.lane[i, CHOSEN] = -1
    lanes.lane[i, OVER] = 0
    lanes.lane[i, EPISODES] += 1
    next_instant(lanes, i, a, v)
    go_on(lanes, i, a, v)


@kernel
def copy(into: AnyArray, source: AnyArray) -> None:
    """Copy a row; a slice would allocate."""
    for k in range(source.shape[0]):
        into[k] = source[k]


@kernel
def copy2(into: AnyArray, source: AnyArray) -> None:
    """Copy a table."""
    for k in range(source.shape[0]):
        for m in range(source.shape[1]):
            into[k, m] = source[k, m]


@routine
def act(lanes: Lanes, i: int, action: int) -> None:
    """Carry out the agent's action."""
    state, world = state_of(lanes.state, i), world_of(lanes.world, i)
    if lanes.par[0] == ORDER:
        lanes.lane[i, CHOSEN] = lanes.offered[i, action]
    elif action == lanes.offered.shape[1]:
        carry_out_decisions(state, world)
        next_instant(lanes, i, state, world)
    else:
        start(lanes, i, state, world, lanes.offered[i, action], BACKFILLED)
    go_on(lanes, i, state, world)


@kernel
def start(lanes: Lanes, i: int, state: State, world: World, job: int, reason: int) -> None:
    """Start a job and note what that earns: minus its bounded slowdown, divided by the jobs."""
    if reason == BACKFILLED:
        begin(state, job, 0, BACKFILLED)
    else:
        begin_first(state, job, 0)
    wait = state.reg[NOW] - state.job[job, f.SUBMIT]
    run = world.truth[job, f.RUN]
    slowdown = max(1.0, (wait + run) / max(run, lanes.par[1]))
    lanes.reward[i] -= slowdown / state.job.shape[0]


@kernel
def next_instant(lanes: Lanes, i: int, state: State, world: World) -> None:
    """Go to the next instant with a pass, or note that the window is over."""
    if advance(state, world) == DONE:
        lanes.lane[i, OVER] = 1
        for job in range(state.job.shape[0]):
            lanes.start[i, job] = state.job[job, f.START]


@routine
def go_on(lanes: Lanes, i: int, state: State, world: World) -> None:
    """Simulate until the agent has to decide or the window is over."""
    while lanes.lane[i, OVER] == 0:
        if lanes.par[0] == ORDER:
            if start_chosen(lanes, i, state, world) and state.reg[WAITING] > 0:
                offer(lanes, i, state, state.reg[HEAD])
                return
        elif start_head(lanes, i, state, world) > 0:
            return
        carry_out_decisions(state, world)
        next_instant(lanes, i, state, world)
    clear(lanes, i)


@kernel
def start_chosen(lanes: Lanes, i: int, state: State, world: World) -> bool:
    """Start the chosen job, or let others overtake it; True if there is none any more."""
    chosen = lanes.lane[i, CHOSEN]
    state.reg[HEAD] = -1
    if chosen < 0:
        return True
    if fits(state, chosen, 0):
        start(lanes, i, state, world, chosen, 0)
        lanes.lane[i, CHOSEN] = -1
        return True
    block(lanes, state, chosen)
    job = first_waiting(state)
    while job >= 0:
        following = next_waiting(state, job + 1)
        if job != chosen and may_overtake(lanes, state, job):
            overtake(lanes, i, state, world, job)
        job = following
    return False


@kernel
def block(lanes: Lanes, state: State, head: int) -> None:
    """The job at the head does not fit: find its reservation."""
    state.reg[HEAD] = head
    find_shadow(state, lanes.plan, head)
    if state.job[head, f.BLOCKED_AT] < 0:
        state.job[head, f.BLOCKED_AT] = state.reg[NOW]
        state.job[head, f.PROMISED] = state.reg[SHADOW]


@kernel
def may_overtake(lanes: Lanes, state: State, job: int) -> bool:
    """EASY's tests."""
    return may_start(state, lanes.plan, job, state.reg[SHADOW] - state.reg[NOW])


@kernel
def overtake(lanes: Lanes, i: int, state: State, world: World, job: int) -> None:
    """Start a job ahead of the head; the extra processors are computed again."""
    start(lanes, i, state, world, job, BACKFILLED)
    find_shadow(state, lanes.plan, state.reg[HEAD])


@kernel
def start_head(lanes: Lanes, i: int, state: State, world: World) -> int:
    """Start jobs in order of arrival while they fit; how many could overtake the blocked one."""
    head = first_waiting(state)
    while head >= 0 and fits(state, head, 0):
        start(lanes, i, state, world, head, 0)
        head = first_waiting(state)
    state.reg[HEAD] = head
    if head < 0:
        return 0
    block(lanes, state, head)
    return offer(lanes, i, state, head)


@kernel
def clear(lanes: Lanes, i: int) -> None:
    """Offer nothing."""
    for slot in range(lanes.offered.shape[1]):
        lanes.offered[i, slot] = -1
        lanes.mask[i, slot] = 0
        for k in range(lanes.seen.shape[2]):
            lanes.seen[i, slot, k] = 0.0
    lanes.mask[i, lanes.offered.shape[1]] = 0


@routine
def offer(lanes: Lanes, i: int, state: State, head: int) -> int:
    """List the jobs to choose from, in order of arrival; returns how many are possible."""
    clear(lanes, i)
    slots = lanes.offered.shape[1]
    resources = state.host.shape[2]
    left = float(state.reg[SHADOW] - state.reg[NOW]) if head >= 0 else 0.0
    slot = 0
    possible = 0
    job = first_waiting(state)
    while job >= 0 and slot < slots:
        if lanes.par[0] == ORDER or (job != head and may_overtake(lanes, state, job)):
            lanes.offered[i, slot] = job
            lanes.mask[i, slot] = 1
            seen = lanes.seen[i, slot]
            seen[0] = state.reg[NOW] - state.job[job, f.SUBMIT]
            seen[1] = state.job[job, f.ESTIMATE]
            for k in range(resources):
                total = float(max(1, state.host[f.CAPACITY, 0, k]))
                seen[2 + k] = state.job[job, f.NEED + k] / total
                seen[3 + resources + k] = state.host[f.FREE, 0, k] / total
            seen[2 + resources] = 1.0 if fits(state, job, 0) else 0.0
            seen[3 + 2 * resources] = left
            slot += 1
            possible += 1
        job = next_waiting(state, job + 1)
    if lanes.par[0] == BACKFILL and possible > 0:
        lanes.mask[i, slots] = 1
    return possible


def windows_of(
    workload: Workload, jobs: int, starts: Ints, *, shift: bool = True
) -> list[Workload]:
    """Windows of a log: ``jobs`` of them from each place on, by ``shift`` the first one at 0."""
    refuse_following(workload, "an environment")
    made = []
    for first in starts.tolist():
        part = workload.take(np.arange(first, first + jobs))
        made.append(part.replace(submit=part.submit - shift * part.submit[0]))
    return made
