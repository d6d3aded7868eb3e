"""Records as files: JSON lines with all that is known of a job, or a CSV from any tool.

A file is read whole before anything is stored: an invalid or incomplete line is reported, and then
nothing is imported.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from shadowtime import plain, private
from shadowtime.errors import InputError, UsageError
from shadowtime.hperf.record import MAX_COUNT, Process, Record, Thread
from shadowtime.printable import shown
from shadowtime.types import MAX_SPAN

COLUMNS = ("tag", "bandwidth", "elapsed", "width", "key", "finished", "source")
"""Columns of the CSV; tag and bandwidth (MB/s per process) must be there."""


def read_records(path: str | Path) -> list[Record]:
    """The records of a .jsonl or .csv file; rejects the whole file if one line is invalid."""
    return list(_readers(path)[0](Path(path)))


def write_records(records: Iterable[Record], path: str | Path) -> int:
    """Write records to a .jsonl or .csv file; returns how many."""
    write = _readers(path)[1]
    count = 0
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        for count, _ in enumerate(write(records, file), 1):  # noqa: B007
            pass
    return count


def _readers(
    path: str | Path,
) -> tuple[
    Callable[[Path], Iterator[Record]], Callable[[Iterable[Record], TextIO], Iterator[None]]
]:
    if str(path).endswith(".jsonl"):
        return _from_json_lines, _to_json_lines
    if str(path).endswith(".csv"):
        return _from_csv, _to_csv
    raise UsageError(f"{path}: records are kept as .jsonl (everything) or .csv (a row per job)")


def _opened(path: Path) -> TextIO:
    try:
        return os.fdopen(private.open_plain(path, os.O_RDONLY), encoding="utf-8", newline="")
    except OSError as wrong:
        raise InputError(f"cannot be read: {wrong.strerror}", path=str(path)) from None


# ---------------------------------------------------------------------------- JSON lines
def _to_json_lines(records: Iterable[Record], file: TextIO) -> Iterator[None]:
    for record in records:
        file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
        yield


def _from_json_lines(path: Path) -> Iterator[Record]:
    with closing(_opened(path)) as file:
        number = 0
        try:
            for line in file:
                number += 1
                if line.strip():
                    yield record_from(json.loads(line))
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", path=str(path), line=number + 1) from None
        except (json.JSONDecodeError, RecursionError):
            raise InputError(
                "not a whole JSON object: half written?",
                path=str(path),
                line=number,
                hint="Nothing was imported; take the line out or write it again.",
            ) from None
        except (InputError, TypeError, KeyError, ValueError) as wrong:
            raise InputError(
                _reason(wrong), path=str(path), line=number, hint="Nothing was imported."
            ) from None


def record_from(values: Any) -> Record:
    """A record from the plain values of a JSON object.

    Examples
    --------
    >>> record_from({"tag": "cg", "bandwidth": 12}).bandwidth
    12.0
    """
    if not isinstance(values, dict):
        raise InputError("a record must be a JSON object")
    strange = set(values) - {*COLUMNS, "processes"}
    if strange:
        raise InputError(f"a record has no field {', '.join(map(shown, sorted(strange)))}")
    missing = {"tag", "bandwidth"} - set(values)
    if missing:
        raise InputError(f"a record needs {' and '.join(sorted(missing))}")
    processes = tuple(
        _process(plain.mapping(each, "a process"))
        for each in plain.items(values.get("processes", []), "processes")
    )
    return Record(
        tag=_text("tag", values["tag"]),
        bandwidth=_number(float, "bandwidth", values["bandwidth"]),
        elapsed=_number(float, "elapsed", values.get("elapsed", 0.0)),
        width=_number(int, "width", values.get("width", 1)),
        key=None if values.get("key") is None else _text("key", values["key"]),
        finished=_number(int, "finished", values.get("finished", 0)),
        source=_text("source", values.get("source", "import")),
        processes=processes,
    )


def _process(values: dict[str, Any]) -> Process:
    threads = plain.items(plain.entry(values, "threads"), "threads")
    return Process(
        rank=plain.whole(plain.entry(values, "rank"), "rank", low=0, high=MAX_SPAN),
        node=plain.text(plain.entry(values, "node"), "node"),
        elapsed=float(plain.number(plain.entry(values, "elapsed"), "elapsed")),
        threads=tuple(_thread(plain.mapping(each, "a thread")) for each in threads),
    )


def _thread(values: dict[str, Any]) -> Thread:
    counters = plain.mapping(plain.entry(values, "counters"), "counters")
    return Thread(
        number=plain.whole(plain.entry(values, "number"), "number", low=0, high=MAX_SPAN),
        counters={
            plain.text(name, "a counter"): plain.whole(value, "a counter", low=0, high=MAX_COUNT)
            for name, value in counters.items()
        },
    )


def _text(name: str, value: object) -> str:
    return plain.text(value, name)


def _number(kind: Callable[[Any], Any], name: str, value: object) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {shown(value)}") from None


def _reason(wrong: Exception) -> str:
    if isinstance(wrong, KeyError):
        return f"{wrong.args[0]} is missing"
    return str(wrong)


# ---------------------------------------------------------------------------- CSV
def _to_csv(records: Iterable[Record], file: TextIO) -> Iterator[None]:
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for record in records:
        row = asdict(record)
        writer.writerow("" if row[name] is None else row[name] for name in COLUMNS)
        yield


def _from_csv(path: Path) -> Iterator[Record]:
    with closing(_opened(path)) as file:
        rows = csv.DictReader(file)
        try:
            for row in rows:
                cells = {k: v for k, v in row.items() if v not in ("", None)}
                if None in row or None in row.values():
                    raise InputError(
                        "the row does not have the cells of the heading: half written?"
                    )
                yield record_from(cells)
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", path=str(path), line=rows.line_num + 1) from None
        except (InputError, csv.Error, ValueError) as wrong:
            raise InputError(
                _reason(wrong), path=str(path), line=rows.line_num, hint="Nothing was imported."
            ) from None
