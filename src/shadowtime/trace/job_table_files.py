"""Tables of jobs as CSV and Parquet files, or folders of them, read piece by piece.

The columns are ours (:mod:`shadowtime.trace.job_table`) or those of another's table with a map
(:mod:`shadowtime.trace.job_map`). A table whose columns nobody knows is answered with a proposed
map (:mod:`shadowtime.trace.job_map_guess`).
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from shadowtime.cluster.site_folder import zone_of
from shadowtime.errors import InputError, UsageError, optional
from shadowtime.trace._bytes import FIX_LINE, MAX_SIZE, too_large, warn_cut
from shadowtime.trace.further_columns import further_of
from shadowtime.trace.job_map import MAPS, JobMap, map_for
from shadowtime.trace.job_map_cells import mapped
from shadowtime.trace.job_map_guess import propose
from shadowtime.trace.job_table import KNOWN, NEEDED, JobTable, table_of
from shadowtime.workload import Workload
from shadowtime.workload.raw import RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines

PIECE = 10_000
"""Rows that are held as text at a time."""
DELIMITERS = (",", ";", "\t", "|")

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """One file of a table: its columns, and its rows piece by piece, of the columns wanted."""

    path: str
    names: tuple[str, ...]
    rows: Callable[[Sequence[str] | None], Iterator[tuple[int, Mapping[str, Sequence[Any]]]]]
    """Pieces with the line of their first row; None: all columns."""
    expected: int = 0
    """An estimate of the number of rows."""
    counts: dict[str, int]


def header_of(first_line: str) -> tuple[str, ...]:
    """The column names in a line, by the delimiter that cuts it most often.

    Examples
    --------
    >>> header_of('job_id;"submit";run')
    ('job_id', 'submit', 'run')
    """
    mark = max(DELIMITERS, key=first_line.count)
    try:
        cells: list[str] = next(csv.reader([first_line], delimiter=mark), [])
    except csv.Error:  # a line break or a quote without end: no header
        return ()
    return tuple(name.strip() for name in cells)


def is_job_table(first_line: str) -> bool:
    """Is this the header of a table of jobs, or of a data set whose columns we know?

    Examples
    --------
    >>> is_job_table("job_id,submit,run,nodes"), is_job_table("JobID,Submit,Start")
    (True, False)
    """
    names = set(header_of(first_line))
    return set(NEEDED) <= names or any(one.fits(names) for one in MAPS)


def is_table(first_line: str) -> bool:
    """Is this the header of some table: three or more names, none of them a number?

    Examples
    --------
    >>> is_table("queued_at,began_at,cores"), is_table("1,2,3"), is_table("a log of jobs")
    (True, False, False)
    """
    names = header_of(first_line)
    plain = [name.replace(".", "", 1).replace("-", "", 1).isdigit() for name in names]
    return len(names) >= 3 and not any(plain) and sum(map(bool, names)) >= len(names) - 1


def parse_job_csv(text: str, *, name: str, path: str | None = None) -> RawTrace:
    """The jobs of a CSV text with a header."""
    file = _opened_csv(io.StringIO(text, newline=""), path or "", text.count("\n"), "refuse")
    return _jobs(iter([file]), name, path, None, files=1)


def read_table(
    paths: Sequence[str], *, name: str, path: str, tz: str | None = None,
    bad_lines: BadLines = "refuse", max_size: int = MAX_SIZE,
) -> RawTrace:  # fmt: skip
    """The jobs of one file, or of several with the same columns; ``path`` has the map beside it."""

    def opened() -> Generator[Opened, None, None]:
        for one in paths:
            with ExitStack() as stack:
                yield _open(one, bad_lines, max_size, stack)

    with closing(opened()) as each:
        return _jobs(each, name, path, tz, files=len(paths))


def _jobs(
    each: Iterator[Opened], name: str, path: str | None, tz: str | None, *, files: int
) -> RawTrace:
    """The jobs of files that are opened one after the other."""
    zone, jobs = zone_of(tz), None
    names: tuple[str, ...] = ()
    found: JobMap | None = None
    counts: Counter[str] = Counter()
    for part, file in enumerate(each):
        here = file.path or None
        if not part:
            names = file.names
            found = _map(file, path)
        wanted = names if found is None else tuple(dict.fromkeys(found.columns.values()))
        missing = [one for one in wanted if one not in file.names]
        if missing:
            by = f"the map {found.name} names" if found else "the first file has"
            raise InputError(
                f"the table has no column {missing[0]!r}, which {by}", path=here, line=1
            )
        for first, columns in file.rows(wanted):
            ours = columns
            if found is not None:
                ours = mapped(columns, found, path=here, first=first, zone=zone)
            if jobs is None:
                jobs = JobTable(
                    ours, path=here, foreign=found is not None, expected=file.expected * files
                )
            jobs.path = here
            jobs.add(ours, first, part=part)
        counts.update(file.counts)
    if jobs is None:
        raise InputError("there is no job in it", path=path)
    jobs.counts.update(counts)
    jobs.path = path
    return jobs.raw(name)


def _map(file: Opened, path: str | None) -> JobMap | None:
    """The map of a table; None where the columns are ours."""
    names = file.names
    if len(set(names)) != len(names):
        raise InputError("a column is named twice", path=file.path or None, line=1)
    found = map_for(names, path)
    if found is None and not set(NEEDED) <= set(names):
        _, some = next(file.rows(None), (0, {one: () for one in names}))
        raise propose(some, path)
    return found


def _open(path: str, bad_lines: BadLines, max_size: int, stack: ExitStack) -> Opened:
    try:
        size = os.path.getsize(path)
        file = stack.enter_context(open(path, "rb"))  # noqa: SIM115  the stack closes it
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    if size > max_size:
        raise too_large(path, max_size, "")
    start = file.read(4)
    file.seek(0)
    if start == b"PAR1" or path.lower().endswith(".parquet"):
        return _opened_parquet(file, path)
    data: Any = file
    if start[:2] == _GZIP:
        data = stack.enter_context(gzip.GzipFile(fileobj=file))
        file.seek(-4, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(0)
    try:
        sample = data.read(1 << 20)
        data.seek(0)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the gzip data is damaged ({error})", path=path) from None
    expected = (sample.count(b"\n") + 1) * max(size, len(sample)) * 11 // (10 * (len(sample) + 1))
    text = stack.enter_context(
        io.TextIOWrapper(data, encoding="utf-8-sig", errors="replace", newline="")
    )
    return _opened_csv(text, path, min(expected, max_size), bad_lines, max_size)


def _opened_csv(
    text: TextIO, path: str, expected: int, bad_lines: BadLines, max_size: int = MAX_SIZE
) -> Opened:
    """A CSV file; its rows can be asked for once, but for those of the first piece."""
    head = text.readline()
    while head and not head.strip():
        head = text.readline()
    if not head:
        raise InputError("the file is empty", path=path or None)
    names = header_of(head.rstrip("\r\n"))
    mark = max(DELIMITERS, key=head.count)
    counts = {"bad_lines_dropped": 0}

    def lines() -> Iterator[str]:
        taken = 0
        for line in text:
            taken += len(line)
            if taken > max_size:
                raise too_large(path, max_size, " when it is unpacked")
            yield line

    reader = csv.reader(lines(), delimiter=mark)
    rows = _rows(reader, len(names), path, bad_lines, counts)

    def pieces(wanted: Sequence[str] | None) -> Iterator[tuple[int, dict[str, list[str]]]]:
        places = {one: names.index(one) for one in (names if wanted is None else wanted)}
        while some := list(islice(rows, PIECE)):
            first = some[0][0]
            yield first, {one: [row[1][at] for row in some] for one, at in places.items()}

    return Opened(path=path, names=names, rows=pieces, expected=expected, counts=counts)


def _rows(
    reader: Any, width: int, path: str, bad_lines: BadLines, counts: dict[str, int]
) -> Iterator[tuple[int, list[str]]]:
    """Rows with their numbers; one too short at the very end of the file was cut off."""
    number = 1
    short: tuple[int, int] | None = None
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:  # a line break within a cell, or a cell without end
            raise InputError(
                f"not readable as CSV ({error})", path=path or None, line=reader.line_num + 1,
                hint="Put cells with line breaks into quotes.",
            ) from None  # fmt: skip
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot be read to its end ({error})", path=path or None) from None
        if row is None:
            break
        if short is not None:
            _refuse(short, width, path, bad_lines, counts)
            short = None
        if not row:
            continue
        number += 1
        if len(row) == width:
            yield number, row
        else:
            short = number, len(row)
    if short is not None:
        if short[1] > width or number < 3:
            _refuse(short, width, path, bad_lines, counts)
        else:
            counts["cut_lines_dropped"] = 1
            warn_cut(path or None, short[0])


def _refuse(
    short: tuple[int, int], width: int, path: str, bad_lines: BadLines, counts: dict[str, int]
) -> None:
    if bad_lines == "refuse":
        raise InputError(
            f"expected {width} columns, found {short[1]}", path=path or None, line=short[0],
            hint=FIX_LINE,
        )  # fmt: skip
    counts["bad_lines_dropped"] += 1


def _opened_parquet(data: Any, path: str) -> Opened:
    pyarrow = optional("pyarrow", "parquet", extra="parquet", purpose="read Parquet")

    def wrong(error: Exception) -> InputError:
        return InputError(f"cannot be read ({str(error).splitlines()[0]})", path=path)

    def cells(column: Any) -> list[Any]:
        kind = column.type
        if pyarrow.types.is_timestamp(kind):  # nanoseconds would need pandas
            column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
        elif pyarrow.types.is_duration(kind):
            column = column.cast(pyarrow.duration("us"), safe=False)
        found: list[Any] = column.to_pylist()
        return found

    try:
        file = pyarrow.parquet.ParquetFile(data)
        names = tuple(file.schema_arrow.names)
        count = file.metadata.num_rows
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise wrong(error) from None

    def pieces(wanted: Sequence[str] | None) -> Iterator[tuple[int, dict[str, list[Any]]]]:
        first = 1
        try:
            for batch in file.iter_batches(PIECE, columns=wanted):
                found = zip(batch.schema.names, batch.columns, strict=True)
                yield first, {one: cells(column) for one, column in found}
                first += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise wrong(error) from None

    return Opened(path=path, names=names, rows=pieces, expected=count, counts={})


def write_jobs(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload as a table of jobs, CSV or Parquet by the file's suffix."""
    file = Path(path)
    columns = table_of(workload) | further_of(workload, KNOWN)
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif file.suffix == ".parquet":
        pyarrow = optional("pyarrow", "parquet", extra="parquet", purpose="write Parquet")
        pyarrow.parquet.write_table(pyarrow.table(columns), file)
    else:
        raise UsageError(f"{file}: a table of jobs ends in .csv or .parquet")
