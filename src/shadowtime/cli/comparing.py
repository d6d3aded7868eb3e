"""From a comparison to what is shown, written and reported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.compiling import compile_notice
from shadowtime.cli.console import note
from shadowtime.cli.progress import working
from shadowtime.cli.reporting import write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.report import ReportInput
    from shadowtime.study import Comparison, Load, Setting
    from shadowtime.study.compare import Engine
    from shadowtime.workload import Workload

SMALL = 1000
"""Jobs that are sooner done in plain Python than a pass is compiled, however long their queue."""

KINDS_OF_COPIES = {"shaken": "shaken inputs", "resampled": "logs with users drawn anew"}


def prepare(policies: Sequence[Any], cluster: Cluster, *, jobs: int, small: int = SMALL) -> Engine:
    """What to simulate ``jobs`` jobs with, compiled on all cores where it is not yet, saying so.

    Up to ``small`` jobs on a machine where nothing is compiled are run without compiling: that is
    quicker, and the schedules are the same.
    """
    from shadowtime.engine import simulate
    from shadowtime.engine.uncompiled import simulate_uncompiled
    from shadowtime.engine.warm import COST, cold, warm
    from shadowtime.study.fan_out import cores

    missing = cold(policies, cluster)
    if missing and jobs <= small:
        return simulate_uncompiled
    if len(missing) > 1:
        spent = [COST[name] for name in missing]
        seconds = max(*spent, sum(spent) // cores())
        note(f"compiling the engine for this machine: once, about {seconds} seconds ...")
        with working("compiling", steps=len(missing), patience=0.2, quiet=True) as advance:
            warm(policies, cluster, cores=cores(), finished=lambda name: advance())
    return simulate


def run_comparison(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Any],
    *,
    small: int = SMALL,
    **options: Any,
) -> Comparison:
    """study.compare with a sign of life; ``options`` are its own."""
    from shadowtime.study import compare

    loads = len(options.get("loads", (None,)))
    inputs = loads * (1 + options.get("shake", 0) + options.get("resample", 0))
    engine = prepare(policies, cluster, jobs=inputs * len(workload), small=small)
    with (
        working("simulating", steps=inputs * len(policies)) as advance,
        compile_notice("the engine", "up to half a minute"),
    ):
        return compare(
            workload,
            cluster,
            policies,
            progress=lambda name: advance("simulating"),
            engine=engine,
            **options,
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


def write_pages(
    comparison: Comparison,
    results: Sequence[ReportInput],
    *,
    report: str | None,
    figures: str | None,
) -> None:
    """Page and figures; with several loads, further pages beside it and a folder for each."""
    several = len(results) > 1
    for place, (setting, result) in enumerate(zip(comparison.settings, results, strict=True)):
        page, folder = report and Path(report), figures and Path(figures)
        if page and place:
            page = page.with_name(f"{page.stem}-{file_name(setting.load)}{page.suffix}")
        if folder and several:
            folder = folder / file_name(setting.load)
        write_results(result, comparison.window, report=page, figures=folder)
