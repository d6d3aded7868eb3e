"""Write the page of a sweep."""

from __future__ import annotations

from pathlib import Path

from shadowtime.cli.common.outputs import check_outputs, wrote
from shadowtime.cli.common.progress import working
from shadowtime.private import write_result
from shadowtime.report.page.sweep import sweep_page
from shadowtime.report.sweep_figures import write_sweep_figures
from shadowtime.result.write import versions
from shadowtime.study.sweep.record import recorded_text
from shadowtime.study.sweep.shards import Shards, numbered, require_metric


def write_sweep(
    *, folder: str, output: str | None, metrics: tuple[str, ...], figures: str | None
) -> None:
    """Collect the shards and write the page."""
    page = output or str(Path(folder) / "report.html")
    check_outputs(report=page, figures=figures)
    with working(f"reading {folder}"):
        table = numbered(Shards(Path(folder)).collect())
    for name in metrics:
        require_metric(table, name)
    with working(f"writing {page}"):
        made = sweep_page(
            table, title=Path(folder).resolve().name, metrics=metrics, plan=recorded_text(folder),
            versions=versions(),
        )  # fmt: skip
        write_result(Path(page), made)
    drawn = write_sweep_figures(table, figures, metrics=metrics) if figures else []
    wrote(page, *map(str, drawn))
