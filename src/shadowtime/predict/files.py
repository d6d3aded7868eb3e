"""Predictions that somebody else made: a column of the log, or a file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError, PolicyError

if TYPE_CHECKING:
    from shadowtime.types import Floats
    from shadowtime.workload import Workload


def from_column(workload: Workload, name: str) -> Floats:
    """A column of the log; a negative number says nothing.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[5, 5], procs=[1, 1],
    ...     extra={"guess": np.array([7, -1])})
    >>> from_column(jobs, "guess").tolist()
    [7.0, nan]
    """
    if name not in workload.extra:
        known = ", ".join(sorted(workload.extra)) or "none"
        raise PolicyError(
            f"estimate=column: {workload.name} has no further column {name!r} (it has {known}); "
            "name one with estimate=column(column=NAME)"
        )
    values = np.asarray(workload.extra[name])
    if values.dtype.kind not in "iuf":
        raise PolicyError(f"estimate=column: the column {name!r} does not hold numbers")
    return _known(values.astype(np.float64))


def from_file(workload: Workload, path: str) -> Floats:
    """A CSV file with a line per job: job_id and estimate in seconds; negative says nothing."""
    found: dict[int, float] = {}
    try:
        with Path(path).open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if not {"job_id", "estimate"} <= set(rows.fieldnames or ()):
                raise InputError(f"{path} needs the columns job_id and estimate in its first line")
            for row in rows:
                try:
                    job, seconds = int(row["job_id"]), float(row["estimate"])
                except (TypeError, ValueError):
                    raise InputError(
                        f"{path}, line {rows.line_num}: job_id must be a whole number and "
                        f"estimate a number, not {row['job_id']!r} and {row['estimate']!r}"
                    ) from None
                if job in found:
                    raise InputError(f"{path}, line {rows.line_num}: job {job} appears twice")
                found[job] = seconds
    except FileNotFoundError:
        raise InputError(f"{path}: no such file of estimates") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    ids = workload.job_id.tolist()
    missing = [job for job in ids if job not in found]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{path} has no estimate for job {missing[0]}{more}; write -1 where the request is "
            "to be taken"
        )
    return _known(np.array([found[job] for job in ids]))


def _known(values: Floats) -> Floats:
    made: Floats = np.where(values < 0, np.nan, values)
    return made
