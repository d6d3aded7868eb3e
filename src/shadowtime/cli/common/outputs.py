"""Where results are written: checked before the work, not after it."""

from __future__ import annotations

import os
import shlex
from importlib.util import find_spec
from pathlib import Path

import click

from shadowtime.cli.common.console import note
from shadowtime.errors import MissingExtra, UsageError
from shadowtime.printable import printable

PAGES = (".html", ".htm")
PAGE = "report.html"
"""The page's default name in the result folder."""
TOGETHER = "comparison.html"
"""The page of several folders."""


def check_outputs(
    *,
    schedule: str | None = None,
    folder: str | None = None,
    report: str | None = None,
    figures: str | None = None,
    kept: str | None = None,
) -> None:
    """Reject a result that could not be written, or not in the format of its name.

    Rules
    -----
    A schedule is CSV or Parquet and a report a web page, by the ending of the name. The folder of
    a file must exist; folders for results and figures are created, so the nearest folder above them
    must be writable. The extra that a format needs must be installed. Nothing is created or changed
    here.

    Examples
    --------
    >>> check_outputs(report="page.pdf")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --report page.pdf: a report is one web page: name it ...
    """
    if schedule is not None:
        from shadowtime.schedule.files import SUFFIXES  # help loads no numeric library

        suffix = Path(schedule).suffix.lower()
        if suffix not in SUFFIXES and not _special(schedule):
            stem = printable(Path(schedule).stem)
            raise UsageError(
                f"--schedule {printable(schedule)}: a schedule is written as CSV or Parquet: name "
                f"it {stem}.csv or {stem}.parquet"
            )
        if suffix in (".parquet", ".pq") and find_spec("pyarrow") is None:
            raise MissingExtra("pyarrow", extra="parquet", purpose="write Parquet files")
        check_file("--schedule", schedule)
    if report is not None:
        if Path(report).suffix.lower() not in PAGES and not _special(report):
            raise UsageError(
                f"--report {printable(report)}: a report is one web page: name it "
                f"{printable(Path(report).stem)}.html, or draw PDF figures with --figures DIR"
            )
        check_file("--report", report)
    if folder is not None:
        check_folder("--output", folder)
    if kept is not None:
        check_folder("--resume", kept)
    if figures is not None:
        if find_spec("matplotlib") is None:
            raise MissingExtra("matplotlib", extra="figures", purpose="draw figures")
        check_folder("--figures", figures)


def wrote(*paths: str | Path | None, figures: str | None = None, count: int = 0) -> None:
    """Report what was written, a line for each file or folder, on standard error."""
    for path in paths:
        if path:
            note(f"wrote {printable(str(path))}")
    if figures:
        note(f"wrote {count} figures in {printable(figures)}")


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    from shadowtime.result.write import to_json

    click.echo(to_json(value))


def command_line() -> str:
    """The command line, quoted so that it can be typed again."""
    return shlex.join(typed_words())


def typed_words() -> tuple[str, ...]:
    """The words of the command line; none where no command runs."""
    context = click.get_current_context(silent=True)
    return () if context is None else tuple(context.find_root().obj or ())


def _special(name: str) -> bool:
    """A terminal or a pipe has no ending."""
    return os.path.exists(name) and not os.path.isfile(name)


def check_file(option: str, name: str) -> None:
    """Reject a file that could not be written at its place."""
    path = Path(name)
    above = path.parent
    if not os.path.isdir(above):
        raise UsageError(f"{option} {printable(name)}: there is no folder {printable(str(above))}")
    if os.path.isdir(path):
        raise UsageError(f"{option} {printable(name)}: this is a folder: name a file in it")
    place = path if os.path.exists(path) else above
    if not os.access(place, os.W_OK):
        raise UsageError(f"{option} {printable(name)}: {printable(str(place))} is not writable")


def check_folder(option: str, name: str) -> None:
    """Reject a folder that could not be created or written to."""
    place = Path(name)
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not os.path.isdir(place):
        raise UsageError(f"{option} {printable(name)}: {printable(str(place))} is not a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {printable(name)}: {printable(str(place))} is not writable")
