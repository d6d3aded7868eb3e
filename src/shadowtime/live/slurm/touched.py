"""What a start overwrites of a job's own request, stored until the job is gone.

The state file may be lost while a released job waits for the nodes that the loop has named. So the
command that names them also writes the original request into the job's AdminComment, its mark: both
are done or neither is, and slurmctld keeps them together. A stop is noted there too: Slurm's delay
after a requeue looks the same whether the loop has asked for it or a node has failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from shadowtime.errors import ClusterError
from shadowtime.live.port import PortError, Start
from shadowtime.live.slurm.act import Range, undo_words
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.hostlist import compress, expand
from shadowtime.slurmtext.squeue import BETWEEN, QueueRow

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


PREFIX = "shadowtime?"
NAMES = ("admin_comment", "AdminComment")
"""squeue's column, as in 22.05 and as in the manuals; squeue omits one that it does not know.
"""
LONGEST = 2000
"""Characters: scontrol may not read longer lines."""
_TEXTS = ("pin", "wanted", "sharing", "gres_per_task", "words", "partition")
_NAMES = frozenset((*_TEXTS, "limit", "stopped", "suspended"))


def mark_words(touched: Touched | None) -> str:
    """What a start or a stop writes into a job; nothing if the job keeps its own comment.

    Examples
    --------
    >>> mark_words(Touched("n1,n2", "n[1-4]", 60, "OK", "N/A", "TimeLimit=1 AdminComment="))
    'AdminComment=shadowtime?pin=n[1-2]&wanted=n[1-4]&sharing=OK&gres_per_task=N/A&words=TimeLimit%3D1+AdminComment%3D&limit=60'
    >>> mark_words(Touched("n1", "", 60, "OK", "N/A", ""))
    ''
    """
    if touched is None or not touched.words.endswith(CLEAR):
        return ""
    texts = {name: getattr(touched, name) for name in _TEXTS}
    texts["pin"] = compress(touched.pin.split(","))
    values = {name: value for name, value in texts.items() if value} | {"limit": touched.limit}
    values |= {"stopped": 1} if touched.stopped else {}
    values |= {"suspended": touched.suspended} if touched.suspended else {}
    text = f"{CLEAR}{PREFIX}{urlencode(values, safe='[]/,:')}"
    return text if len(text) <= LONGEST else ""


def parse_mark(text: str) -> Touched | None:
    """The request in a mark; None if it is not ours, or damaged.

    Examples
    --------
    >>> mark = Touched("n1,n2", "n[1-4]", 60, "OK", "N/A", "TimeLimit=1 AdminComment=")
    >>> parse_mark(mark_words(mark).partition("=")[2]) == mark
    True
    >>> parse_mark("shadowtime?pin=n1&limit=soon"), parse_mark("seen by ann")
    (None, None)
    """
    if not text.startswith(PREFIX) or not text.isprintable():
        return None
    try:
        pairs = parse_qsl(text.removeprefix(PREFIX), keep_blank_values=True, strict_parsing=True)
        values = dict(pairs)
        if len(values) != len(pairs) or not {"pin", "limit"} <= values.keys() <= _NAMES:
            return None
        if not all(value.isprintable() for value in values.values()):
            return None
        limit = int(values.pop("limit"))
        stopped = values.pop("stopped", "0") == "1"
        suspended = int(values.pop("suspended", "0"))
        pin = ",".join(expand(values.pop("pin")))
    except (ValueError, ClusterError):
        return None
    texts = dict.fromkeys(_TEXTS[1:], "") | values
    made = Touched(pin=pin, limit=limit, stopped=stopped, suspended=suspended, **texts)
    return made if pin and min(limit, suspended) >= 0 else None


MARKS = (
    "squeue", "--noheader", "--all", "--array", "--states=all",
    "--Format=" + ",".join(f"{name}:{BETWEEN}" for name in ("JobArrayID", *NAMES)),
)  # fmt: skip


def parse_marks(text: str, jobs: Collection[str]) -> dict[str, Touched]:
    """Every job with a mark; PortError if nothing is reported for some of ``jobs``.

    Only administrators can write an AdminComment, and no other field is read: what users write
    into their jobs cannot be mistaken for a mark. A comment of several lines is not a mark either.

    Examples
    --------
    >>> line = BETWEEN.join(("7", "shadowtime?pin=n1&limit=60", ""))
    >>> parse_marks(line, ["7"])["7"].pin
    'n1'
    """
    lines = [line.split(BETWEEN) for line in lines_of(text)]
    comments = {job: next(filter(None, rest), "") for job, *rest in lines if rest}
    if not comments.keys() >= set(jobs):
        raise PortError("squeue does not report the comments of all jobs")
    marks = {job: parse_mark(comment) for job, comment in comments.items()}
    return {job: mark for job, mark in marks.items() if mark is not None}
