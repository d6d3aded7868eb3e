"""Small worlds for the report's tests: a workload, a plain scheduler, a report input."""

from __future__ import annotations

import heapq

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.metrics import measure
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.inputs import ReportInput
from shadowtime.schedule import Schedule
from shadowtime.types import Reason
from shadowtime.workload import Workload


def workload(
    jobs: int, *, seed: int = 1, procs: int = 64, load: float = 0.9, **columns
) -> Workload:
    """Random jobs that keep a machine of ``procs`` processors at about the given ``load``."""
    rng = np.random.default_rng(seed)
    size = np.minimum(2 ** rng.integers(0, 6, jobs), procs)
    run = np.maximum(1, np.exp(rng.normal(6.0, 1.8, jobs))).astype(np.int64)
    gap = float((size * run).mean()) / (procs * load) if jobs else 1.0
    submit = np.cumsum(rng.exponential(gap, jobs)).astype(np.int64)
    request = (run * rng.uniform(1.0, 6.0, jobs)).astype(np.int64)
    columns.setdefault("user", rng.integers(1, 14, jobs))
    columns.setdefault("name", "random")
    return Workload.build(submit=submit, run=run, request=request, procs=size, **columns)


def easy(
    jobs: Workload, procs: int, *, backfill: bool = True, shortest_first: bool = False
) -> Schedule:
    """EASY (or plain FCFS) as in the textbook, one pass per instant."""
    n = len(jobs)
    size, run, estimate = jobs.procs.tolist(), jobs.effective_run.tolist(), jobs.request.tolist()
    submit = jobs.submit.tolist()
    start, promised, blocked = [-1] * n, [-1] * n, [-1] * n
    reason = [0] * n
    ends: list[tuple[int, int]] = []
    running: dict[int, int] = {}
    queue: list[int] = []
    free, arrived = procs, 0

    def begin(job: int, why: Reason, now: int) -> None:
        nonlocal free
        start[job], reason[job] = now, int(why)
        running[job] = now + estimate[job]
        heapq.heappush(ends, (now + run[job], job))
        free -= size[job]

    while arrived < n or ends:
        now = min([end for end, _ in ends[:1]] + submit[arrived : arrived + 1])
        while ends and ends[0][0] == now:
            job = heapq.heappop(ends)[1]
            free += size[job]
            del running[job]
        while arrived < n and submit[arrived] == now:
            queue.append(arrived)
            arrived += 1
        while queue and size[queue[0]] <= free:
            job = queue.pop(0)
            begin(job, Reason.RESERVED if blocked[job] >= 0 else Reason.HEAD, now)
        if not queue:
            continue
        head, available = queue[0], free
        shadow = now
        for end, job in sorted((end, job) for job, end in running.items()):
            if available >= size[head] and end > shadow:
                break
            available, shadow = available + size[job], end
        extra = available - size[head]
        if blocked[head] < 0:
            blocked[head], promised[head] = now, shadow
        rest = queue[1:]
        if shortest_first:
            rest.sort(key=lambda job: estimate[job])
        for job in rest if backfill else ():
            ends_in_time = now + estimate[job] <= shadow
            if size[job] <= free and (ends_in_time or size[job] <= extra):
                extra -= 0 if ends_in_time else size[job]
                begin(job, Reason.BACKFILLED, now)
                queue.remove(job)
    starts = np.array(start, dtype=np.int64)
    return Schedule(
        job_id=jobs.job_id,
        submit=jobs.submit,
        start=starts,
        end=starts + jobs.effective_run,
        procs=jobs.procs,
        reason=np.array(reason, dtype=np.int8),
        kills=np.zeros(n, np.int64),
        killed=(jobs.run > jobs.limit).astype(np.int8),
        promised=np.array(promised, dtype=np.int64),
        blocked_at=np.array(blocked, dtype=np.int64),
    )


def policy_run(name: str, jobs: Workload, procs: int, **options) -> PolicyRun:
    schedule = easy(jobs, procs, **options).replace(policy=name)
    return PolicyRun(
        name=name,
        schedule=schedule,
        parameters={"order": "fcfs", "reserve": 1, **options},
        metrics=measure(schedule, jobs, Cluster.pool(procs)),
    )


POLICIES = {"fcfs": {"backfill": False}, "easy": {}, "easy-sjbf": {"shortest_first": True}}


def report_input(jobs: int = 300, *, procs: int = 64, policies=tuple(POLICIES), **changes):
    """A report of some policies over random jobs."""
    work = changes.pop("workload", None)
    work = workload(jobs, procs=procs) if work is None else work
    runs = changes.pop("runs", None)
    if runs is None:
        runs = tuple(policy_run(name, work, procs, **POLICIES[name]) for name in policies)
    return ReportInput(
        title=changes.pop("title", "Three policies over random jobs"),
        workload=work,
        cluster=changes.pop("cluster", Cluster.pool(procs)),
        runs=runs,
        versions={"shadowtime": "0.1.0", "python": "3.11"},
        command="shadowtime compare random.swf --policy fcfs --policy easy",
        **changes,
    )
