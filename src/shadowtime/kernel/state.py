"""The tables a run works on: what a policy may know (State) and the truth (World).

A pass is given the State alone, so no policy can see a true run time. The event loop holds both.
Everything is allocated here, once; kernels allocate nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload


class State(NamedTuple):
    """What the scheduler sees and remembers; columns and rows are named in fields.py."""

    reg: Ints  # int64[COUNT]: scalars, see registers.py
    job: Ints  # int64[n, NEED + K]: a row per job in (submit, id) order
    wait: AnyArray  # int32[2, padded n]: the queue, tombstones where a job does not wait
    least: AnyArray  # int32[KNOWN, blocks]: minima of each block of 64 of the queue
    group: AnyArray  # int32[KNOWN + 1, groups]: minima of each group of 64 blocks
    running: Ints  # int64[room]: keys (expected end, job), ascending
    host: Ints  # int64[2, H, K]: free and capacity
    did: Ints  # int64[2, 2n]: what the pass decided, in order
    tried: Ints  # int64[TRIED, room]: preempted attempts
    user: Ints  # int64[users, 4]: what estimates learned
    ended: Ints  # int64[room]: jobs that ended at this instant


class World(NamedTuple):
    """The truth behind the State: run times and ends."""

    truth: Ints  # int64[n, 3]
    of_rank: Ints  # int64[n]: jobs by id
    ends: Ints  # int64 heap of (end, rank)
    corrections: Ints  # int64 heap of (time, rank)


def build(
    workload: Workload,
    cluster: Cluster,
    *,
    estimate: AnyArray,
    learner: int = 0,
    compiled: bool = False,
) -> tuple[State, World]:
    """Fresh tables for one run; ``estimate`` is what is known of each run time at submission.

    ``learner`` selects how estimates learn (estimates.py); 0 keeps them as they are given.
    ``compiled``: fill them with compiled code, for a caller that will run a compiled pass anyway.
    """
    n = len(workload)
    held = [host.capacity for host in cluster.hosts]
    room = min(n, sum(capacity[0] for capacity in held)) + 2
    blocks = n // r.BLOCK + 1
    groups = blocks // r.GROUP + 1
    users, user = 1, None
    if learner:  # only what learns looks at users
        known, user = np.unique(workload.user, return_inverse=True)
        users = len(known)
    reg = np.zeros(r.COUNT, np.int64)
    reg[r.BITS] = max(1, n.bit_length())
    reg[r.HEAD] = reg[r.FAILED] = -1
    reg[r.WAKE] = r.NEVER
    reg[r.LEARNER] = learner
    reg[r.UNKNOWN_USER] = 0 if user is not None and users and known[0] < 0 else -1
    if compiled and not learner and workload.ids_ascend:
        job, of_rank, truth = _filled_tables(workload, cluster, estimate)
    else:
        of_rank, truth = _truth(workload)
        job = _jobs(workload, cluster, estimate, user, learner=learner)
    state = State(
        reg=reg,
        job=job,
        wait=_filled((2, blocks * r.BLOCK), r.BIG, np.int32),
        least=_filled((f.KNOWN, groups * r.GROUP), r.BIG, np.int32),
        group=np.zeros((f.KNOWN + 1, groups), np.int32),
        running=np.zeros(room, np.int64),
        host=np.array((held, held), np.int64),
        did=np.zeros((2, 2 * n + 2), np.int64),
        tried=np.zeros((f.TRIED, room), np.int64),
        user=np.array(((-1, -1, -1, n),) * (users + 1), np.int64),
        ended=np.zeros(room, np.int64),
    )
    world = World(
        truth=truth,
        of_rank=of_rank,
        ends=np.empty(2 * room, np.int64),
        corrections=np.empty(2 * n + 2 if learner else 1, np.int64),
    )
    return state, world


def _filled(shape: tuple[int, ...], value: int, kind: Any) -> Any:
    """An array of one value; ``np.full`` takes twice as long for a short one."""
    made = np.empty(shape, kind)
    made.fill(value)
    return made


def _filled_tables(
    workload: Workload, cluster: Cluster, estimate: AnyArray
) -> tuple[Any, Any, Any]:
    """The table of jobs, jobs in the order of their ids, and the truth: as below, in one go."""
    from shadowtime.kernel.tables import fill_tables

    n = len(workload)
    have = workload.resources
    place = [have.index(name) if name in have else -1 for name in cluster.resources]
    job = np.empty((n, f.NEED + len(place)), np.int64)
    of_rank, truth = np.empty(n, np.int64), np.empty((n, 3), np.int64)
    columns = workload.submit, workload.request, workload.limit, estimate, workload.run
    submit, request, limit, known, run = (np.ascontiguousarray(each) for each in columns)
    demand = np.ascontiguousarray(workload.demand)
    fill_tables(
        submit, request, limit, known, run, demand, np.array(place), job, truth, of_rank
    )  # fmt: skip
    return job, of_rank, truth


def _truth(workload: Workload) -> tuple[Any, Any]:
    """Jobs in the order of their ids, and the table of run times, ends and places in that order."""
    n = len(workload)
    truth = _filled((n, 3), -1, np.int64)
    truth[:, f.RUN] = workload.run
    if workload.ids_ascend:
        of_rank = np.arange(n)
        truth[:, f.RANK] = of_rank
    else:
        of_rank = np.argsort(workload.job_id, kind="stable").astype(np.int64)
        truth[of_rank, f.RANK] = np.arange(n)
    return of_rank, truth


ROWS = 1024
"""Jobs whose rows are filled in one go: they stay in the processor's cache meanwhile."""


@cache
def _empty_rows(resources: int) -> Any:
    """Rows of jobs of which nothing is known."""
    row = [-1] * f.NEED + [0] * resources
    for column in (f.HOST, f.REASON, f.KILLS, f.STEPS, f.EXCLUSIVE, f.CLASS, f.AHEAD):
        row[column] = 0
    made = np.array([row] * ROWS, np.int64)
    made.flags.writeable = False
    return made


def _jobs(
    workload: Workload, cluster: Cluster, estimate: AnyArray, user: Any, *, learner: int
) -> Any:
    """The table of jobs; needs in the order of the cluster's resources, 0 where there are none."""
    columns = [
        (f.SUBMIT, workload.submit),
        (f.REQUEST, workload.request),
        (f.LIMIT, workload.limit),
        (f.ESTIMATE, estimate),
    ]
    if learner:
        columns += [(f.USER, user), (f.NEXT, _next_of_user(user))]
    for k, name in enumerate(cluster.resources):
        if name in workload.resources:
            columns.append((f.NEED + k, workload.demand[:, workload.resources.index(name)]))
    n, empty = len(workload), _empty_rows(len(cluster.resources))
    table = np.empty((n, empty.shape[1]), np.int64)
    for begin in range(0, n, ROWS):
        end = min(begin + ROWS, n)
        rows = table[begin:end]
        rows[:] = empty[: end - begin]
        for at, values in columns:
            rows[:, at] = values[begin:end]
    return table


def _next_of_user(user: Any) -> Any:
    """For every job the next one of the same user in job order, n where there is none."""
    n = len(user)
    order = np.lexsort((np.arange(n), user))
    following = np.full(n, n, np.int64)
    same = user[order[1:]] == user[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following
