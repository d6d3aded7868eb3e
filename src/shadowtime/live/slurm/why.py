"""Why a job of a Slurm that schedules by itself does not run yet, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.state import HOLDS
from shadowtime.slurmtext.squeue import NONE

if TYPE_CHECKING:
    from shadowtime.live.slurm.forecast import Seen
    from shadowtime.slurmtext.squeue import QueueRow

NAMED = 3
"""So many jobs are named."""


def why_waiting(row: QueueRow, seen: Seen) -> str:
    """What stands in a job's way: jobs before it, jobs on its nodes, a limit, a reservation.

    Rules
    -----
    Slurm's own reason says of what kind it is; the jobs are those of the queue. Only jobs that
    share a partition stand in each other's way.
    """
    here = {*row.partition.split(",")}
    rivals = [
        one
        for one in seen.rows
        if one.state == "PENDING" and one.id != row.id and here & {*one.partition.split(",")}
    ]
    ahead = sorted(
        (one for one in rivals if _before(one, row)), key=lambda one: (-one.priority, one.submit)
    )
    holding = [
        one for one in seen.rows if one.state in HOLDS and here & {*one.partition.split(",")}
    ]
    reason = row.reason if row.reason not in NONE else ""
    if reason.startswith(("QOS", "Assoc")):
        return f"a limit keeps it from starting ({reason}): {_held(row, seen)}"
    if reason.startswith(("Reservation", "ReqNodeNotAvail")):
        names = ", ".join(one.name for one in seen.site.reservations) or "none is shown"
        return f"its nodes are reserved or not available ({reason}; reservations: {names})"
    if reason.startswith("Licenses"):
        return f"its licences are in use ({row.licenses})"
    if reason.startswith("BeginTime"):
        return "it may not begin yet"
    parts = []
    if ahead:
        parts.append(
            f"{_count(len(ahead), 'waiting job')} {_verb(len(ahead), 'has', 'have')} a higher "
            f"priority ({_listed(ahead)})"
        )
    if holding:
        cpus = sum(one.cpus for one in holding)
        ends = sorted(holding, key=lambda one: one.start + one.limit)
        parts.append(
            f"{_count(len(holding), 'job')} {_verb(len(holding), 'holds', 'hold')} {cpus:,} "
            f"processors of its partition; the next limits end those of {_listed(ends)}"
        )
    return "; ".join(parts) or f"nothing that squeue shows{f' but {reason}' if reason else ''}"


def _before(one: QueueRow, row: QueueRow) -> bool:
    return (-one.priority, one.submit) < (-row.priority, row.submit)


def _held(row: QueueRow, seen: Seen) -> str:
    """What runs of the same user and account, which such limits count."""
    mine = [one for one in seen.rows if one.state in HOLDS]
    user = sum(one.cpus for one in mine if one.user == row.user)
    account = sum(one.cpus for one in mine if one.account == row.account)
    return f"{user:,} processors of user {row.user} and {account:,} of account {row.account} run"


def _listed(rows: list[QueueRow]) -> str:
    named = ", ".join(one.id for one in rows[:NAMED])
    return f"{named} ..." if len(rows) > NAMED else named


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
