"""A comparison as results: what a report shows of each load, result folders and pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.private import write_result
from shadowtime.report import ReportInput
from shadowtime.result import write

if TYPE_CHECKING:
    from shadowtime.study import Comparison, Load, Setting

KINDS_OF_COPIES = {"shaken": "shaken inputs", "resampled": "logs with resampled users"}


def title_of(setting: Setting) -> str:
    """The log, and the load where it is not the recorded one."""
    name = setting.workload.name
    return f"{name} at load {setting.load}" if str(setting.load) != "as recorded" else name


def as_report(
    comparison: Comparison,
    setting: Setting,
    *,
    where: str = "",
    title: str = "",
    command: str = "",
) -> ReportInput:
    """One load of a comparison as a report shows it: the unmodified log, and its copies."""
    copies = comparison.replicas
    return ReportInput(
        title=title or title_of(setting),
        workload=setting.workload,
        cluster=comparison.cluster,
        runs=setting.runs,
        window=comparison.window,
        where=where,
        versions=write.versions(),
        command=command,
        seeds=(copies.seed,) if copies.count else (),
        interval_note=f"Means over {copies_in_words(comparison)} with their 95 % intervals; "
        "hover for the unmodified log. Classes are those of the unmodified log."
        if copies.count
        else "",
        trust=comparison.trust,
    )


def copies_in_words(comparison: Comparison) -> str:
    """How many copies of which kind."""
    copies = comparison.replicas
    return f"{copies.count} {KINDS_OF_COPIES.get(copies.kind, copies.kind)}"


def file_name(load: Load) -> str:
    """A load as part of a file's name.

    Examples
    --------
    >>> from shadowtime.study import Load
    >>> file_name(Load.parse("1.2")), file_name(Load.parse("offered=0.9"))
    ('load-1.2', 'load-offered-0.9')
    """
    text = f"{load.kind}-{load.value:g}".removeprefix("relative-")
    return f"load-{re.sub(r'[^A-Za-z0-9.]+', '-', text)}"


def write_comparison(
    content: dict[str, Any], comparison: Comparison, results: Sequence[ReportInput], folder: str
) -> None:
    """The result folder; with several loads, one inside it for each."""
    if len(results) == 1:
        write.write_folder(content, results[0], folder)
        return
    for setting, result in zip(comparison.settings, results, strict=True):
        more = {"load": str(setting.load), "replicas": comparison.as_dict()["replicas"]}
        inner = write.as_object(result, comparison.window, **more)
        write.write_folder(inner, result, str(Path(folder) / file_name(setting.load)))
    whole = {**content, "command": results[0].command}
    write_result(Path(folder) / "result.json", write.to_json(whole) + "\n")


def write_pages(
    comparison: Comparison,
    results: Sequence[ReportInput],
    *,
    report: str | None,
    figures: str | None,
    step: write.Step = write.quiet,
) -> list[Path]:
    """Page and figures; with several loads, further pages beside it and a folder for each.

    Returns what was written, pages and figures.
    """
    several = len(results) > 1
    written: list[Path] = []
    for place, (setting, result) in enumerate(zip(comparison.settings, results, strict=True)):
        page, folder = report and Path(report), figures and Path(figures)
        if page and place:
            page = page.with_name(f"{page.stem}-{file_name(setting.load)}{page.suffix}")
        if folder and several:
            folder = folder / file_name(setting.load)
        written += write.write_results(result, report=page, figures=folder, step=step)
    return written
