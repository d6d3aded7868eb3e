"""The will-run test: now, with preemptable jobs gone, or after groups of running jobs (3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shadowtime.slurm.ends import Ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.choose import Choice, Chooser
    from shadowtime.slurm.gang import Rows
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.usage import Usage

FIRST_WIDTH = 30
"""Seconds: the width of the first group."""
GROUP_MOST = 200
"""Jobs removed in a group before Slurm skips its test."""
KILL_WAIT = 30


class WillRun(NamedTuple):
    """When and where: ``start`` is now where it fits now or after preemption."""

    start: int
    choice: Choice
    preempts: bool = False


def will_run(
    chooser: Chooser,
    usage: Usage,
    ask: Ask,
    nodes: int,
    ends: Ends,
    weights: list[int],
    *,
    now: int,
    now_only: bool = False,
    candidates: Sequence[Job] | None = None,
    kill_wait: int = KILL_WAIT,
    first: int = 0,
    rows: Rows | None = None,
    section: Section | None = None,
) -> WillRun | None:
    """When the job could start on ``nodes``, by the ends of running jobs.

    ``first``: the job is known not to fit before so many ends (:meth:`Ends.first`). ``rows``
    test it in ``section`` where gang scheduling lets jobs lie above others.
    """
    gone: set[int] = set()
    if not first:
        if rows is None or section is None:
            found = chooser.test(usage, ask, nodes, weights)
        else:
            found = rows.test(ask, section, nodes, weights)
        if found is not None:
            return WillRun(now, found)
    if candidates is not None:
        later = usage.copy()
        gone = {job.id for job in candidates}
        for job in candidates:
            if job.nodes & nodes:
                later.give(job.holding)
        ends = Ends([job for job in ends.jobs if job.id not in gone], later)
        if rows is None or section is None:
            found = chooser.test(later, ask, nodes, weights)
        else:
            found = rows.test(ask, section, nodes, weights, suspended=gone)
        if found is not None:
            return WillRun(now, found, preempts=True)
    if now_only:
        return None
    idle_now = usage.idle if chooser.parameters.bf_busy_nodes else None
    linear = chooser.parameters.bf_window_linear
    times, masks = ends.times, ends.masks
    width = FIRST_WIDTH
    group_end = 0
    at = 0
    count = len(times)
    more = True
    while more:
        last = -1
        removed = 0
        overfull = False
        while True:
            if at >= count:
                more = False
                break
            this = at
            at += 1
            if not masks[this] & nodes:
                continue
            if not group_end:
                group_end = times[this] + width - times[this] % width
            last = this
            if at >= count:
                more = False
                break
            if times[at] > group_end + width:
                break
            removed += 1
            if removed > GROUP_MOST + 1:
                overfull = True
                break
        if overfull:
            continue
        if last < 0:
            break
        while True:
            width = width + linear if linear else width * 2
            if at >= count or times[at] <= group_end + width:
                break
        if last + 1 < first:
            continue
        if rows is None or section is None:
            found = chooser.test_after(ends, last + 1, ask, nodes, weights, busy_first=idle_now)
        else:
            ended = {job.id for job in ends.jobs[: last + 1]}
            found = rows.test(
                ask, section, nodes, weights, ended=ended, suspended=gone, busy_first=idle_now
            )
        if found is not None:
            start = times[last]
            if start <= now:
                start = max(start + kill_wait, now + 1)
            return WillRun(start, found)
    return None
