"""simulate(workload, cluster, policy) -> Schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.claims import claims_of
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.plan import plan, refuse_functions_on_nodes
from shadowtime.engine.work import keep_work
from shadowtime.errors import PolicyError, UsageError
from shadowtime.kernel import fields as f
from shadowtime.kernel import tables as t
from shadowtime.kernel.registers import (
    ATTEMPTS,
    BY_EVENT,
    CLAMPED,
    EVENTS,
    KILLS,
    OVERHEAD,
    PASSES,
    SAVE_EVERY,
    SLIPPED,
    VOLATILE,
)
from shadowtime.kernel.state import State, World, build
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.timeline import instants, least
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.policy import Policy
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


def simulate(workload: Workload, cluster: Cluster | Site, policy: Policy | Any) -> Schedule:
    """Run a workload through a policy on a machine.

    Rules
    -----
    Every job must fit on the machine (``workload.clean.fit`` drops or refuses those that do not).
    ``policy`` is a Policy, any object with ``decide`` (engine/python_policy.py): slower, same
    result; or a whole scheduler with ``simulate`` (shadowtime.slurm.policy).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> simulate(jobs, Cluster.pool(4), parse_policy("easy")).start.tolist()
    [0, 9, 2]
    """
    if hasattr(policy, "simulate"):  # a whole scheduler, such as Slurm's own
        return policy.simulate(workload, cluster)  # type: ignore[no-any-return]
    if not isinstance(cluster, Cluster):  # a site, whose types most runs do not need
        from shadowtime.engine.site import simulate_site

        return simulate_site(workload, cluster, policy)
    if cluster.shape == "nodes":
        from shadowtime.engine.nodes import simulate_nodes

        if not hasattr(policy, "decide"):
            refuse_functions_on_nodes(policy)
        return simulate_nodes(workload, cluster, policy)
    own_code = hasattr(policy, "decide")
    by_usage = not own_code and policy.order.by_usage
    if cluster.shape == "pool" and not own_code and (by_usage or leaves_the_queue(workload)):
        from shadowtime.engine.site.pool import simulate_as_site

        return simulate_as_site(workload, cluster, policy)
    refuse_unfit(workload, cluster)
    if hasattr(policy, "decide"):
        from shadowtime.engine.python_policy import simulate_object

        return simulate_object(workload, cluster, policy)
    known = known_at_submission(policy.estimate, workload)
    state, world = build(
        workload, cluster, estimate=known.estimate, learner=known.learner, compiled=True
    )
    mark_classes(state, workload, cluster, policy)
    state.reg[VOLATILE] = not known.safe
    state.reg[CLAMPED] = known.clamped
    keep_work(state, policy)
    state.reg[BY_EVENT] = policy.order.by_event
    own = None
    if policy.written:
        from shadowtime.engine.custom import own_of

        own = own_of(policy, workload)
    loop = plan(policy, cluster, len(workload), own)
    from shadowtime.engine.events import DONE, ROOM_NEEDED

    while (code := loop(state, world)) == ROOM_NEEDED:
        state = with_more_room(state)
    if code != DONE:
        from shadowtime.engine.failures import raise_failure

        raise_failure(policy, code, state, own, lambda job: str(workload.job_id[job]))
    if policy.backfill.selects and (state.job[:, f.START] < 0).any():
        stuck = int(workload.job_id[state.job[:, f.START] < 0][0])
        raise PolicyError(f"{policy.name} never starts job {stuck}: nothing is left to wait for")
    claims = claims_of(policy, workload)
    limit = workload.limit  # none of these passes changes it
    made = as_schedule(workload, state, world, name=policy.name, claims=claims, limit=limit)
    if policy.order.by_event:
        made = told_by_instants(made)
    return made.replace(place=places_of(state, cluster)) if cluster.shape == "hosts" else made


def told_by_instants(schedule: Schedule) -> Schedule:
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
    """Write down which jobs take a whole host, and the classes of the partition part."""
    if cluster.shape == "hosts":
        from shadowtime.cluster.dedicated import dedicated

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
    """Refuse jobs that could never start or that the engine cannot simulate faithfully."""
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
    stopped = bool(t.read_results(job, run, limit, wide, narrow)) or state.reg[ATTEMPTS] != 0
    start, promised, blocked_at, kills, end = wide
    reason, killed = narrow
    counters = {
        "passes": int(state.reg[PASSES]),
        "events": int(state.reg[EVENTS]),
        "preemptions": int(state.reg[KILLS]),
        "slipped_promises": int(state.reg[SLIPPED]),
        "clamped_predictions": int(state.reg[CLAMPED]),
    }
    return Schedule(
        job_id=workload.job_id,
        submit=workload.submit,
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
    workload: Workload, state: State, start: Any, end: Any, cut: Any = False
) -> Attempts:
    """All runs of preempted jobs: the lost ones from the log, then the one that counted.

    A job that never ran again (start -1) has no such run; of one that was ``cut`` off for good,
    nothing that it did counts.
    """
    if state.reg[ATTEMPTS] == 0 and not state.job[:, f.KILLS].any():
        return Attempts.none()
    lost = state.tried[:, : state.reg[ATTEMPTS]]
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
    if state.reg[SAVE_EVERY] == 0 and state.reg[OVERHEAD] == 0:
        return made
    before = state.job[:, f.AHEAD] + state.reg[OVERHEAD]
    whole = np.where(cut, before, np.minimum(workload.run, state.job[:, f.LIMIT]))
    saved = np.concatenate([lost[f.SAVED], whole[last]])
    return made.with_work(saved[order], restart=int(state.reg[OVERHEAD]))
