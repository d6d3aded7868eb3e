"""shadowtime advise: what a trace says about how to set a policy."""

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
    """What a job log says about how to set a policy, and the simulated effect of it."""
