"""What a start overwrites of a job's own request, stored until the job is gone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from shadowtime.live.port import Start
from shadowtime.live.slurm.act import Range, undo_words
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import QueueRow

_NODES = re.compile(r"\bNumNodes=(\d{1,6})-(\d{1,6})(?!\d)")
CLEAR = "AdminComment="
"""The arguments with which scontrol removes what a start has written into a job's AdminComment."""


class Touched(NamedTuple):
    """A job for which a start was sent: the hosts we named, and its original request."""

    pin: str
    wanted: str
    limit: int
    sharing: str
    gres_per_task: str
    words: str
    """The arguments with which scontrol undoes the rest."""
    partition: str = ""
    """The partitions it named, if it was sent to one of several."""
    stopped: bool = False
    """Whether the loop has stopped it: the delay after its requeue is ours to skip then."""
    suspended: int = 0
    """When the loop has suspended it, 0 if it has not."""

    @property
    def undo(self) -> str:
        """The arguments that restore the job's original request.

        Examples
        --------
        >>> Touched("n1", "n[1-2]", 60, "OK", "N/A", "TimeLimit=1").undo
        'ReqNodeList=n[1-2] TimeLimit=1'
        """
        return f"ReqNodeList={self.wanted} {self.words}".rstrip()

    @property
    def nodes(self) -> Range:
        """The fewest and most nodes that its user permits, (0, 0) if it was no choice.

        Examples
        --------
        >>> Touched("n1", "", 60, "OK", "N/A", "NumNodes=2-8 AdminComment=").nodes
        (2, 8)
        """
        found = _NODES.search(self.words)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def ours(self, row: QueueRow) -> bool:
        """Whether the hosts in a row are the ones we named, not a new request of its user."""
        return set(expand(row.wanted)) == set(self.pin.split(","))

    def before(self, row: QueueRow) -> QueueRow:
        """A row as its user wrote it; hosts that the user has named since stay."""
        return row._replace(
            wanted=self.wanted if self.ours(row) else row.wanted,
            limit=self.limit,
            sharing=self.sharing,
            gres_per_task=self.gres_per_task,
            partition=self.partition or row.partition,
            per_node=0 if "TasksPerNode=" in self.words else row.per_node,
        )


def touch(
    decision: Start,
    row: QueueRow | None,
    known: Touched | None,
    gres: str,
    nodes: tuple[int, int] = (0, 0),
    *,
    commented: bool = False,
    sized: bool = False,
) -> Touched | None:
    """What a start is about to overwrite; nothing if the job is not known.

    Another user's AdminComment (``commented``) is not changed.
    """
    if row is None:
        return None
    own = known.before(row) if known is not None else row
    undo = (undo_words(decision, own, gres, nodes, sized=sized), "" if commented else CLEAR)
    return Touched(
        pin=",".join(host for host, _ in decision.place),
        wanted=own.wanted,
        limit=own.limit,
        sharing=own.sharing,
        gres_per_task=own.gres_per_task,
        words=" ".join(filter(None, undo)),
        partition=own.partition if decision.partition not in ("", own.partition) else "",
    )


def touched_from(values: Mapping[str, Any]) -> dict[str, Touched]:
    """What an earlier loop has stored; unreadable entries are skipped.

    Examples
    --------
    >>> touched_from({"7": ["n1", "n2", 60, "OK", "N/A", ""], "8": None})["7"].wanted
    'n2'
    """
    kinds = (str, str, int, str, str, str, str, bool, int)
    return {
        str(job): Touched(*entry)
        for job, entry in values.items()
        if isinstance(entry, list | tuple)
        and len(kinds) - 3 <= len(entry) <= len(kinds)  # without the last ones, before 0.4
        and all(isinstance(one, kind) for one, kind in zip(entry, kinds, strict=False))
    }
