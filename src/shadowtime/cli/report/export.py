"""Schedules as files for other viewers: Paraver, Perfetto, Batsim's and evalys' jobs.csv."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.console import note
from shadowtime.cli.common.options import all_of
from shadowtime.cli.common.progress import working

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.report import ReportInput
    from shadowtime.report.written import Written

exports = all_of(
    click.option(
        "--paraver",
        metavar="OUT.prv",
        type=click.Path(dir_okay=False),
        help="Write a Paraver trace: OUT.prv, OUT.pcf and OUT.row.",
    ),
    click.option(
        "--perfetto",
        metavar="OUT.json",
        type=click.Path(dir_okay=False),
        help="Write a trace for Perfetto and chrome://tracing; .json.gz is packed.",
    ),
    click.option(
        "--job-lines",
        metavar="OUT.svg",
        type=click.Path(dir_okay=False),
        help="Draw every job's life on a line: waiting, running, unused and extra time; OUT.prv: "
        "the same for Paraver.",
    ),
    click.option(
        "--batsim",
        metavar="OUT.csv",
        type=click.Path(dir_okay=False),
        help="Write Batsim's jobs.csv, which evalys reads.",
    ),
)
"""The options; with several policies each but the first has its name added to the file's."""


def beside(path: str, name: str) -> Path:
    """The file of another policy beside the one that was asked for.

    Examples
    --------
    >>> beside("out/trace.json.gz", "easy-sjbf").as_posix()
    'out/trace-easy-sjbf.json.gz'
    """
    first = Path(path)
    stem, dot, endings = first.name.partition(".")
    return first.with_name(f"{stem}-{name}{dot}{endings}")


def write_exports(result: ReportInput, **asked: str | None) -> list[Path]:
    """Write each export that was asked for, by its name, and say what had to be left out.

    Returns a file per export and policy: that of the name which was asked for.
    """
    from shadowtime.report import write_batsim, write_job_lines, write_paraver, write_perfetto
    from shadowtime.result.write import file_names

    writers: dict[str, Callable[..., Written]] = {
        "paraver": write_paraver,
        "perfetto": write_perfetto,
        "job_lines": write_job_lines,
        "batsim": write_batsim,
    }
    names = file_names([run.name for run in result.runs])
    paths: list[Path] = []
    for kind, path in asked.items():
        for place, (run, name) in enumerate(zip(result.runs, names, strict=True)):
            if path is None:
                continue
            target = beside(path, name) if place else Path(path)
            with working(f"writing {target}"):
                done = writers[kind](result.workload, run.schedule, result.cluster, target)
            paths.append(done.paths[0])
            if done.left_out or done.note:
                left = f"{done.left_out:,} jobs left out" if done.left_out else ""
                note(f"{target}: {'; '.join(part for part in (left, done.note) if part)}")
    return paths
