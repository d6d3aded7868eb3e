"""Long queues under Slurm's policies: leaving jobs unplanned changes no start."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import thorough
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob, decide
from shadowtime.policy import parse_policy

CORES, CAP = 4, 1000
Plans = list[tuple[int, int, int, int, int]]
"""(node, begin, end, processes, bandwidth of each; -1: the whole node)."""


def free_in(plans: Plans, node: int, begin: int, end: int) -> tuple[int, int]:
    """Cores and bandwidth that stay free on a node throughout a window."""
    mine = [plan for plan in plans if plan[0] == node and plan[1] < end and plan[2] > begin]
    cores, width = CORES, CAP
    for time in {begin, *(plan[1] for plan in mine if plan[1] > begin)}:
        now = [plan for plan in mine if plan[1] <= time < plan[2]]
        cores = min(cores, CORES - sum(CORES if b < 0 else n for *_, n, b in now))
        width = min(width, CAP - sum(n * max(0, b) for *_, n, b in now))
    return cores, width


def plan_all(state: Snapshot) -> dict[str, tuple[tuple[str, int], ...]]:
    """A plan for every waiting job, in order; those that start now (spec: algorithms 6.3)."""
    plans: Plans = []
    for run in state.running:
        until = max(run.start + run.request, state.now + 1)
        for host, count in run.place:
            plans.append((int(host[1:]) - 1, state.now, until, count, int(run.bandwidth)))
    starts = {}
    for job in state.waiting:
        for begin in sorted({state.now, *(plan[2] for plan in plans)}):
            left, place = job.need[0], []
            for node in range(len(state.cluster.hosts)):
                cores, width = free_in(plans, node, begin, begin + job.request)
                if job.bandwidth < 0:
                    room = CORES if cores == CORES else 0
                else:
                    room = min(cores, width // int(job.bandwidth)) if job.bandwidth else cores
                if min(left, room) > 0:
                    place.append((node, min(left, room)))
                    left -= min(left, room)
            if left == 0:
                break
        end = begin + job.request
        plans += [(node, begin, end, count, int(job.bandwidth)) for node, count in place]
        if begin == state.now:
            starts[job.id] = tuple((f"n{node + 1}", count) for node, count in place)
    return starts


def crowd(seed: int) -> Snapshot:
    """Ninety jobs wait for busy nodes: short and long, narrow and wide, high and low demand."""
    draw = np.random.default_rng(seed)
    nodes = int(draw.integers(3, 9))
    kinds = draw.choice([0, 60, 100, 240, 300, 490, -1], 4).tolist()
    longest = int(draw.choice([20, 400]))
    running = []
    for node in range(1, nodes + 1):
        if draw.random() < 0.8:
            place = ((f"n{node}", int(draw.integers(1, 4))),)
            each = int(draw.choice([50, 100, 240]))
            length = int(draw.integers(5, longest))
            running.append(
                RunningJob(
                    id=f"r{node}",
                    submit=0,
                    need=(place[0][1], 0),
                    request=length,
                    start=0,
                    place=place,
                    bandwidth=each,
                )
            )
    waiting = []
    for number in range(90):
        wide = 1 if draw.random() < 0.5 else int(draw.integers(1, 2 * nodes + 1))
        length = int(draw.choice([2, 5, 8, 30, longest, 300]))
        kind = int(draw.choice(kinds))
        waiting.append(
            WaitingJob(id=str(number), submit=0, need=(wide, 0), request=length, bandwidth=kind)
        )
    machine = node_cluster(nodes, procs=CORES, bandwidth=CAP)
    return Snapshot(now=1, cluster=machine, running=tuple(running), waiting=tuple(waiting))


@pytest.mark.parametrize("seed", range(30 if thorough() else 8))
def test_starts_are_those_of_planning_all_jobs(seed: int) -> None:
    """Jobs are deferred, planned later, or never visited: the same start on the same nodes."""
    state = crowd(seed)
    found = decide(parse_policy("hperf"), state, Memory(), shape="nodes").decisions
    assert {start.job: start.place for start in found} == plan_all(state)
