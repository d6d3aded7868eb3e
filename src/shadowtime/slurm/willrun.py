"""The will-run test: now, with preemptable jobs gone, or after groups of running jobs (3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.choose import Choice, Chooser
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.usage import Usage

FIRST_WIDTH = 30
"""Seconds: the width of the first group."""
GROUP_MOST = 200
"""Jobs removed in a group before Slurm skips its test."""
KILL_WAIT = 30


@dataclass(frozen=True, slots=True)
class WillRun:
    """When and where: ``start`` is now where it fits now or after preemption."""

    start: int
    choice: Choice
    preempts: bool = False


def in_end_order(running: Sequence[Job]) -> list[Job]:
    """Running jobs by their limit's end; equal ends in record order."""
    return sorted(running, key=lambda job: (job.ends_by, job.record))


def will_run(
    chooser: Chooser,
    usage: Usage,
    ask: Ask,
    nodes: int,
    ordered: Sequence[Job],
    weights: list[int],
    *,
    now: int,
    now_only: bool = False,
    candidates: Sequence[Job] | None = None,
    kill_wait: int = KILL_WAIT,
) -> WillRun | None:
    """When the job could start on ``nodes``, by the ends of ``ordered`` (in_end_order)."""
    found = chooser.test(usage, ask, nodes, weights)
    if found is not None:
        return WillRun(now, found)
    later: Usage | None = None
    if candidates is not None:
        later = usage.copy()
        gone = {job.id for job in candidates}
        for job in candidates:
            if job.nodes & nodes:
                later.give(job.holding)
        ordered = [job for job in ordered if job.id not in gone]
        found = chooser.test(later, ask, nodes, weights)
        if found is not None:
            return WillRun(now, found, preempts=True)
    if now_only:
        return None
    if later is None:
        later = usage.copy()
    idle_now = usage.idle if chooser.parameters.bf_busy_nodes else None
    linear = chooser.parameters.bf_window_linear
    width = FIRST_WIDTH
    group_end = 0
    at = 0
    count = len(ordered)
    more = True
    while more:
        last: Job | None = None
        following: Job | None = None
        removed = 0
        overfull = False
        while True:
            if at >= count:
                more = False
                break
            job = ordered[at]
            at += 1
            if not job.nodes & nodes:
                continue
            if not group_end:
                group_end = job.ends_by + width - job.ends_by % width
            last = job
            later.give(job.holding)
            following = ordered[at] if at < count else None
            if following is None:
                more = False
                break
            if following.ends_by > group_end + width:
                break
            removed += 1
            if removed > GROUP_MOST + 1:
                overfull = True
                break
        if overfull:
            continue
        if last is None:
            break
        while True:
            width = width + linear if linear else width * 2
            if following is None or following.ends_by <= group_end + width:
                break
        found = chooser.test(later, ask, nodes, weights, busy_first=idle_now)
        if found is not None:
            start = last.ends_by
            if start <= now:
                start = max(start + kill_wait, now + 1)
            return WillRun(start, found)
    return None
