"""shadowtime hperf export: records to a file."""

from __future__ import annotations

import click

from shadowtime.cli.hperf import options as hperf_options


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--tag", metavar="TAG", help="Only the records of this tag.")
@hperf_options.store
def command(file: str, tag: str | None, store: str | None) -> None:
    """Write the records to FILE: .jsonl with everything down to the counters of each thread, or
    .csv with a row per job.

    \b
    shadowtime hperf export records.jsonl
    """
    from shadowtime.cli.common.tables import count
    from shadowtime.hperf.files import write_records

    with hperf_options.opened(store, must_exist=True) as found:
        written = write_records(found.records(tag), file)
    click.echo(f"{file}: {count(written, 'record')}")
