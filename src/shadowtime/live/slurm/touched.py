"""What a start overwrites of a job's own request, stored until the job is gone.

The state file may be lost while a released job waits for the nodes that the loop has named. So the
command that names them also writes the original request into the job's AdminComment, its mark: both
are done or neither is, and slurmctld keeps them together. A stop is noted there too: Slurm's delay
after a requeue looks the same whether the loop has asked for it or a node has failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from shadowtime.errors import ClusterError
from shadowtime.live.port import Decision, Outcome, PortError, Start, Stop, Suspend
from shadowtime.live.slurm.act import Range, undo_lines, undo_words
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


TRIES = 5
"""Number of polls at which a restarted loop queries marks, until they are shown."""


class KeptRequests:
    """What starts have overwritten of jobs' own requests, which jobs were stopped or suspended.

    Examples
    --------
    >>> kept = KeptRequests()
    >>> kept.recall({"7": ["n1", "n2", 60, "OK", "N/A", "TimeLimit=1"]})
    >>> kept.undo("7"), kept.undo("8"), kept.unread
    ('ReqNodeList=n2 TimeLimit=1', '', True)
    """

    def __init__(self) -> None:
        self.by_job: dict[str, Touched] = {}
        self.earlier: dict[str, Touched] = {}
        """What an earlier start has overwritten of jobs that are about to be started again."""
        self._resumed: list[str] = []
        """Suspended jobs that run again and whose marks say otherwise."""
        self._tries = 0

    @property
    def unread(self) -> bool:
        """Whether the jobs' own marks are still to be queried."""
        return self._tries > 0

    def memory(self) -> dict[str, Any]:
        """As plain values, for the state file."""
        return {job: list(mark) for job, mark in self.by_job.items()}

    def recall(self, values: object) -> None:
        """Restore what :meth:`memory` wrote; the jobs' own marks are to be read as well."""
        self._tries = TRIES
        self.by_job = touched_from(values) if isinstance(values, dict) else {}

    def read(self, ask: Callable[[], Mapping[str, Touched]]) -> None:
        """Take the jobs' own marks in; a squeue that never shows them is not queried forever."""
        self._tries -= 1
        self.by_job |= ask()
        self._tries = 0

    def mark(self, job: str) -> str:
        """What is written into a job with a change; nothing if there is nothing to note."""
        return mark_words(self.by_job.get(job))

    def undo(self, job: str) -> str:
        """The arguments that restore a job's original request."""
        known = self.by_job.get(job)
        return known.undo if known is not None else ""

    def stopped(self, job: str) -> bool:
        """Whether the loop has stopped a job, by the job's own mark."""
        known = self.by_job.get(job)
        return known is not None and known.stopped

    def prepare(
        self,
        decisions: Iterable[Decision],
        now: int,
        touch: Callable[[Start, Touched | None], Touched | None],
    ) -> None:
        """Note what is about to be done; ``touch`` says what a start overwrites.

        A job that is to continue counts as suspended until it is seen to run.
        """
        for decision in decisions:
            job, known = decision.job, self.by_job.get(decision.job)
            if isinstance(decision, Start):
                if known is not None:  # it was stopped, and is not as its user wrote it yet
                    self.earlier[job] = known
                mark = touch(decision, known)
                if mark is not None:
                    self.by_job[job] = mark
            elif known is not None and isinstance(decision, Stop):
                self.by_job[job] = known._replace(stopped=True, suspended=0)
            elif known is not None and isinstance(decision, Suspend):
                self.by_job[job] = known._replace(suspended=now)

    def before(self, job: str, row: QueueRow | None) -> tuple[list[str], QueueRow | None]:
        """Lines that undo an earlier start of a job that starts again, and its row without it."""
        known = self.earlier.pop(job, None)
        if known is None or row is None:
            return [], row
        return undo_lines(job, known.undo if known.ours(row) else known.words), known.before(row)

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        """A job that Slurm did not suspend runs on."""
        for one in outcomes:
            known = self.by_job.get(one.decision.job)
            if isinstance(one.decision, Suspend) and not one.done and known is not None:
                self.by_job[one.decision.job] = known._replace(suspended=0)

    def see(self, rows: Mapping[str, QueueRow]) -> None:
        """Jobs that were suspended by the loop and run again, whoever has let them."""
        for job, mark in self.by_job.items():
            if mark.suspended and job in rows and rows[job].state == "RUNNING":
                self.by_job[job] = mark._replace(suspended=0)
                self._resumed.append(job)

    def unmarked(self, changeable: Callable[[Iterable[str]], Sequence[str]]) -> list[list[str]]:
        """Lines that say in jobs which run again that nobody has suspended them."""
        jobs, self._resumed = self._resumed, []
        words = {job: self.mark(job) for job in changeable(jobs)}
        return [[f"update JobId={job} {text}"] for job, text in words.items() if text]
