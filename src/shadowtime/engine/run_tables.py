"""The tables of a run before, during and after it: checks, marks, room, and the schedule."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel import tables as t
from shadowtime.kernel.state import State, World
from shadowtime.policy import Policy
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.timeline import instants, least
from shadowtime.types import UNKNOWN, AnyArray, Ints, Reason
from shadowtime.workload import Workload
from shadowtime.workload.follows import COMES_AT


def seen_by_instants(schedule: Schedule) -> Schedule:
    """The schedule with reasons as they look once all passes of an instant are over.

    With a pass for each event a job may be blocked and start at one instant; a reader of a schedule
    knows its instants alone.
    """
    rows = np.arange(len(schedule))
    waits = schedule.start > schedule.submit
    at = instants(schedule.submit, schedule.start, schedule.end)
    head = least(
        at, schedule.submit[waits], schedule.start[waits], rows[waits], nothing=len(schedule)
    )
    blocked_at = np.full(len(schedule) + 1, UNKNOWN, np.int64)
    blocked_at[head[::-1]] = at[::-1]  # written backwards, the first instant stays
    blocked_at = blocked_at[:-1]
    first = np.where(blocked_at >= 0, int(Reason.RESERVED), int(Reason.HEAD))
    behind = head[np.searchsorted(at, schedule.start)] < rows
    reason = np.where(behind, int(Reason.BACKFILLED), first).astype(np.int8)
    assert schedule.promised is not None
    promised = np.where(blocked_at >= 0, schedule.promised, UNKNOWN)
    return schedule.replace(reason=reason, blocked_at=blocked_at, promised=promised)


def places_of(state: State, cluster: Cluster) -> tuple[str, ...]:
    """The host every job ran on, by name."""
    names = [host.name for host in cluster.hosts]
    return tuple(names[host] for host in state.job[:, f.HOST].tolist())


def mark_classes(state: State, workload: Workload, cluster: Cluster, policy: Policy) -> None:
    """Enter which jobs take a whole host, and the classes of the partition part."""
    if cluster.shape == "hosts":
        from shadowtime.cluster.cluster import dedicated

        state.job[:, f.EXCLUSIVE] = dedicated(workload, cluster)
    part = policy.partition.classes
    if part is not None:
        from shadowtime.engine.partitions import classes_of, reject_unplaceable

        reject_unplaceable(part, cluster, workload)
        state.job[:, f.CLASS] = classes_of(part, workload)


def leaves_the_queue(workload: Workload) -> bool:
    """True if some job is cancelled while it waits."""
    leaves = workload.extra.get("cancel_at")
    return leaves is not None and bool((leaves >= 0).any())


def refuse_unfit(workload: Workload, cluster: Cluster) -> None:
    """Reject jobs that could never start or that the engine cannot simulate faithfully."""
    if leaves_the_queue(workload):
        raise UsageError(
            "the workload holds jobs that leave the queue unstarted (cancelled="
            "queue-until-cancel), which is simulated on a pool or a site; use --cancelled drop"
        )
    if len(cluster.hosts) == 1 and workload.resources == cluster.resources:  # most logs by far
        capacity = cluster.hosts[0].capacity
        if all(asked <= held for asked, held in zip(workload.most, capacity, strict=True)):
            return
    have = {name: column for column, name in enumerate(workload.resources)}
    for name in workload.resources:
        if name not in cluster.resources and bool(workload.demand[:, have[name]].any()):
            raise UsageError(
                f"jobs of {workload.name} demand {name}, which the cluster does not count: add it "
                "to the cluster, or leave it out with workload.clean.fit(uncounted='ignore')"
            )
    largest = np.array([host.capacity for host in cluster.hosts], np.int64)
    fits_somewhere = np.zeros(len(workload), bool)
    for capacity in np.unique(largest, axis=0) if len(largest) > 1 else largest:
        fits_here = np.ones(len(workload), bool)
        for k, name in enumerate(cluster.resources):
            if name in have:
                fits_here &= workload.demand[:, have[name]] <= capacity[k]
        fits_somewhere |= fits_here
    if not fits_somewhere.all():
        job = int(workload.job_id[~fits_somewhere][0])
        count = int((~fits_somewhere).sum())
        raise UsageError(
            f"{count} of {len(workload)} jobs fit nowhere on the machine, the first is job {job}; "
            "drop them with workload.clean.fit, or describe a larger machine"
        )


def with_more_room(state: State) -> State:
    """Double the log of preempted attempts."""
    larger = np.zeros((f.TRIED, 2 * state.tried.shape[1] + 16), np.int64)
    larger[:, : state.tried.shape[1]] = state.tried
    return state._replace(tried=larger)


def as_schedule(
    workload: Workload,
    state: State,
    world: World,
    *,
    name: str,
    claims: tuple[str, ...],
    limit: Ints | None = None,
) -> Schedule:
    """The rows of a finished run; ``limit`` for a caller who knows that it did not change."""
    job, n = state.job, len(workload)
    if limit is None:
        limit = job[:, f.LIMIT]
    run, limit = np.ascontiguousarray(workload.run), np.ascontiguousarray(limit)
    wide, narrow = np.empty((t.WIDE, n), np.int64), np.empty((t.NARROW, n), np.int8)
    stopped = bool(t.read_results(job, run, limit, wide, narrow)) or state.reg[r.ATTEMPTS] != 0
    start, promised, blocked_at, kills, end = wide
    reason, killed = narrow
    counters = {
        "passes": int(state.reg[r.PASSES]),
        "events": int(state.reg[r.EVENTS]),
        "preemptions": int(state.reg[r.KILLS]),
        "slipped_promises": int(state.reg[r.SLIPPED]),
        "clamped_predictions": int(state.reg[r.CLAMPED]),
    }
    return Schedule(
        job_id=workload.job_id,
        submit=job[:, f.SUBMIT].copy() if COMES_AT in workload.extra else workload.submit,
        start=start,
        end=end,
        procs=workload.procs,
        reason=reason,
        kills=kills,
        killed=killed,
        promised=promised,
        blocked_at=blocked_at,
        limit=limit,
        attempts=attempts_of(workload, state, start, end) if stopped else Attempts.none(),
        policy=name,
        claims=claims,
        counters=counters,
    )


def attempts_of(
    workload: Workload, state: State, start: AnyArray, end: AnyArray, cut: Any = False
) -> Attempts:
    """All runs of preempted jobs: the lost ones from the log, then the one that counted.

    A job that never ran again (start -1) has no such run; of one that was ``cut`` off for good,
    nothing that it did counts.
    """
    if state.reg[r.ATTEMPTS] == 0 and not state.job[:, f.KILLS].any():
        return Attempts.none()
    lost = state.tried[:, : state.reg[r.ATTEMPTS]]
    last = np.flatnonzero((state.job[:, f.KILLS] > 0) & (start >= 0))
    jobs = np.concatenate([lost[f.VICTIM], last])
    begin = np.concatenate([lost[f.FROM], start[last]])
    until = np.concatenate([lost[f.UNTIL], end[last]])
    killed = np.concatenate([np.ones(lost.shape[1], np.int8), np.zeros(len(last), np.int8)])
    order = np.lexsort((jobs, begin))
    made = Attempts(
        job_id=workload.job_id[jobs[order]],
        start=begin[order],
        end=until[order],
        killed=killed[order],
    )
    if state.reg[r.SAVE_EVERY] == 0 and state.reg[r.OVERHEAD] == 0:
        return made
    before = state.job[:, f.AHEAD] + state.reg[r.OVERHEAD]
    whole = np.where(cut, before, np.minimum(workload.run, state.job[:, f.LIMIT]))
    saved = np.concatenate([lost[f.SAVED], whole[last]])
    return made.with_work(saved[order], restart=int(state.reg[r.OVERHEAD]))


def keep_work(state: State, policy: Policy) -> None:
    """Write into a fresh state when work is safe and what starting again costs."""
    state.reg[r.SAVE_EVERY] = policy.preempt.save_every
    state.reg[r.OVERHEAD] = policy.preempt.restart_s
    if policy.preempt.changes_runs:
        state.job[:, f.INITIAL] = state.job[:, f.ESTIMATE]
