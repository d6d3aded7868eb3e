"""What a start overwrites of a job's own request, written into the job itself.

The state file may be lost while a released job waits for the nodes that the loop has named. So the
command that names them also writes the original request into the job's AdminComment: both are done
or neither is, and slurmctld keeps them together. A stop is noted there too: Slurm's delay after a
requeue looks the same whether the loop has asked for it or a node has failed.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode

from shadowtime.errors import ClusterError
from shadowtime.live.port import PortError
from shadowtime.live.slurm.touched import CLEAR, Touched
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.hostlist import compress, expand
from shadowtime.slurmtext.squeue import BETWEEN

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
