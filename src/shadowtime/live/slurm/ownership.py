"""Who may start a pending job: the loop, Slurm, or nobody yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.beyond import HANDED_OVER
from shadowtime.live.slurm.gate import leased
from shadowtime.live.slurm.holding import LAST
from shadowtime.live.slurm.requeued import not_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.live.slurm.dependency import Ends
    from shadowtime.slurmtext.squeue import QueueRow

RELEASED = "let through"
SLURMS = "Slurm schedules it"
BAD = "BadConstraints"
"""The reason of jobs that Slurm has held because it could not run them where they were sent."""


def why_not_ours(
    row: QueueRow,
    now: int,
    stopped: Callable[[str], bool],
    *,
    named: bool,
    ends: Ends,
    begin: int = 0,
) -> str:
    """Why a pending job does not wait at the gate; empty if it does.

    ``named``: whether the hosts it asks for are the ones that we named; ``begin``: the begin time
    that a lease has replaced, if there was one.
    """
    if row.priority == 0:
        if not row.reason.startswith(BAD):
            return f"it is held ({row.reason})"
        if named or not leased(row.eligible, now):
            return RELEASED if named else f"Slurm cannot run it anywhere ({row.reason})"
        # The scheduler sched/builtin also tries the job behind one of several partitions, whether
        # it may start or not, and writes this down: the job has never been let through.
    if row.priority == LAST:
        return f"{HANDED_OVER}, which reports {row.reason}"
    back = row.restarts > 0 and stopped(row.id)
    if row.eligible > now:
        # Of a job that the loop has stopped, the two minutes that Slurm adds are ours to skip.
        if not leased(row.eligible, now) and not back:
            return not_before(row.eligible, requeued=row.restarts > 0)
        if begin > now:
            return not_before(begin, requeued=row.restarts > 0)
    elif not back or named:
        held_back = row.reason in ("Dependency", "JobArrayTaskLimit")
        return RELEASED if row.wanted and (named or not held_back) else SLURMS
    unmet = "unfulfilled" in row.dependency and not ends.met(row.dependency)
    if unmet or "failed" in row.dependency:
        return f"it depends on others ({row.dependency})"
    return ""
