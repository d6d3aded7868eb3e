"""Jobs that others put off during a run: suspended, resumed, requeued or cancelled."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.slurm.gang import shadowed

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.loop import Loop


def rotate(loop: Loop, time: float) -> None:
    """After a start or an end gang scheduling suspends or resumes jobs.

    In some partitions jobs are requeued or cancelled instead.
    """
    state, now = loop.state, math.floor(time)
    stopped = shadowed(state.running, state.machine.sections)
    for job in list(state.running):
        if job.id not in stopped:
            if job.suspended_at is not None:
                _resumed(loop, time, job)
            continue
        if job.suspended_at is not None:
            continue
        if state.preemption.mode_of(job, state.machine) in ("requeue", "cancel"):
            state.release(job)
            evicted(loop, time, job)
            continue
        row = loop.row_of[job.id]
        job.suspend(now)
        loop.left[job.id] = loop.ends.pop(job.id) - time
        loop.out.preemptions += 1
        loop.out.paused.append((row, loop.out.start[row], now))


def _resumed(loop: Loop, time: float, job: Job) -> None:
    """A suspended job resumes where it stopped."""
    row = loop.row_of[job.id]
    job.resume(math.floor(time))
    loop.out.start[row] = math.floor(time)
    loop.ends[job.id] = end = time + loop.left.pop(job.id)
    loop.events.at(end, "end", (job.id, end))
    loop.times.note(time)


def evicted(loop: Loop, time: float, job: Job) -> None:
    """A preempted job: back into the queue, or gone."""
    row = loop.row_of.pop(job.id)
    loop.ends.pop(job.id, None)
    loop.out.preemptions += 1
    if job.array in loop.waiting:
        loop.waiting[job.array].started_tasks -= 1
    mode = loop.state.preemption.mode_of(job, loop.state.machine)
    if mode == "requeue":
        loop.out.lost += [one for one in loop.out.paused if one[0] == row]
        loop.out.paused = [one for one in loop.out.paused if one[0] != row]
        loop.out.lost.append((row, loop.out.start[row], math.floor(time)))
        loop.out.start[row], loop.out.nodes[row], loop.out.scheduler[row] = -1, 0, ""
        loop.rows[job.id, None] = row  # of an array the task is a job of its own now
        fresh = replace(job, holding=(), nodes=0, cpus=0, start=0, partition="", suspended=0)
        if loop.state.parameters.rules.requeued_last and loop.priorities.factors is None:
            # Behind all that were submitted so far, before all that will be.
            fresh.priority, fresh.submit = loop.last_priority, math.floor(time)
        loop.state.accounts.note(fresh, "BeginTime")
        loop.events.at(math.floor(time) + loop.requeue_after, "ready", fresh)
    else:
        loop.out.end[row] = math.floor(time)
        if loop.depends is not None:
            loop.depends.end(row, cancelled=True)
            loop.look_at_dependents(time)
    loop.leave(time, job.nodes, at_once=True)
