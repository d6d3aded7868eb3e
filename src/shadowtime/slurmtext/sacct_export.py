"""Exports of sacct: which columns a version has, rows without doubt, days joined into one.

sacct marks neither its separator nor line ends in names, constraints and submissions. `pull` asks
for a separator that is drawn anew, so that nobody can write it, and keeps a line for each row with
fields separated by :data:`BETWEEN`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.errors import InputError
from shadowtime.slurmtext.fields import NOT_ENDED, lines_of, parse_state
from shadowtime.slurmtext.sacct_rows import BETWEEN, RECOMMENDED, split_rows

if TYPE_CHECKING:
    from shadowtime.slurmtext.conf import Version

SINCE: Mapping[str, Version] = {"SubmitLine": (21, 8, 0), "Licenses": (23, 2, 0)}
"""Columns that not every sacct knows; it rejects a list with one that it does not know."""
_IN_A_FIELD = str.maketrans({BETWEEN: " ", "\n": " ", "\r": " "})


def columns_for(version: Version | None) -> str:
    """The columns to ask a sacct of this version for; None: one that may be of 21.08.

    Examples
    --------
    >>> [name in columns_for((21, 8, 5)) for name in ("SubmitLine", "Licenses")]
    [True, False]
    >>> columns_for((24, 11, 5)).endswith("JobName,SubmitLine,Licenses,ExitCode")
    True
    """
    names = RECOMMENDED.replace("SubmitLine", "SubmitLine,Licenses").split(",")
    return ",".join(one for one in names if (version or (21, 8, 0)) >= SINCE.get(one, (0, 0, 0)))


def drawn_delimiter() -> str:
    """A separator that nobody can have written into a job: it is drawn when it is needed."""
    return f"@{secrets.token_hex(8)}@"


def rewritten(text: str, *, path: str) -> str:
    """An export with one line for each row, its fields separated by :data:`BETWEEN`.

    Line ends and separators inside fields become blanks. A row that cannot be split stays as it
    is, for the reader to report.

    Examples
    --------
    >>> rewritten("JobID@12345678@JobName\\n7@12345678@a\\nb|c\\n", path="x").split("\\n")
    ['JobID\\x1fJobName', '7\\x1fa b|c', '']
    """
    head = next(iter(lines_of(text)), "")
    if BETWEEN in head:
        return text
    rows = split_rows(text, path=path)
    named = {name.lower(): name for name in columns_for((99, 0, 0)).split(",")}
    lines = [BETWEEN.join(named.get(name, name) for name in rows.columns)]
    source = lines_of(text)
    for number, fields in rows.each():
        if isinstance(fields, str):
            lines.append(source[number - 1])
        else:
            lines.append(BETWEEN.join(field.translate(_IN_A_FIELD) for field in fields))
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Joined:
    """The text of jobs.psv, its number of rows, and how many rows were merged across days."""

    text: str
    rows: int
    repeated: int


def join_days(days: Iterable[tuple[str, str]]) -> Joined:
    """Merge many exports into one: (name, text) of each day, in their order.

    Rules
    -----
    A job that waited and ran over several days is in the export of each of them, and in those made
    while it ran it has not ended. The runs of a requeued job differ in their submission, so
    (cluster, job, submission) is one row. Of several rows of a job one that has ended counts, else
    the last. Rows keep the order in which they first appear.

    Examples
    --------
    >>> head = "JobIDRaw|Cluster|Submit|State|JobName"
    >>> days = [("1", f"{head}\\n7|c|5|RUNNING|a|b\\n"), ("2", f"{head}\\n7|c|5|FAILED|a|b\\n")]
    >>> joined = join_days(days)
    >>> joined.text.split("\\n")[1].split(BETWEEN), joined.repeated
    (['7', 'c', '5', 'FAILED', 'a|b'], 1)
    """
    head = ""
    kept: dict[tuple[str, ...], tuple[str, bool]] = {}
    repeated = 0
    for name, text in days:
        if not text.strip():
            continue
        first, *lines = lines_of(rewritten(text, path=name))
        if head and first != head:
            raise InputError(
                "its columns differ from those of the days before",
                path=name,
                hint="Delete the file: the next pull makes it again.",
            )
        head = first
        for line, fields in zip(lines, fields_of(head, lines), strict=True):
            key = tuple(fields.get(one, "") for one in ("cluster", "jobidraw", "submit"))
            key = key if fields else (line,)
            ended = _ended(fields)
            if key in kept:
                repeated += 1
                if kept[key][1] and not ended:
                    continue
            kept[key] = (line, ended)
    text = "".join(f"{line}\n" for line in (head, *(line for line, _ in kept.values())))
    return Joined(text=text if head else "", rows=len(kept), repeated=repeated)


def fields_of(head: str, lines: Iterable[str]) -> Iterator[Mapping[str, str]]:
    """The rows of a rewritten export: fields by column (lower case), none if it is not a row."""
    columns = head.lower().split(BETWEEN)
    for line in lines:
        fields = line.split(BETWEEN)
        same = len(fields) == len(columns)
        yield dict(zip(columns, fields, strict=True)) if same else {}


def _ended(fields: Mapping[str, str]) -> bool:
    """An unknown state is kept: the reader reports it."""
    try:
        return parse_state(fields.get("state", "")) not in NOT_ENDED
    except ValueError:
        return True
