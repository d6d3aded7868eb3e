"""From a comparison to what is shown, written and reported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.compiling import compile_notice
from shadowtime.cli.console import note
from shadowtime.cli.progress import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.report import ReportInput
    from shadowtime.study import Comparison, Load, Setting
    from shadowtime.workload import Workload

KINDS_OF_COPIES = {"shaken": "shaken inputs", "resampled": "logs with users drawn anew"}


def prepare(policies: Sequence[Any], cluster: Cluster) -> None:
    """Compile what these policies need, on all cores, and say so; nothing where it is cached."""
    from shadowtime.engine.warm import COST, cold, warm
    from shadowtime.study.fan_out import cores

    missing = cold(policies, cluster)
    if len(missing) < 2:
        return
    seconds = max(max(COST[name] for name in missing), sum(COST[n] for n in missing) // cores())
    note(f"compiling the engine for this machine: once, about {round(seconds, -1)} seconds ...")
    with working("compiling", steps=len(missing), patience=0.2, quiet=True) as advance:
        warm(policies, cluster, cores=cores(), finished=lambda name: advance())


def run_comparison(
    workload: Workload, cluster: Cluster, policies: Sequence[Any], **options: Any
) -> Comparison:
    """study.compare with a sign of life; ``options`` are its own."""
    from shadowtime.study import compare

    prepare(policies, cluster)
    loads = len(options.get("loads", (None,)))
    runs = len(policies) * loads * (1 + options.get("shake", 0) + options.get("resample", 0))
    with (
        working("simulating", steps=runs) as advance,
        compile_notice("the engine", "up to half a minute for each kind of policy"),
    ):
        return compare(
            workload, cluster, policies, progress=lambda name: advance("simulating"), **options
        )


def as_report(comparison: Comparison, setting: Setting, *, title: str, command: str) -> ReportInput:
    """One load of a comparison as a report shows it: the log as it is, intervals of the copies."""
    from shadowtime.cli.results import versions
    from shadowtime.report import PolicyRun, ReportInput

    copies = comparison.replicas
    return ReportInput(
        title=title,
        workload=setting.workload,
        cluster=comparison.cluster,
        runs=tuple(
            PolicyRun(
                name=cell.policy,
                schedule=cell.schedule,
                parameters=cell.parameters,
                metrics=cell.metrics,
                intervals={
                    name: (found.low, found.high)
                    for name in cell.replicas
                    if (found := cell.interval(name))
                },
            )
            for cell in setting.cells
        ),
        window=str(comparison.window),
        versions=versions(),
        command=command,
        seeds=(copies.seed,) if copies.count else (),
        interval_note=f"95 % intervals of the mean over {copies_in_words(comparison)}"
        if copies.count
        else "",
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
    from shadowtime.cli.results import as_object, to_json, write_folder

    if len(results) == 1:
        write_folder(content, results[0], folder)
        return
    for setting, result in zip(comparison.settings, results, strict=True):
        inner = as_object(result, comparison.window, replicas=comparison.as_dict()["replicas"])
        write_folder(inner, result, str(Path(folder) / file_name(setting.load)))
    whole = {**content, "command": results[0].command}
    (Path(folder) / "result.json").write_text(to_json(whole) + "\n", "utf-8")


def write_pages(comparison: Comparison, results: Sequence[ReportInput], path: str) -> list[Path]:
    """The HTML report; with several loads, one for each beside the first."""
    first = Path(path)
    written = []
    for place, (setting, result) in enumerate(zip(comparison.settings, results, strict=True)):
        name = f"{first.stem}-{file_name(setting.load)}{first.suffix}" if place else first.name
        written.append(write_page(result, str(first.with_name(name))))
    return written


def write_page(result: ReportInput, path: str) -> Path:
    """One HTML report."""
    from shadowtime.report.page.html import write_html

    with working(f"writing {path}"):
        return Path(write_html(result, path))


def draw_figures(comparison: Comparison, results: Sequence[ReportInput], folder: str) -> list[Path]:
    """The figures; with several loads, a folder for each."""
    from shadowtime.report.figures import write_figures

    if len(results) == 1:
        return write_figures(results[0], folder)
    return [
        path
        for setting, result in zip(comparison.settings, results, strict=True)
        for path in write_figures(result, Path(folder) / file_name(setting.load))
    ]
