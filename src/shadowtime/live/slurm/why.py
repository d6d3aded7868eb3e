"""Why a job of a Slurm that schedules by itself does not run yet, in words."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from shadowtime.live.slurm.state import HOLDS
from shadowtime.slurmtext.reasons import WaitReason
from shadowtime.slurmtext.squeue import NONE, QueueRow

if TYPE_CHECKING:
    from shadowtime.live.slurm.forecast import Seen

NAMED = 3
"""So many jobs are named."""


class Reasons:
    """Why jobs wait; what many of them have in common is found once."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self._rivals: dict[str, tuple[list[QueueRow], list[QueueRow]]] = {}

    def rivals(self, partitions: str) -> tuple[list[QueueRow], list[QueueRow]]:
        """Jobs that share a partition: those that wait, by priority, and those that run, by end."""
        if partitions not in self._rivals:
            here = {*partitions.split(",")}
            near = [one for one in self.seen.rows if here & {*one.partition.split(",")}]
            waiting = sorted((one for one in near if one.state == "PENDING"), key=_rank)
            ends = sorted(
                (one for one in near if one.state in HOLDS), key=lambda one: one.start + one.limit
            )
            self._rivals[partitions] = waiting, ends
        return self._rivals[partitions]

    def of(self, row: QueueRow) -> str:
        """In words."""
        return why_waiting(row, self.seen, self)


def why_waiting(row: QueueRow, seen: Seen, reasons: Reasons | None = None) -> str:
    """What stands in a job's way: jobs before it, jobs on its nodes, a limit, a reservation.

    Rules
    -----
    Slurm's own reason says of what kind it is; the jobs are those of the queue. Only jobs that
    share a partition stand in each other's way.
    """
    rivals, holding = (reasons or Reasons(seen)).rivals(row.partition)
    ahead = rivals[: bisect_left(rivals, _rank(row), key=_rank)]
    reason = row.reason if row.reason not in NONE else ""
    kind = row.waits_for
    if kind.limit:
        return f"a limit keeps it from starting ({reason}): {_held(row, seen)}"
    if kind in (WaitReason.RESERVATION, WaitReason.NOT_AVAILABLE):
        names = ", ".join(one.name for one in seen.site.reservations) or "none is shown"
        return f"its nodes are reserved or not available ({reason}; reservations: {names})"
    if kind is WaitReason.LICENCES:
        return f"its licences are in use ({row.licenses})"
    if kind is WaitReason.BEGIN:
        return "it may not begin yet"
    parts = []
    if ahead:
        parts.append(
            f"{_count(len(ahead), 'waiting job')} {_verb(len(ahead), 'has', 'have')} a higher "
            f"priority ({_listed(ahead)})"
        )
    if holding:
        cpus = sum(one.cpus for one in holding)
        parts.append(
            f"{_count(len(holding), 'job')} {_verb(len(holding), 'holds', 'hold')} {cpus:,} "
            f"processors of its partition; the next limits end those of {_listed(holding)}"
        )
    return "; ".join(parts) or f"nothing that squeue shows{f' but {reason}' if reason else ''}"


def _rank(row: QueueRow) -> tuple[int, int]:
    return -row.priority, row.submit


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
