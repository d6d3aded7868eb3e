"""shadowtime hperf forget: delete records."""

from __future__ import annotations

from datetime import datetime

import click

from shadowtime.cli import hperf_options
from shadowtime.errors import UsageError


@click.command("forget")
@click.argument("tag", required=False)
@click.option("--everything", is_flag=True, help="All tags.")
@click.option("--before", metavar="DATE", help="Only jobs that finished before, as 2026-01-31.")
@hperf_options.store
def command(tag: str | None, everything: bool, before: str | None, store: str | None) -> None:
    """Delete the records of TAG (or, with --everything, of all tags), as when an application has
    changed. Its next job runs on nodes of its own and is measured anew.

    \b
    shadowtime hperf forget cg.D.16
    shadowtime hperf forget --everything --before 2026-01-31
    """
    if (tag is None) == (not everything):
        raise UsageError("name a tag, or say --everything")
    instant = None
    if before is not None:
        try:
            instant = int(datetime.fromisoformat(before).timestamp())
        except ValueError:
            raise UsageError(f"--before takes a date, as 2026-01-31, not {before!r}") from None
    with hperf_options.opened(store) as found:
        gone = found.forget(tag, before=instant)
    click.echo(f"{gone} records deleted")
