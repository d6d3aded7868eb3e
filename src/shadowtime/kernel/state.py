"""The tables a run works on: what a policy may know (State) and the truth (World).

A pass is given the State alone, so no policy can see a true run time. The event loop holds both.
Everything is allocated here, once; kernels allocate nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import (
    BIG,
    BITS,
    BLOCK,
    COUNT,
    FAILED,
    GROUP,
    HEAD,
    LEARNER,
    NEVER,
    UNKNOWN_USER,
    WAKE,
)

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload


class State(NamedTuple):
    """What the scheduler sees and remembers; columns and rows are named in fields.py."""

    reg: Any  # int64[COUNT]: scalars, see registers.py
    job: Any  # int64[n, NEED + K]: a row per job in (submit, id) order
    wait: Any  # int32[2, padded n]: the queue, tombstones where a job does not wait
    least: Any  # int32[KNOWN, blocks]: minima of each block of 64 of the queue
    group: Any  # int32[KNOWN + 1, groups]: minima of each group of 64 blocks
    running: Any  # int64[room]: keys (expected end, job), ascending
    host: Any  # int64[2, H, K]: free and capacity
    did: Any  # int64[2, 2n]: what the pass decided, in order
    tried: Any  # int64[TRIED, room]: preempted attempts
    user: Any  # int64[users, 4]: what estimates learned
    ended: Any  # int64[room]: jobs that ended at this instant


class World(NamedTuple):
    """The truth behind the State: run times and ends."""

    truth: Any  # int64[n, 3]
    of_rank: Any  # int64[n]: jobs by id
    ends: Any  # int64 heap of (end, rank)
    corrections: Any  # int64 heap of (time, rank)


def build(
    workload: Workload, cluster: Cluster, *, estimate: Any, learner: int = 0
) -> tuple[State, World]:
    """Fresh tables for one run; ``estimate`` is what is known of each run time at submission.

    ``learner`` says how estimates learn (estimates.py); 0 keeps them as they are given.
    """
    n = len(workload)
    capacity = np.array([host.capacity for host in cluster.hosts], np.int64)
    room = min(n, sum(host.capacity[0] for host in cluster.hosts)) + 2
    blocks = n // BLOCK + 1
    groups = blocks // GROUP + 1
    users, user = np.zeros(min(n, 1), np.int64), None
    if learner:  # only what learns looks at users
        users, user = np.unique(workload.user, return_inverse=True)
    history = np.full((len(users) + 1, 4), -1, np.int64)
    history[:, f.FIRST_JOB] = n
    reg = np.zeros(COUNT, np.int64)
    reg[BITS] = max(1, n.bit_length())
    reg[HEAD] = -1
    reg[FAILED] = -1
    reg[WAKE] = NEVER
    reg[LEARNER] = learner
    reg[UNKNOWN_USER] = 0 if len(users) and users[0] < 0 else -1
    of_rank = _by_id(workload.job_id)
    truth = np.empty((n, 3), np.int64)
    truth.fill(-1)
    truth[:, f.RUN] = workload.run
    truth[of_rank, f.RANK] = np.arange(n)
    state = State(
        reg=reg,
        job=_jobs(workload, cluster, estimate, user, learner=learner),
        wait=np.full((2, blocks * BLOCK), BIG, np.int32),
        least=np.full((f.KNOWN, groups * GROUP), BIG, np.int32),
        group=np.zeros((f.KNOWN + 1, groups), np.int32),
        running=np.zeros(room, np.int64),
        host=np.array([capacity, capacity]),
        did=np.zeros((2, 2 * n + 2), np.int64),
        tried=np.zeros((f.TRIED, room), np.int64),
        user=history,
        ended=np.zeros(room, np.int64),
    )
    world = World(
        truth=truth,
        of_rank=of_rank,
        ends=np.empty(2 * room, np.int64),
        corrections=np.empty(2 * n + 2 if learner else 1, np.int64),
    )
    return state, world


def _jobs(workload: Workload, cluster: Cluster, estimate: Any, user: Any, *, learner: int) -> Any:
    """The table of jobs; needs in the order of the cluster's resources, 0 where there are none."""
    row = [-1] * f.NEED + [0] * len(cluster.resources)
    for column in (f.HOST, f.REASON, f.KILLS, f.STEPS, f.EXCLUSIVE, f.CLASS, f.AHEAD):
        row[column] = 0
    table = np.empty((len(workload), len(row)), np.int64)
    table[:] = row
    table[:, f.SUBMIT] = workload.submit
    table[:, f.REQUEST] = workload.request
    table[:, f.LIMIT] = workload.limit
    table[:, f.ESTIMATE] = estimate
    if learner:
        table[:, f.USER] = user
        table[:, f.NEXT] = _next_of_user(user)
    have = {name: column for column, name in enumerate(workload.resources)}
    for k, name in enumerate(cluster.resources):
        if name in have:
            table[:, f.NEED + k] = workload.demand[:, have[name]]
    return table


def _by_id(job_id: Any) -> Any:
    """Jobs in the order of their ids: mostly the order they are in."""
    if (job_id[1:] > job_id[:-1]).all():
        return np.arange(len(job_id))
    return np.argsort(job_id, kind="stable").astype(np.int64)


def _next_of_user(user: Any) -> Any:
    """For every job the next one of the same user in job order, n where there is none."""
    n = len(user)
    order = np.lexsort((np.arange(n), user))
    following = np.full(n, n, np.int64)
    same = user[order[1:]] == user[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following
