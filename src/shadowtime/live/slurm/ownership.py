"""Who may start a pending job: the loop, Slurm, or its user, by a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.beyond import HANDED_OVER
from shadowtime.live.slurm.gate import FAR
from shadowtime.live.slurm.holding import LAST
from shadowtime.live.slurm.relabelled import BAD
from shadowtime.live.slurm.requeued import REQUEUED, not_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.live.slurm.dependency import Ends
    from shadowtime.slurmtext.squeue import QueueRow

RELEASED = "let through"
SLURMS = "Slurm schedules it"


def why_not_ours(
    row: QueueRow,
    now: int,
    stopped: Callable[[str], bool],
    *,
    named: bool,
    ends: Ends,
    at_gate: bool,
) -> str:
    """Why a pending job does not wait at the gate; empty if it does.

    ``named``: whether the hosts it asks for are the ones that we named; ``at_gate``: whether a
    hold would be the gate's.
    """
    if row.priority > 0 and row.priority != LAST:
        held_back = row.reason in ("Dependency", "BeginTime", "JobArrayTaskLimit")
        if row.wanted and (named or not held_back):
            return RELEASED
        return SLURMS
    if row.priority == LAST:
        return f"{HANDED_OVER}, which reports {row.reason}"
    if row.reason.startswith(BAD) and not at_gate:
        return RELEASED if named else f"Slurm cannot run it anywhere ({row.reason})"
    back = (REQUEUED in row.reason or row.restarts > 0) and stopped(row.id)
    if not (at_gate or (back and REQUEUED in row.reason)):
        return f"it is held ({row.reason})"
    # Of a job that the loop has stopped the two minutes are ours to skip, its user's hold is not.
    if row.eligible > now and not (back and row.eligible < FAR):
        return not_before(row)
    unmet = "unfulfilled" in row.dependency and not ends.met(row.dependency)
    if unmet or "failed" in row.dependency:
        return f"it depends on others ({row.dependency})"
    return ""
