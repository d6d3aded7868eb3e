"""A job as it is typed: its number, or a task of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.workload.site_requests import array_ids, row_of_job

if TYPE_CHECKING:
    from shadowtime.workload import Workload

NEAR = 5
"""Number of nearby job numbers suggested for one that does not exist."""


def job_number(text: str, workload: Workload, folder: str) -> int:
    """The job's number, if there is such a job; a task of an array by its array and index."""
    row = row_of_job(workload, text)
    if row is not None:
        return int(workload.job_id[row])
    array, mark, task = text.partition("_")
    if mark and array.isdigit() and task.isdigit():
        tasks = [name for name in array_ids(workload).values() if name.startswith(f"{array}_")]
        known = f"it has {', '.join(tasks[:NEAR])}" + (" ..." if len(tasks) > NEAR else "")
        raise UsageError(
            f"there is no task {text} in {folder}: "
            + (known if tasks else f"there is no array {array}")
        )
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UsageError(f"{text!r} is not a job number: those of {folder} {_range(workload)}")
    wanted = int(text)
    ordered = np.sort(workload.job_id)
    distance = [abs(int(one) - wanted) for one in ordered]
    near = sorted(int(ordered[i]) for i in np.argsort(distance, kind="stable")[:NEAR])
    raise UsageError(
        f"there is no job {wanted} in {folder}: the nearest are {', '.join(map(str, near))} "
        f"(job numbers {_range(workload)}; jobs dropped by cleaning are excluded)"
    )


def _range(workload: Workload) -> str:
    return f"go from {int(workload.job_id.min())} to {int(workload.job_id.max())}"
