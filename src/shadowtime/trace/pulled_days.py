"""The jobs of an sacct export that was made day by day, joined into one.

A job that waited and ran over several days is in the export of each of them, and in those
made while it ran it has not ended. The runs of a requeued job differ in their
submission, so (cluster, job, submission) is one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.errors import InputError
from shadowtime.slurmtext.fields import NOT_ENDED, parse_state
from shadowtime.slurmtext.sacct_rows import split_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
    Of several rows of a job one that has ended counts, else the last. Rows keep the order in which
    they first appear. A row that cannot be read is kept unchanged, for the reader to report.

    Examples
    --------
    >>> head = "JobIDRaw|Cluster|Submit|State|JobName"
    >>> days = [("1", f"{head}\\n7|c|5|RUNNING|a|b\\n"), ("2", f"{head}\\n7|c|5|FAILED|a|b\\n")]
    >>> joined = join_days(days)
    >>> joined.text.splitlines()[1:], joined.repeated
    (['7|c|5|FAILED|a|b'], 1)
    """
    head = ""
    kept: dict[tuple[str, ...], tuple[str, bool]] = {}
    repeated = 0
    for name, text in days:
        first, _, body = text.partition("\n")
        if head and first != head:
            raise InputError(
                "its columns differ from those of the days before",
                path=name,
                hint="Delete the file: the next pull makes it again.",
            )
        head = first
        if not body.strip():
            continue
        for fields, raw in records(text, path=name):
            key = _key(fields, raw)
            ended = _ended(fields)
            if key in kept:
                repeated += 1
                if kept[key][1] and not ended:
                    continue
            kept[key] = (raw, ended)
    text = "".join(f"{line}\n" for line in (head, *(raw for raw, _ in kept.values())))
    return Joined(text=text if head else "", rows=len(kept), repeated=repeated)


def records(text: str, *, path: str) -> list[tuple[Mapping[str, str], str]]:
    """The rows of an export: fields by column (none if it cannot be read), and the text."""
    rows = split_rows(text, path=path)
    lines = text.replace("\r\n", "\n").split("\n")
    each = list(rows.each())
    starts = [line for line, _ in each]
    found: list[tuple[Mapping[str, str], str]] = []
    for (line, row), end in zip(each, [*starts[1:], len(lines) + 1], strict=True):
        raw = "\n".join(lines[line - 1 : end - 1]).rstrip("\n")
        fields = {} if isinstance(row, str) else dict(zip(rows.columns, row, strict=True))
        found.append((fields, raw))
    return found


def _key(fields: Mapping[str, str], raw: str) -> tuple[str, ...]:
    if not fields:
        return (raw,)
    return tuple(fields.get(name, "") for name in ("cluster", "jobidraw", "submit"))


def _ended(fields: Mapping[str, str]) -> bool:
    """An unknown state is kept: the reader reports it."""
    try:
        return parse_state(fields.get("state", "")) not in NOT_ENDED
    except ValueError:
        return True
