"""Schedule files by name: OUT.csv or OUT.parquet, with OUT.attempts.* beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError, UsageError
from shadowtime.private import result_file
from shadowtime.schedule.schedule import Attempts, Schedule


def attempts_path(path: Path | str) -> Path:
    """Where the attempts of a schedule file lie.

    Examples
    --------
    >>> attempts_path("runs/easy.csv").as_posix()
    'runs/easy.attempts.csv'
    """
    schedule = Path(path)
    return schedule.with_name(f"{schedule.stem}.attempts{schedule.suffix}")


SUFFIXES = (".csv", ".parquet", ".pq")
"""Endings of the name of a schedule's file."""


def write(schedule: Schedule, path: Path | str, *, more: Mapping[str, Any] | None = None) -> None:
    """Write a schedule as CSV or, by its ending, as Parquet.

    The attempts of preempted jobs go to ``OUT.attempts.csv``. That file is written only where
    there are attempts, or where an older one lies there that would be taken for this schedule's.
    ``more`` holds further columns for Parquet (user, partition, ...); the CSV has its own set.
    """
    target = Path(path)
    beside = attempts_path(target)
    with_attempts = len(schedule.attempts) > 0 or beside.exists()
    from shadowtime.schedule.csv import attempts_lines, schedule_lines

    try:
        if _is_parquet(target):
            from shadowtime.schedule import parquet

            with result_file(target) as new:
                parquet.write_schedule(schedule, new, more=more)
            if with_attempts:
                with result_file(beside) as new:
                    parquet.write_attempts(schedule.attempts, new)
            return
        _write_text(target, schedule_lines(schedule))
        if with_attempts:
            _write_text(beside, attempts_lines(schedule.attempts))
    except OSError as error:
        what = error.strerror or str(error)
        raise UsageError(
            f"cannot write {error.filename or target}: {what}. "
            "Check the folder and its permissions."
        ) from None


def read(path: Path | str, *, names: Mapping[str, str] | None = None) -> Schedule:
    """Read a schedule, from Shadowtime or from anywhere, and the attempts beside it.

    See :func:`shadowtime.schedule.csv.parse_schedule` for what a file may look like;
    ``names`` translates the columns of other tools' CSV files.
    """
    source = Path(path)
    beside = attempts_path(source)
    if _is_parquet(source):
        from shadowtime.schedule import parquet

        if names:
            raise UsageError("columns can be renamed for CSV files only: convert the file first")
        attempts = parquet.read_attempts(beside) if beside.exists() else Attempts.none()
        return parquet.read_schedule(source, attempts)
    from shadowtime.schedule.csv import parse_attempts, parse_schedule

    attempts = Attempts.none()
    if beside.exists():
        attempts = parse_attempts(_read_text(beside), path=str(beside))
    return parse_schedule(_read_text(source), path=str(source), attempts=attempts, names=names)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _write_text(path: Path, pieces: Iterable[str]) -> None:
    # Line ends are the same on every system: same inputs, same bytes.
    with result_file(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "not a text file", path=str(path), hint="Give a CSV file, or end its name in .parquet."
        ) from None
    except OSError as error:
        what = error.strerror or str(error)
        raise InputError(
            f"cannot be read: {what}", path=str(path), hint="Check the name and its permissions."
        ) from None
