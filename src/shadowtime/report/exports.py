"""Schedules for other viewers: Chrome's trace JSON, which Perfetto and chrome://tracing open
(spec: formats 2.6), and Batsim's jobs.csv, which evalys reads (spec: formats 2.4).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.report import clock, inputs, levels
from shadowtime.report.rows import Rows, lay_out
from shadowtime.schedule import Schedule
from shadowtime.types import Ints, Reason
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


CAP = 200_000
"""Slices in a file: viewers slow down beyond."""

POINTS = 5_000
"""Points of a counter's curve."""

MICRO = 1_000_000


def write_perfetto(
    workload: Workload, schedule: Schedule, cluster: Cluster, path: str | Path, *, cap: int = CAP
) -> inputs.Written:
    """Write a slice for every row that a run covers; a host is a process, a row a thread.

    Rules
    -----
    If that would be more than ``cap`` slices, a run is shown only on the first row of each of its
    pieces; if even that is too much, the runs that start last are omitted. This is noted in the
    file (otherData) and in the result. A path that ends in .gz is compressed.
    """
    if cap < 1:
        raise UsageError(f"a trace of at most {cap} slices would be empty: give a cap of 1 or more")
    path = Path(path)
    rows = lay_out(schedule, cluster)
    every = int(rows.width.sum()) <= cap
    shown = _within(rows, cap, every=every)
    left = len(schedule) - len(np.unique(rows.runs.job[np.unique(rows.owner[shown])]))
    note = "" if every else "a slice per piece instead of one per row, to keep the file small"
    if len(shown) < len(rows.row):
        note += f"; cut at {cap:,} slices"
    origin = clock.first_submit(workload)
    events = list(_named(rows))
    slices = list(_slices(workload, schedule, rows, shown, origin, every=every))
    events += slices
    events += _counter("queue", "jobs", levels.queue(schedule), origin)
    events += _counter("busy processors", "processors", levels.busy(schedule), origin)
    body = {
        "displayTimeUnit": "ms",
        "otherData": {"policy": schedule.policy, "jobs omitted": str(left), "note": note},
        "traceEvents": events,
    }
    data = json.dumps(body, separators=(",", ":")).encode("utf-8")
    path.write_bytes(gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)
    return inputs.Written(paths=(path,), records=len(slices), left_out=left, note=note)


def _within(rows: Rows, cap: int, *, every: bool) -> Ints:
    """The pieces that are shown, by start."""
    order = np.argsort(rows.runs.start[rows.owner], kind="stable")
    return order if every else order[:cap]


def _named(rows: Rows) -> Iterator[dict[str, Any]]:
    """Names of the hosts; process 0 is the machine as a whole."""
    yield {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "machine"}}
    for number, band in enumerate(rows.bands, start=1):
        yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": band.name}}


def _slices(
    workload: Workload,
    schedule: Schedule,
    rows: Rows,
    shown: Ints,
    origin: int,
    *,
    every: bool,
) -> Iterator[dict[str, Any]]:
    runs = rows.runs
    bands = np.array([band.row for band in rows.bands])
    host = np.searchsorted(bands, rows.row[shown], side="right")
    run = rows.owner[shown]
    job = runs.job[run]
    columns = (
        schedule.job_id[job],
        np.where(runs.lost[run] == 1, len(Reason), schedule.reason[job]),
        (runs.start[run] - origin) * MICRO,
        (runs.end[run] - runs.start[run]) * MICRO,
        host,
        rows.row[shown] - bands[host - 1] + 1,
        rows.width[shown] if every else np.ones(len(shown), np.int64),
        schedule.procs[job],
        np.array([workload.name_of("user", int(one)) or -1 for one in workload.user[job]], object)
        if "user" in workload.names
        else workload.user[job],
        schedule.wait[job],
        workload.request[job],
    )
    kinds = [*(reason.label for reason in Reason), "lost"]
    for number, kind, start, length, pid, tid, wide, procs, user, wait, request in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        args = {"processors": procs, "user": user, "wait_s": wait, "requested_s": request}
        for extra in range(wide):
            yield {
                "name": f"job {number}",
                "cat": kinds[kind],
                "ph": "X",
                "ts": start,
                "dur": length,
                "pid": pid,
                "tid": tid + extra,
                "args": args,
            }


def _counter(name: str, unit: str, level: levels.Level, origin: int) -> list[dict[str, Any]]:
    """A curve, thinned evenly if it has too many points."""
    step = max(1, -(-len(level.at) // POINTS))
    return [
        {"ph": "C", "name": name, "pid": 0, "ts": (at - origin) * MICRO, "args": {unit: value}}
        for at, value in zip(level.at[::step].tolist(), level.value[::step].tolist(), strict=True)
    ]


COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
    "consumed_energy",
    "metadata",
)
NO_ENERGY = -1
"""What Batsim writes if energy is not measured."""


def write_batsim(
    workload: Workload, schedule: Schedule, cluster: Cluster, path: str | Path
) -> inputs.Written:
    """Write the jobs that ran, in (submit, id) order.

    Resources are the processors, counted from 0 through all hosts; on a pool they are those of the
    chart. A job killed at its limit did not succeed. A job that took no time has a stretch of its
    turnaround in seconds.
    """
    path = Path(path)
    if schedule.attempts.procs is not None:
        raise UsageError("Batsim's file has one size for each job: jobs of this schedule change it")
    rows = lay_out(schedule, cluster)
    text, count = render_batsim(workload, schedule, rows)
    path.write_text(text, encoding="utf-8")
    missing = len(schedule) - count
    note = "jobs without a start and an end" if missing else ""
    return inputs.Written(paths=(path,), records=count, left_out=missing, note=note)


def render_batsim(workload: Workload, schedule: Schedule, rows: Rows) -> tuple[str, int]:
    """The file's text and its number of jobs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    final = np.flatnonzero(rows.runs.lost == 0)
    first = np.concatenate([[0], np.cumsum(rows.count)])
    for run in final.tolist():
        job = int(rows.runs.job[run])
        pieces = slice(int(first[run]), int(first[run + 1]))
        submit, start, end = (
            int(column[job]) for column in (schedule.submit, schedule.start, schedule.end)
        )
        killed = int(schedule.killed[job])
        writer.writerow(
            (
                int(schedule.job_id[job]),
                workload.name,
                f"delay_{end - start}",
                submit,
                int(schedule.procs[job]),
                int(workload.request[job]),
                1 - killed,
                "COMPLETED_WALLTIME_REACHED" if killed else "COMPLETED_SUCCESSFULLY",
                start,
                end - start,
                end,
                start - submit,
                end - submit,
                repr((end - submit) / max(1, end - start)),
                _ranges(rows.row[pieces].tolist(), rows.width[pieces].tolist(), rows.unit),
                NO_ENERGY,
                "",
            )
        )
    return out.getvalue(), len(final)


def _ranges(row: list[int], width: list[int], unit: int) -> str:
    """Processors as Batsim writes them.

    Examples
    --------
    >>> _ranges([3, 0], [2, 1], 1), _ranges([1], [1], 8)
    ('0 3-4', '8-15')
    """
    parts = []
    for low, size in sorted(zip(row, width, strict=True)):
        a, b = low * unit, (low + size) * unit - 1
        parts.append(str(a) if a == b else f"{a}-{b}")
    return " ".join(parts)
