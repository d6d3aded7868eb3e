"""shadowtime hperf show: the averages in the store."""

from __future__ import annotations

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import show
from shadowtime.cli.hperf import options as hperf_options


@click.command("show")
@click.argument("tag", required=False)
@hperf_options.store
@options.as_json
def command(tag: str | None, store: str | None, as_json: bool) -> int:
    """Show for every tag, or for TAG, the average demand per process and the number of records.

    Exits with 1 if TAG is unknown: a job with that tag would run on exclusive nodes.

    \b
    shadowtime hperf show cg.D.16
    """
    with hperf_options.opened(store, must_exist=True) as found:
        known = found.averages() if tag is None else {}
        if tag is not None and (average := found.average(tag)) is not None:
            known = {tag.strip(): average}
        where = found.where
    if as_json:
        rows = [
            {"tag": name, "bandwidth_mean_mb_s": a.mean, "records": a.records}
            for name, a in known.items()
        ]
        options.print_json({"store": where, "tags": rows})
    elif known:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False)
        table.add_column("tag")
        table.add_column("MB/s a process", justify="right")
        table.add_column("records", justify="right")
        for name, a in known.items():
            table.add_row(Text(name), f"{a.mean:,.1f}", f"{a.records:,}")
        show(table)
    elif tag is None:
        click.echo(f"{where} contains no records yet", err=True)
    else:
        click.echo(f"no record of {tag[:60]!r}: such a job runs on exclusive nodes", err=True)
    return 0 if known or tag is None else 1
