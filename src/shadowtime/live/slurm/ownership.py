"""Who may start a pending job: the loop, Slurm, or nobody yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.slurm.gate import leased
from shadowtime.live.slurm.holding import LAST
from shadowtime.live.slurm.requeued import not_before
from shadowtime.slurmtext.reasons import WaitReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.live.slurm.dependency import Ends
    from shadowtime.slurmtext.squeue import QueueRow

RELEASED = Ineligible(Case.LET_THROUGH)
SLURMS = Ineligible(Case.LEFT)


def why_not_ours(
    row: QueueRow,
    now: int,
    stopped: Callable[[str], bool],
    *,
    named: bool,
    ends: Ends,
    begin: int = 0,
) -> Ineligible | None:
    """Why a pending job does not wait at the gate; None if it does.

    ``named``: whether the hosts it asks for are the ones that we named; ``begin``: the begin time
    that a lease has replaced, if there was one.
    """
    if row.priority == 0:
        # Slurm itself holds a job that it could not run where it was sent.
        if row.waits_for is not WaitReason.BAD_CONSTRAINTS:
            return Ineligible(Case.HELD, (row.reason,))
        if named or not leased(row.eligible, now):
            return RELEASED if named else Ineligible(Case.CANNOT_RUN, (row.reason,))
        # The scheduler sched/builtin also tries the job behind one of several partitions, whether
        # it may start or not, and writes this down: the job has never been let through.
    if row.priority == LAST:
        return Ineligible(Case.HANDED_OVER, (row.reason,))
    back = row.restarts > 0 and stopped(row.id)
    if row.eligible > now:
        # Of a job that the loop has stopped, the two minutes that Slurm adds are ours to skip.
        if not leased(row.eligible, now) and not back:
            return not_before(row.eligible, requeued=row.restarts > 0)
        if begin > now:
            return not_before(begin, requeued=row.restarts > 0)
    elif not back or named:
        held_back = row.waits_for in (WaitReason.DEPENDENCY, WaitReason.ARRAY)
        return RELEASED if row.wanted and (named or not held_back) else SLURMS
    unmet = "unfulfilled" in row.dependency and not ends.met(row.dependency)
    if unmet or "failed" in row.dependency:
        return Ineligible(Case.DEPENDS, (row.dependency,))
    return None
