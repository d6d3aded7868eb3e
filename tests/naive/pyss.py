"""The slow reference of schedules in the event order of the simulator pyss.

Written from its documented behaviour: one event at a time, at equal times submissions first, then
terminations, then starts; equal ones in the order in which they were made. A pass follows every
submission and termination. What is free is read from a plan in which a job holds its processors
until its estimate is over, or until its termination is handled.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.verify.world import Job

SUBMISSION, TERMINATION, START = 1, 2, 3


def pyss(jobs: list[Job], capacity: int, *, backfills: bool) -> dict[int, int]:
    """The start of each job by id, under EASY or first come, first served."""
    plan: dict[int, tuple[int, int, int]] = {}  # start, planned end, processors
    waiting: list[Job] = []
    number = count()
    events: list[tuple[int, int, int, Job]] = []
    for job in sorted(jobs, key=lambda job: (job.submit, job.id)):
        heapq.heappush(events, (job.submit, SUBMISSION, next(number), job))

    def free(held: list[tuple[int, int, int]], at: int) -> int:
        return capacity - sum(procs for start, end, procs in held if start <= at < end)

    def can_run(held: list[tuple[int, int, int]], job: Job, at: int) -> bool:
        moments = [at, *(start for start, _, _ in held if at < start < at + job.request)]
        return all(free(held, moment) >= job.need[0] for moment in moments)

    def begin(now: int, job: Job) -> None:
        waiting.remove(job)
        plan[job.id] = (now, now + job.request, job.need[0])
        heapq.heappush(events, (now, START, next(number), job))

    def one_pass(now: int) -> None:
        while waiting and free(list(plan.values()), now) >= waiting[0].need[0]:
            begin(now, waiting[0])
        for job in waiting[1:] if backfills else []:
            held, head = list(plan.values()), waiting[0]
            if free(held, now) < job.need[0]:
                continue
            ends = sorted({now, *(end for _, end, _ in held if end > now)})
            when = next(at for at in ends if can_run(held, head, at))
            if can_run([*held, (when, when + head.request, head.need[0])], job, now):
                begin(now, job)

    started: dict[int, int] = {}
    while events:
        now, kind, _, job = heapq.heappop(events)
        if kind == START:
            started[job.id] = now
            end = now + job.effective_run
            heapq.heappush(events, (end, TERMINATION, next(number), job))
            continue
        if kind == SUBMISSION:
            waiting.append(job)
        else:
            start, end, procs = plan[job.id]
            plan[job.id] = (start, min(end, now), procs)
        one_pass(now)
    return started
