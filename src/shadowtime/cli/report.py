"""shadowtime report, rerun: result folders as pages, figures and files, or made again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from shadowtime.cli.common import console, outputs, progress, running, tables
from shadowtime.cli.common.tables import plain_table
from shadowtime.errors import UsageError
from shadowtime.report import (
    ReportInput,
    write_batsim,
    write_job_lines,
    write_paraver,
    write_perfetto,
)
from shadowtime.report.inputs import Written
from shadowtime.report.numbers import count
from shadowtime.report.terminal import queue_lines
from shadowtime.report.verdict import verdict_of
from shadowtime.result import combine, read, write
from shadowtime.result.rerun import Rerun
from shadowtime.result.rerun import rerun as run_again
from shadowtime.study.counterfactual.otherwise import Absence
from shadowtime.types import File, FileOrFolder, Folder
from shadowtime.workload.site_requests import job_number

if TYPE_CHECKING:
    from rich.table import Table


LINE = 60
"""Characters of a line that draws the queue."""


def report(
    *folders: FileOrFolder,
    output: File | None = None,
    figures: Folder | None = None,
    paraver: File | None = None,
    perfetto: File | None = None,
    job_lines: File | None = None,
    batsim: File | None = None,
    policies: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
) -> None:
    """Show the result folder DIR on one page: which policy wins by which metric, every schedule.

    DIR was written with -o by simulate, compare, replay, whatif, demo or paper. The page is one
    file that needs no network. Nothing is simulated again, unless --without asks for it.

    Several folders of the same jobs are compared on one page. Folders of different jobs, and a
    folder of several loads, become a grid: a page of every metric by folder, with links to a
    page for each.

    \b
    shadowtime report results
    shadowtime report results -o page.html --figures figures
    shadowtime report results --policy easy --perfetto easy.json
    shadowtime report before after -o comparison.html
    shadowtime report results --without 1042

    Parameters
    ----------
    folders : DIR...
    output : OUT.html
        Where to write the page. [default: DIR/report.html, or comparison.html here for several
        folders, unless only other outputs are requested]
    paraver : OUT.prv
        Write a Paraver trace: OUT.prv, OUT.pcf and OUT.row.
    perfetto : OUT.json
        Write a trace for Perfetto and chrome://tracing; .json.gz is compressed.
    job_lines : OUT.svg
        Draw one line per job: waiting, running, unused and extra time; OUT.prv: the same for
        Paraver.
    batsim : OUT.csv
        Write Batsim's jobs.csv, which evalys reads.
    policies : NAME
        Only this policy of the folder; repeatable. [default: all of them]
    without : JOB
        Run the policies again without this job, and show on its card who would start when;
        repeatable.
    """
    outputs.check_outputs(report=output, figures=figures)
    others = {"paraver": paraver, "perfetto": perfetto, "job_lines": job_lines, "batsim": batsim}
    for name, path in others.items():
        if path is not None:
            outputs.check_file(f"--{name.replace('_', '-')}", path)
    with progress.while_reading(", ".join(folders)):
        known = combine.read_folders(folders, policies=policies)
    if not any((output, figures, *others.values())):
        output = outputs.TOGETHER if len(folders) > 1 else os.path.join(folders[0], outputs.PAGE)
    if without and len(known.found) > 1:
        raise UsageError("--without runs the policies of one folder again: name one folder")
    if not known.same_jobs:
        _grid(known, folders, output, [figures, *others.values()])
        return
    found = known.merged() if len(known.found) > 1 else known.found[0]
    result = found.result
    if without:
        result = result.replace(absences=_absences(found, without))
    done = write.write_results(result, report=output, figures=figures, step=progress.working)
    written = [f"wrote {path}" for path in done[: output is not None]]
    if figures:
        written.append(f"wrote {len(done) - len(written)} figures in {figures}")
    more = write_exports(found.result, **others)
    _show(found.result, [*written, *(f"wrote {path}" for path in more)])


def _absences(folder: read.Folder, without: Sequence[str]) -> dict[str, tuple[Absence, ...]]:
    """What would have been without each of these jobs, under every policy that can be run again."""
    from shadowtime.result.rerun import absences_in, is_recorded, policy_again

    result = folder.result
    jobs = [job_number(text, result.workload, str(folder.root)) for text in without]
    found = {}
    for run in result.runs:
        if is_recorded(run):
            continue
        policy = policy_again(folder, run)
        engine = running.prepare([policy], run.cluster or result.cluster, jobs=len(result.workload))
        with progress.while_simulating(f"simulating {run.name}"):
            found[run.name] = absences_in(folder, run, policy, jobs, engine=engine)
    return found


def beside(path: str, name: str) -> Path:
    """The file of a further policy.

    Examples
    --------
    >>> beside("out/trace.json.gz", "easy-sjbf").as_posix()
    'out/trace-easy-sjbf.json.gz'
    """
    first = Path(path)
    stem, dot, endings = first.name.partition(".")
    return first.with_name(f"{stem}-{name}{dot}{endings}")


def write_exports(result: ReportInput, **asked: str | None) -> list[Path]:
    """Write each requested export, and report what had to be omitted.

    Returns a file per export and policy.
    """
    writers: dict[str, Callable[..., Written]] = {
        "paraver": write_paraver,
        "perfetto": write_perfetto,
        "job_lines": write_job_lines,
        "batsim": write_batsim,
    }
    names = write.file_names([run.name for run in result.runs])
    paths: list[Path] = []
    for kind, path in asked.items():
        for place, (run, name) in enumerate(zip(result.runs, names, strict=True)):
            if path is None:
                continue
            target = beside(path, name) if place else Path(path)
            with progress.working(f"writing {target}"):
                done = writers[kind](result.workload, run.schedule, result.cluster, target)
            paths.append(done.paths[0])
            if done.left_out or done.note:
                left = f"{done.left_out:,} jobs omitted" if done.left_out else ""
                console.note(f"{target}: {'; '.join(part for part in (left, done.note) if part)}")
    return paths


def _grid(
    known: combine.Folders, folders: Sequence[str], page: str | None, others: Sequence[str | None]
) -> None:
    """The page of all of them, and beside it a page for each."""
    if any(others):
        raise UsageError(
            f"figures and exports need one result, but {', '.join(folders)} contain different "
            f"jobs: name one of them, such as {known.found[0].root}"
        )
    assert page is not None
    title = " and ".join(folders)
    pairs = list(zip(known.names, known.found, strict=True))
    written = write.write_grid_pages(pairs, page, title=title, step=progress.working)
    console.show(*(f"wrote {path}" for path in written))


def _show(result: ReportInput, written: Sequence[str]) -> None:
    """The verdict, the queue over time, and the files."""
    verdict = verdict_of(result)
    parts: list[RenderableType] = [
        tables.side_by_side(result.runs, console.output(), stars=not result.replay),
        Text(),
    ]
    queue = _queue(result)
    parts += [queue, Text()] if queue else []
    parts.append(Text.assemble((verdict.headline, "bold"), f" {verdict.detail}"))
    judged = [result.info.label for result in verdict.contests if result.winners]
    if judged:  # the table above may have no room for all of them
        parts.append(Text(f"Compared by {len(judged)} metrics: {'; '.join(judged)}.", "dim"))
    console.show(*parts, *(Text(line, "dim", overflow="fold") for line in written))


def _queue(result: ReportInput) -> Table | None:
    """How many jobs waited over time, all policies on one scale."""
    lines = queue_lines(result.runs, width=LINE)
    if not any(lines):
        return None
    table = plain_table("policy", "jobs waiting, from the first to the last day")
    for run, line in zip(result.runs, lines, strict=True):
        table.add_row(Text(run.name, "cyan"), Text(line, no_wrap=True))
    return table


def rerun(
    source: Folder, *, run_code: bool = False, output: Folder | None = None, json: bool = False
) -> int:
    """Run the policies of the result folder DIR again, on its own inputs.

    Prints for every table (a schedule, the metrics of a policy) whether each byte is equal, and
    which versions, data and code differ. The exit code is 1 if a table differs.

    \b
    shadowtime compare log.swf.gz -p easy -p ideas.py:mine -o results
    shadowtime rerun results --run-code

    Parameters
    ----------
    source : DIR
    run_code
        Run the code in DIR/code with your permissions; read it first.
    """
    outputs.check_outputs(folder=output)
    with progress.working("running it again"):
        found = run_again(source, run_code=run_code, output=output)
    if json:
        outputs.print_json({"folders": [one.as_dict() for one in found]})
    else:
        console.show(*(part for one in found for part in _parts(one)))
    return 0 if all(one.equal for one in found) else 1


def _parts(found: Rerun) -> list[RenderableType]:
    table = plain_table("table", "bytes")
    for one in found.tables:
        table.add_row(one.name, "equal" if one.equal else f"differ: {one.difference}")
    tables = count(len(found.tables), "table")
    differing = sum(not one.equal for one in found.tables)
    verdict = f"{found.folder}: every byte of {tables} is equal"
    if differing:
        verdict = f"{found.folder}: {differing} of {tables} differ"
    lines: list[Any] = [table, Text(), Text(verdict, "bold")]
    lines += [Text(f"not compared: {one}") for one in found.skipped]
    same = "the same versions, data and code"
    lines += [Text(one) for one in found.changes] or [Text(same, "dim")]
    return lines
