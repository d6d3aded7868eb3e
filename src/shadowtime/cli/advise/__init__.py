"""shadowtime advise: policy settings that a log suggests."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "partitions": Entry("Commands", "How many hosts to keep for large jobs."),
}


@click.group(
    "advise",
    cls=LazyGroup,
    package="shadowtime.cli.advise",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Suggest policy settings for a job log, and simulate their effect."""
