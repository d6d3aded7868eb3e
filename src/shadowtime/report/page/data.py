"""The data that the page's script reads: a summary, the jobs, and a block per policy.

A column of numbers becomes the narrowest signed integers that hold it, optionally as differences,
its bytes are laid out plane by plane (all low bytes, then all next bytes, ...), which suits the
compressor, and the planes of several columns are compressed together and written as base64.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import clock, inputs, metadata
from shadowtime.report.classes import runtime_classes, size_classes, user_classes
from shadowtime.report.page.frontier import axes, has_frontier
from shadowtime.schedule.runs import started
from shadowtime.types import MAX_SPAN, AnyArray, Reason

if TYPE_CHECKING:
    from shadowtime.report.rows import Rows


LEVEL = 4
"""Compression level: beyond 4 the file shrinks by a few per cent and the time doubles."""


def pack(columns: Mapping[str, AnyArray], *, deltas: Iterable[str] = ()) -> dict[str, Any]:
    """Columns of whole numbers as their list (name, length, width, delta) and one text.

    ``deltas`` names the columns that are stored as differences from the entry before.

    Examples
    --------
    >>> columns = {"submit": np.array([5, 9, 9]), "procs": np.array([1, 300, 2])}
    >>> packed = pack(columns, deltas=["submit"])
    >>> packed["columns"]
    [['submit', 3, 1, 1], ['procs', 3, 2, 0]]
    >>> {name: column.tolist() for name, column in unpack(packed).items()}
    {'submit': [5, 9, 9], 'procs': [1, 300, 2]}
    """
    differing = set(deltas)
    listed, planes = [], []
    for name, column in columns.items():
        values = np.asarray(column, dtype=np.int64)
        if name in differing:
            values = np.diff(values, prepend=0)
        width = _width(values)
        listed.append([name, len(values), width, int(name in differing)])
        narrow = np.ascontiguousarray(values.astype(f"<i{width}"))
        planes.append(narrow.view(np.uint8).reshape(-1, width).T.tobytes())
    # the stream is a plain zlib one: browsers call that format "deflate"
    return {
        "columns": listed,
        "data": base64.b64encode(zlib.compress(b"".join(planes), LEVEL)).decode("ascii"),
    }


def _width(values: AnyArray) -> int:
    """Bytes that hold every value."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    for width in (1, 2, 4):
        if -(1 << (8 * width - 1)) <= low and high < 1 << (8 * width - 1):
            return width
    return 8


def unpack(packed: Mapping[str, Any]) -> dict[str, AnyArray]:
    """What :func:`pack` was given. The page has the same function in its own language."""
    raw = zlib.decompress(base64.b64decode(packed["data"]))
    columns, at = {}, 0
    for name, length, width, delta in packed["columns"]:
        planes = np.frombuffer(raw, np.uint8, length * width, at).reshape(width, length)
        values = np.ascontiguousarray(planes.T).view(f"<i{width}").reshape(length).astype(np.int64)
        columns[name] = np.cumsum(values) if delta else values
        at += length * width
    return columns


CARD = ("user", "group", "queue", "partition")
"""Columns that a job's card shows, by name where the log has names, and that filters choose by."""

USERS = 7
"""Users with a colour of their own."""

SCORED = (
    "bsld_mean",
    "bsld_p95",
    "mwbs",
    "wait_mean_s",
    "wait_median_s",
    "wait_p95_s",
    "wait_max_s",
    "awrt_s",
)
"""Metrics that the page computes again for the jobs in view; assets/rescore.js has their rules."""


def summary(
    report: inputs.ReportInput, rows: list[Rows], classes: dict[str, tuple[ClassRow, ...]]
) -> dict[str, Any]:
    """What the command line prints with --json, and what the figures need besides."""
    start = clock.first_submit(report.workload)
    end = max((int(r.runs.end.max(initial=start)) for r in rows), default=start)
    end = max(end, int(report.workload.submit.max(initial=start)), start + 1)
    epoch = clock.unix_start(report.workload)
    work = report.workload.procs * report.workload.effective_run
    return {
        "title": report.title,
        "trace": {
            "name": report.workload.name,
            "jobs": len(report.workload),
            "cleaning": dict(report.cleaned),
        },
        "cluster": {"shape": report.cluster.shape, "total": report.cluster.total},
        "window": report.scored,
        "policies": [
            {
                "name": run.name,
                "parameters": run.parameters,
                "metrics": run.metrics,
                "intervals": {
                    name: found.as_dict() for name in run.copies if (found := run.interval(name))
                },
            }
            for run in report.runs
        ],
        "versions": report.versions,
        "figure": {
            "origin": start,
            "end": end - start,
            "epoch": None if epoch is None else epoch + start,
            "procs": report.cluster.procs,
            "reasons": [reason.label for reason in Reason],
            "sizes": size_classes(report.workload.procs)[1],
            "users": user_classes(
                report.workload.user, work, top=USERS, known=report.workload.names.get("user", ())
            )[1],
            "names": _names(report),
            "without": [_absences(report, run) for run in report.runs],
            "axes": axes(report, classes) if has_frontier(report) else [],
            "resources": list(report.workload.resources[1:]),
            "lengths": runtime_classes(report.workload.run)[1],
            "metrics": {
                name: [found.label, found.unit, found.better]
                for name in SCORED
                for found in [metadata.describe(name)]
            },
            "rows": [
                {
                    "rows": r.rows,
                    "unit": r.unit,
                    "procs": (run.cluster or report.cluster).procs,
                    "real": r.real,
                    "bands": [[b.name, b.row, b.rows, b.beyond] for b in r.bands],
                }
                for run, r in zip(report.runs, rows, strict=True)
            ],
        },
    }


def _absences(report: inputs.ReportInput, run: PolicyRun) -> dict[str, Any]:
    """What the others would have done without a job, by the job's row."""
    row = {job: place for place, job in enumerate(report.workload.job_id.tolist())}
    return {
        str(row[one.job]): {
            "earlier": [one.earlier, one.earlier_s],
            "later": [one.later, one.later_s],
            "never": [one.start_now, one.start_no_more],
            "most": [
                [row[each.job], each.after - each.before]
                for each in (*one.largest_earlier, *one.largest_later)
            ],
        }
        for one in report.absences.get(run.name, ())
    }


def _names(report: inputs.ReportInput) -> dict[str, list[str]]:
    """Names behind the numbers that a job's card shows."""
    names = report.workload.names
    return {column: list(names[column]) for column in CARD if column in names}


def job_columns(report: inputs.ReportInput) -> dict[str, Any]:
    """What every policy shares: the jobs themselves."""
    jobs = report.workload
    work = jobs.procs * jobs.effective_run
    columns: dict[str, AnyArray] = {
        "id": jobs.job_id,
        "submit": jobs.submit - clock.first_submit(report.workload),
        "run": jobs.effective_run,
        "request": np.minimum(jobs.request, MAX_SPAN),
        "procs": jobs.procs,
        "user": jobs.user,
        "size": size_classes(jobs.procs)[0],
        "rank": user_classes(jobs.user, work, top=USERS)[0],
    }
    columns["length"] = runtime_classes(jobs.run)[0]
    if report.counted is not None:
        columns["counted"] = report.counted
    for name in CARD[1:]:
        column = getattr(jobs, name)
        if name in jobs.names or len(np.unique(column)) > 1:
            columns[name] = column
    for k in range(1, len(jobs.resources)):
        columns[f"demand{k}"] = jobs.demand[:, k]
    if "bandwidth" in jobs.extra:
        # per process in MB/s: kept to a hundredth
        columns["bandwidth"] = np.rint(np.nan_to_num(jobs.extra["bandwidth"]) * 100)
    return pack(columns, deltas=("id", "submit"))


def policy_columns(report: inputs.ReportInput, run: PolicyRun, rows: Rows) -> dict[str, Any]:
    """What one policy made of the jobs, mostly as differences from what is known already.

    ``promised`` and ``blocked`` count from the submission, plus one; 0 is 'never'. A run that
    is not split is as wide as its job, so only the pieces of split runs carry their width.
    """
    schedule, jobs, start = run.schedule, report.workload, clock.first_submit(report.workload)
    done = started(schedule)
    last = int(done.sum())
    columns: dict[str, AnyArray] = {
        "done": done,
        "wait": np.where(done, schedule.wait, 0),
        "stretch": np.where(done, schedule.worked - jobs.effective_run, 0),
        "reason": schedule.reason,
        "killed": schedule.killed,
        "kills": schedule.kills,
        "lost_job": rows.runs.job[last:],
        "lost_start": rows.runs.start[last:] - start,
        "lost_end": rows.runs.end[last:] - start,
        "pieces": rows.count,
        "row": rows.row,
        "width": rows.width[np.repeat(rows.count > 1, rows.count)],
    }
    for name, column in (("promised", schedule.promised), ("blocked", schedule.blocked_at)):
        if column is not None:
            columns[name] = np.where(column >= 0, column - schedule.submit + 1, 0)
    if schedule.penalised is not None:
        columns["penalised"] = schedule.penalised
    return pack(columns)
