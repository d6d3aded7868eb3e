"""shadowtime sweep report: the results of a sweep as one page, and as figures."""

from __future__ import annotations

from pathlib import Path

import click

from shadowtime.cli.common import options
from shadowtime.errors import UsageError


@click.command("report")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--output",
    "output",
    metavar="OUT.html",
    type=click.Path(dir_okay=False),
    help="Where to write the page.  [default: DIR/report.html]",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Show this metric; repeatable. [default: the first four with a direction of improvement]",
)
@options.figures
def command(folder: str, output: str | None, metrics: tuple[str, ...], figures: str | None) -> None:
    """Metrics by policy, over each ranged parameter and over pairs of them, with 95 % intervals.

    \b
    shadowtime sweep report results -o sweep.html
    shadowtime sweep report results --metric wait_mean_s --figures figures
    """
    from shadowtime.cli.common.outputs import check_outputs, wrote
    from shadowtime.cli.common.progress import working
    from shadowtime.private import write_result
    from shadowtime.report.page.sweep import sweep_page
    from shadowtime.report.sweep_figures import write_sweep_figures
    from shadowtime.result.write import versions
    from shadowtime.study.sweep.record import recorded_text
    from shadowtime.study.sweep.shards import Shards, numbered

    page = output or str(Path(folder) / "report.html")
    check_outputs(report=page, figures=figures)
    with working(f"reading {folder}"):
        table = numbered(Shards(Path(folder)).collect())
    for name in metrics:
        if name not in table.column_names:
            raise UsageError(f"the sweep has no metric {name!r}")
    with working(f"writing {page}"):
        made = sweep_page(
            table, title=Path(folder).resolve().name, metrics=metrics, plan=recorded_text(folder),
            versions=versions(),
        )  # fmt: skip
        write_result(Path(page), made)
    drawn = write_sweep_figures(table, figures, metrics=metrics) if figures else []
    wrote(page, *map(str, drawn))
