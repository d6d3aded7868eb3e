"""shadowtime site: what a site consists of, and its description as TOML."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "show": Entry("Commands", "Show what was read: nodes by kind, partitions, limits."),
}


@click.group(
    "site",
    cls=LazyGroup,
    package="shadowtime.cli.site",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Sites: real machines with mixed nodes, partitions, limits, outages."""
