"""Slurm's accounting records: what every admin of a Slurm cluster has.

Read with the column names of sacct(1), in any order and number; what cannot be done without is
the job id, Submit, State, the run time (ElapsedRaw, Elapsed or Start and End) and the processors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.trace._bytes import load, stem
from shadowtime.trace.sacct_columns import BadRows
from shadowtime.trace.sacct_jobs import SacctJobs, column_places
from shadowtime.trace.sacct_pieces import BadRow, Piece
from shadowtime.trace.sacct_rows import RECOMMENDED, split_rows
from shadowtime.trace.sacct_trace import as_trace
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    import os

    from shadowtime.trace.swf import BadLines
    from shadowtime.workload.raw import RawTrace

RECOMMENDED_COMMAND = f"""\
SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 sacct -a -X -D -P --noconvert -S now-30days -E now \\
  --format={RECOMMENDED} > jobs.psv
"""
"""What to run on the cluster: once, for a bounded time, never in a loop (others need slurmdbd)."""

_HINT = "Fix or delete the line, or skip and count such lines with --bad-lines drop."


def read_sacct(
    path: str | os.PathLike[str],
    *,
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """Read an sacct export, plain or gzip. See :func:`parse_sacct`."""
    return parse_sacct(
        load(path),
        name=stem(path),
        path=str(path),
        tz=tz,
        cluster=cluster,
        unlimited=unlimited,
        bad_lines=bad_lines,
    )


def parse_sacct(
    text: str | bytes,
    *,
    name: str,
    path: str | None = None,
    tz: str | None = None,
    cluster: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """The jobs of an sacct export as a raw trace.

    Rules
    -----
    Steps (``123.batch``) are dropped: their job has a line. Jobs that have not ended and blocks
    of array tasks that wait are dropped. Each is counted. The runs of a requeued job (-D) are one
    job, counted (see :mod:`shadowtime.trace.sacct_trace`): its submission is the first, its result
    that of the last run, and the runs whose work was lost are kept in ``lost_runs``. The number is
    JobIDRaw; without that column, array tasks get new numbers.
    Processors are those of AllocTRES, else NCPUS; the request is the time limit; ``unlimited``
    seconds stand for UNLIMITED (left out: unknown). Memory (KB of the whole job) and GPUs are
    those of AllocTRES, else of ReqTRES, else ReqMem. Times without an offset are local times of
    ``tz`` (left out: UTC, and counted). Submissions count from the earliest one, and so does
    ``extra["eligible"]``, from which waits count where a job was held or depended on another.
    User, account, QOS, partition and job name become user, group, queue, partition and
    executable; the header lists the names behind the numbers (not of jobs).
    An export of several clusters needs ``cluster`` to choose one.

    Examples
    --------
    >>> raw = parse_sacct('''JobIDRaw|Submit|Start|End|ElapsedRaw|State|NCPUS|TimelimitRaw|JobName
    ... 17|100|160|260|100|CANCELLED by 5|4|60|a|b
    ... ''', name="one")
    >>> {f: int(raw[f][0]) for f in ("job_id", "wait", "run", "procs", "request", "status")}
    {'job_id': 17, 'wait': 60, 'run': 100, 'procs': 4, 'request': 3600, 'status': 5}
    """
    if bad_lines not in ("refuse", "drop"):
        raise UsageError(f"bad_lines must be refuse or drop, not {bad_lines!r}")
    # The C library returns large arrays to the system at once, and has to ask for the next one
    # again, until it has seen that arrays of such a size are freed soon.
    np.empty(31 << 20, np.uint8)
    zone = _zone(tz or "UTC")
    rows = split_rows(text, path=path)
    jobs = SacctJobs(
        column_places(rows.columns, path),
        zone,
        zone_told=tz is not None,
        cluster=cluster,
        unlimited=UNKNOWN if unlimited is None else unlimited,
        expected=_expected(text),
    )
    for piece in rows.pieces:
        if isinstance(piece, BadRow):
            _bad(jobs, piece, path, bad_lines)
        else:
            _add(jobs, piece, path, bad_lines)
    jobs.counts["names_joined"] = rows.joined
    return as_trace(jobs, name, path)


def _expected(text: str | bytes) -> int:
    """About how many lines there are, from those at the beginning; rather a few too many."""
    some = min(len(text), 1 << 20)
    ends = text.count(b"\n", 0, some) if isinstance(text, bytes) else text.count("\n", 0, some)
    return 1 + (ends + 1) * len(text) * 11 // (10 * max(some, 1))


def _add(jobs: SacctJobs, piece: Piece, path: str | None, bad_lines: BadLines) -> None:
    """Take a piece in, its bad rows left out; each check finds all rows with its problem."""
    while len(piece):
        try:
            return jobs.add(piece)
        except BadRows as bad:
            first = int(bad.rows[0])
            if bad_lines == "refuse":
                _add(jobs, piece[:first], path, bad_lines)  # one above may have another problem
                _bad(jobs, BadRow(int(piece.lines[first]), bad.why), path, bad_lines)
            jobs.counts["bad_lines_dropped"] += len(bad.rows)
            piece = piece[np.delete(np.arange(len(piece)), bad.rows)]
    return None


def _bad(jobs: SacctJobs, row: BadRow, path: str | None, bad_lines: BadLines) -> None:
    if bad_lines == "refuse":
        raise InputError(row.why, path=path, line=row.line, hint=_HINT)
    jobs.counts["bad_lines_dropped"] += 1


def _zone(tz: str) -> ZoneInfo:
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{tz!r} is not a time zone: write it like UTC or Europe/Zurich") from None
