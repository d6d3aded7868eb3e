"""shadowtime hperf publish: the table that Slurm's submit plug-in reads."""

from __future__ import annotations

import click

from shadowtime.cli.hperf import options as hperf_options


@click.command("publish")
@click.argument("table", type=click.Path(dir_okay=False))
@hperf_options.store
def command(table: str, store: str | None) -> None:
    """Write the averages of all tags to TABLE atomically: the submit plug-in reads it and never
    queries the store itself. The epilog does this after every job.

    \b
    shadowtime hperf publish /etc/slurm/hperf.tsv
    """
    from shadowtime.cli.common.tables import count
    from shadowtime.hperf.publish import publish

    with hperf_options.opened(store, must_exist=True) as found:
        published = publish(found.averages(), table)
    click.echo(f"{table}: {count(published, 'tag')}")
