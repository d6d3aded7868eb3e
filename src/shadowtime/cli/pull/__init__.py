"""shadowtime pull: what a site's folder needs, fetched from a cluster."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "slurm": Entry("Commands", "From a Slurm with accounting, day by day."),
}


@click.group(
    "pull",
    cls=LazyGroup,
    package="shadowtime.cli.pull",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Fetch a site's folder from a cluster."""
