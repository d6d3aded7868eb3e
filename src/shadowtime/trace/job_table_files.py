"""The table of jobs as CSV and Parquet files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.errors import InputError, MissingExtra, UsageError
from shadowtime.trace.job_maps import MAPS, map_for, mapped
from shadowtime.trace.job_table import NEEDED, raw_of, table_of

if TYPE_CHECKING:
    import os

    from shadowtime.workload import Workload
    from shadowtime.workload.raw import RawTrace


def is_job_table(first_line: str) -> bool:
    """Is this the header of a table of jobs, or of a data set whose columns we know?

    Examples
    --------
    >>> is_job_table("job_id,submit,run,nodes"), is_job_table("JobID,Submit,Start")
    (True, False)
    """
    names = {name.strip().strip('"') for name in first_line.split(",")}
    return set(NEEDED) <= names or any(one.fits(names) for one in MAPS)


def parse_job_csv(text: str, *, name: str, path: str | None = None) -> RawTrace:
    """The jobs of a CSV text with a header."""
    reader = csv.reader(io.StringIO(text))
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:  # a line break within a cell, or a cell without end
        raise InputError(
            f"not readable as CSV ({error})",
            path=path,
            line=reader.line_num,
            hint="Put cells with line breaks into quotes.",
        ) from None
    if not rows:
        raise InputError("the file is empty", path=path)
    head = [column.strip() for column in rows[0]]
    if len(set(head)) != len(head):
        raise InputError("a column is named twice", path=path, line=1)
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(head):
            raise InputError(
                f"expected {len(head)} columns, found {len(row)}", path=path, line=line
            )
    columns = {column: [row[k] for row in rows[1:]] for k, column in enumerate(head)}
    found = map_for(head, path)
    ours = columns if found is None else mapped(columns, found, path=path)
    return raw_of(ours, name=name, path=path)


def parse_job_parquet(data: bytes, *, name: str, path: str) -> RawTrace:
    """The jobs of a Parquet file's bytes."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="parquet", purpose="read Parquet") from None
    try:
        columns = parquet.read_table(pyarrow.BufferReader(data)).to_pydict()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise InputError(f"cannot be read ({what})", path=path) from None
    found = map_for(columns, path)
    ours = columns if found is None else mapped(columns, found, path=path, first=1)
    return raw_of(ours, name=name, path=path, first=1)


def write_jobs(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload as a table of jobs; the ending says CSV or Parquet."""
    file = Path(path)
    columns = table_of(workload)
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif file.suffix == ".parquet":
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError:
            raise MissingExtra("pyarrow", extra="parquet", purpose="write Parquet") from None
        parquet.write_table(pyarrow.table(columns), file)
    else:
        raise UsageError(f"{file}: a table of jobs ends in .csv or .parquet")
