"""From runs to pages and figures: one way for every command that has --report or --figures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from shadowtime.metrics import Window
    from shadowtime.report import ReportInput

Step = Callable[[str], AbstractContextManager[Any]]


def quiet(what: str) -> AbstractContextManager[Any]:
    """Show nothing."""
    return nullcontext()


def with_classes(result: ReportInput, window: Window) -> ReportInput:
    """The same result with the classes of each run: of the jobs that the metrics count."""
    from shadowtime.study.losers import class_rows

    runs = tuple(
        replace(run, classes=class_rows(result.workload, run.schedule, window=window))
        if run.classes is None
        else run
        for run in result.runs
    )
    return result.replace(runs=runs)


def write_results(
    result: ReportInput,
    window: Window,
    *,
    report: str | Path | None = None,
    figures: str | Path | None = None,
    step: Step = quiet,
) -> list[Path]:
    """The page and the figures that were asked for; returns what was written.

    ``step`` surrounds each piece of work, so that a caller can show progress.
    """
    if not report and not figures:
        return []
    whole = with_classes(result, window)
    written = []
    if report:
        from shadowtime.report import write_html

        with step(f"writing {report}"):
            written.append(write_html(whole, report))
    if figures:
        from shadowtime.report import write_figures

        with step(f"drawing figures in {figures}"):
            written += write_figures(whole, figures)
    return written
