"""shadowtime sweep collect: all results as one table."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("collect")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--output",
    "output",
    metavar="TABLE",
    type=click.Path(dir_okay=False),
    help="Write every row, sorted by key, as .parquet or .csv.",
)
@click.option(
    "--metric", metavar="M", default="bsld_mean", show_default=True, help="The metric to show."
)
@click.option("--over", metavar="NAME", help="Show the metric over this ranged parameter.")
@click.option(
    "--sql",
    metavar="QUERY",
    help="Run a query on the table `runs` with DuckDB (extra sql).",
)
@options.as_json
def command(**given: Any) -> None:
    """Show all results of a sweep as one table: a file, a metric by policy, or over a parameter.

    \b
    shadowtime sweep collect results -o table.parquet
    shadowtime sweep collect results --metric wait_mean_s --over reserve
    shadowtime sweep collect results --sql 'select policy, avg(bsld_mean) from runs group by 1'
    """
    from shadowtime.cli.sweep.run_collect import collect_results

    collect_results(**given)
