"""shadowtime trace info: what a log contains, and its problems."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("info")
@options.log
@options.cluster
@options.reading
@options.as_json
def command(**given: Any) -> None:
    """Show what LOG contains: jobs, load, users, sizes, run times, requests, bursts; and its
    quality.

    \b
    shadowtime trace info log.swf.gz
    shadowtime trace info jobs.psv --cluster nodes.txt --tz Europe/Zurich
    """
    from shadowtime.cli.trace.run_info import show_info

    show_info(**given)
