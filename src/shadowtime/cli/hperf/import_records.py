"""shadowtime hperf import: records from a file."""

from __future__ import annotations

import click

from shadowtime.cli.common import options
from shadowtime.cli.hperf import options as hperf_options


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False))
@hperf_options.store
@options.as_json
def command(file: str, store: str | None, as_json: bool) -> None:
    """Import records from FILE: .jsonl as written by export, or .csv with the columns tag and
    bandwidth (MB/s per process) and, optionally, elapsed, width, key, finished and source.

    If one line is invalid, nothing is imported. Jobs whose key is already known are not counted
    again.

    \b
    shadowtime hperf import counters.csv
    """
    from shadowtime.hperf.files import read_records

    records = read_records(file)
    with hperf_options.opened(store) as found:
        added = found.add(records)
    if as_json:
        options.print_json({"file": file, "new": added.new, "already_known": added.known})
    else:
        from shadowtime.cli.common.tables import count

        stored = count(added.new, "record")
        click.echo(f"{file}: {stored} stored, {added.known} already known")
