"""shadowtime hperf forget: delete records."""

from __future__ import annotations

from datetime import datetime

import click

from shadowtime.cli.hperf import options as hperf_options
from shadowtime.errors import UsageError


@click.command("forget")
@click.argument("tag", required=False)
@click.option("--everything", is_flag=True, help="All tags.")
@click.option(
    "--before", metavar="DATE", help="Only jobs that finished before this date, such as 2026-01-31."
)
@hperf_options.store
def command(tag: str | None, everything: bool, before: str | None, store: str | None) -> None:
    """Delete the records of TAG, for example when an application has changed: its next job runs on
    exclusive nodes and is measured again. Without TAG, delete old records (--before) or
    --everything.

    \b
    shadowtime hperf forget cg.D.16
    shadowtime hperf forget --before 2026-01-31
    """
    instant = None
    if before is not None:
        try:
            instant = int(datetime.fromisoformat(before).timestamp())
        except ValueError:
            raise UsageError(f"--before takes a date such as 2026-01-31, not {before!r}") from None
    if tag is not None and everything:
        raise UsageError(f"name the tag {tag!r} or give --everything, not both")
    if tag is None and not everything and instant is None:
        raise UsageError("name what to delete: a tag, --before DATE or --everything")
    from shadowtime.cli.common.tables import count

    with hperf_options.opened(store, must_exist=True) as found:
        gone = found.forget(tag, before=instant)
    click.echo(f"{count(gone, 'record')} deleted")
