"""What jobs ask of a site, the names behind their numbers and the log's clock, in a result folder.

Requests are kept as the table of jobs that the trace readers know (``jobs.csv.gz``); names, the
moment at which the log's clock reads 0, and what was inferred or lost in ``names.json``. Each is
there only where it is needed.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shadowtime.types import Ints
    from shadowtime.workload import Workload
    from shadowtime.workload.request import Requests

JOBS, NAMES = "jobs.csv.gz", "names.json"
AGAIN = "Write the folder again."


def write_asked(workload: Workload, folder: Path) -> None:
    """The requests and the names of a workload; files of an older result are removed."""
    from shadowtime.private import write_result
    from shadowtime.trace._bytes import save
    from shadowtime.trace.job_table import table_of

    for name in (JOBS, NAMES):
        (folder / name).unlink(missing_ok=True)
    if workload.requests is not None:
        columns = table_of(workload)
        for name in ("qos", "account"):  # as asked for: the job's own are in names.json
            columns[name] = [
                getattr(workload.requests[row], name) or None for row in range(len(workload))
            ]
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
        save(out.getvalue().encode("utf-8"), folder / JOBS)
    known = _known(workload)
    if known:
        write_result(folder / NAMES, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def _known(workload: Workload) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if workload.names:
        found["names"] = {column: list(names) for column, names in workload.names.items()}
    if workload.epoch is not None:
        found["epoch"] = workload.epoch
    if workload.lost_runs:
        found["lost_runs"] = {str(job): list(runs) for job, runs in workload.lost_runs.items()}
    asked = workload.requests
    if asked is not None:
        found["inferred"] = dict(asked.inferred)
    return found


def read_asked(folder: Path, job_id: Ints) -> dict[str, Any]:
    """The fields of the workload that :func:`write_asked` kept; none where it kept none."""
    known = _read_names(folder / NAMES)
    epoch = known.get("epoch")
    found: dict[str, Any] = {
        "names": {str(column): tuple(names) for column, names in known.get("names", {}).items()},
        "epoch": None if epoch is None else int(epoch),
        "lost_runs": {
            int(job): tuple((int(begin), int(end)) for begin, end in runs)
            for job, runs in known.get("lost_runs", {}).items()
        },
    }
    if (folder / JOBS).exists():
        found["requests"] = _read_requests(
            folder / JOBS, job_id, found["epoch"] or 0, known.get("inferred", {})
        )
    return found


def _read_names(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", path=str(path), hint=AGAIN) from None
    if not isinstance(known, dict):
        raise InputError("holds no names of a log", path=str(path), hint=AGAIN)
    return known


def _read_requests(path: Path, job_id: Ints, base: int, inferred: Mapping[str, int]) -> Requests:
    from shadowtime.trace._bytes import load
    from shadowtime.trace.job_table_files import parse_job_csv

    try:
        text = load(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8", path=str(path), hint=AGAIN) from None
    raw = parse_job_csv(text, name=path.name, path=str(path))
    if raw.requests is None or not np.array_equal(raw["job_id"], job_id):
        raise InputError(
            "these are not the jobs of the trace beside it", path=str(path), hint=AGAIN
        )
    # The reader counts from the first submission; the workload's clock may have begun earlier.
    shift = (raw.epoch or 0) - base
    times = {
        name: np.where(values != UNKNOWN, values + shift, values)
        for name in ("begin", "cancel_at")
        for values in (getattr(raw.requests, name),)
    }
    return replace(raw.requests, inferred=dict(inferred), **times)
