"""Batsim's jobs.csv, which evalys reads (FORMATS 2.4)."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.rows import lay_out
from shadowtime.report.written import Written

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.report.rows import Rows
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

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
"""What Batsim writes where nothing measures energy."""


def write_batsim(
    workload: Workload, schedule: Schedule, cluster: Cluster, path: str | Path
) -> Written:
    """Write the jobs that ran, in (submit, id) order.

    Resources are the processors, counted from 0 through all hosts; on a pool they are those of
    the picture. A job killed at its limit did not succeed. A job that took no time has a stretch
    of its turnaround in seconds.
    """
    path = Path(path)
    rows = lay_out(schedule, cluster)
    text, count = render_batsim(workload, schedule, rows)
    path.write_text(text, encoding="utf-8")
    missing = len(schedule) - count
    note = "jobs without a start and an end" if missing else ""
    return Written(paths=(path,), records=count, left_out=missing, note=note)


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
