"""A Slurm site's month as CSV: JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit.

Published by sites that do not want to release accounting records: memory is KB of the whole job,
durations are seconds, the submission is an epoch; there are no users and no recorded starts.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace._bytes import FIX_LINE, refuse_choice
from shadowtime.trace.header import converted
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT, MAX_PROCS, MAX_TIME, RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines

COLUMNS = ("jobname", "reqmem", "reqcpus", "reqgpus", "reqduration", "actualduration", "submit")
_HIGHEST = {
    "reqmem": MAX_AMOUNT,
    "reqcpus": MAX_PROCS,
    "reqgpus": MAX_PROCS,
    "reqduration": MAX_SPAN,
    "actualduration": MAX_SPAN,
    "submit": MAX_TIME,
}
_NUMBER = re.compile(r"\D*(\d{1,15})")


def is_slurm_csv(first_line: str) -> bool:
    """Does a file with this first line have the columns of the format (in any order)?"""
    names = {name.strip().strip('"').lower() for name in first_line.split(",")}
    return set(COLUMNS) <= names


def parse_slurm_csv(
    text: str, *, name: str, path: str | None = None, bad_lines: BadLines = "refuse"
) -> RawTrace:
    """The jobs of such a file; their number is the one in their name.

    Examples
    --------
    >>> raw = parse_slurm_csv('''JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit
    ... job17,4000000,2,1,3600,60,1614837941
    ... ''', name="one")
    >>> raw["job_id"].tolist(), raw["request"].tolist(), raw.demands["gpus"].tolist()
    ([17], [3600], [1])
    """
    refuse_choice(bad_lines)
    reader = csv.reader(text.splitlines())
    header = [column.strip().lower() for column in next(reader, [])]
    if not set(COLUMNS) <= set(header):
        raise InputError(f"the first line must name {', '.join(COLUMNS)}", path=path, line=1)
    places = [header.index(column) for column in COLUMNS]
    rows: list[list[int]] = []
    lines: list[int] = []
    bad = 0
    while True:
        try:
            fields = next(reader, None)
            if fields is None:
                break
            if any(field.strip() for field in fields):
                rows.append(_row(fields, places, len(header)))
                lines.append(reader.line_num)
        except (ValueError, csv.Error) as error:
            if bad_lines == "refuse":
                raise InputError(
                    str(error), path=path, line=reader.line_num, hint=FIX_LINE
                ) from None
            bad += 1
    if not rows:
        raise InputError("there is no job in it", path=path)
    column = dict(zip(COLUMNS, np.array(rows, np.int64).T, strict=True))
    origin = int(column["submit"].min())
    values = {
        "job_id": column["jobname"],
        "submit": column["submit"] - origin,
        "run": column["actualduration"],
        "requested_procs": column["reqcpus"],
        "request": column["reqduration"],
    }
    unknown = np.full(len(rows), UNKNOWN, np.int64)
    return RawTrace(
        name=name,
        table=np.stack([values.get(field, unknown) for field in FIELDS]),
        line=np.array(lines, np.int64),
        path=path,
        header=converted("a Slurm site's CSV", origin),
        counts={"bad_lines_dropped": bad},
        demands={"memory": column["reqmem"], "gpus": column["reqgpus"]},
    )


def _row(fields: list[str], places: list[int], width: int) -> list[int]:
    if len(fields) != width:
        raise ValueError(f"expected {width} columns, found {len(fields)}")
    match = _NUMBER.fullmatch(fields[places[0]].strip())
    row = [int(match[1]) if match else UNKNOWN]
    for column, place in zip(COLUMNS[1:], places[1:], strict=True):
        word = fields[place].strip()
        if not re.fullmatch(r"-1|[0-9]{1,18}", word):
            raise ValueError(f"{column} must be a whole number, not {word[:30]!r}")
        if int(word) > _HIGHEST[column]:
            raise ValueError(f"{column} is {word}, beyond {_HIGHEST[column]}")
        row.append(int(word))
    return row
