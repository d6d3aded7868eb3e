"""shadowtime trace: job logs, from the archive, from a cluster or from a model."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "info": Entry("Commands", "What a log contains, and problems to know of."),
    "generate": Entry("Commands", "Generate a log from a model."),
    "convert": Entry("Commands", "Convert any log to SWF; slice, mix, change the load."),
    "fetch": Entry("Commands", "Download a log of the Parallel Workloads Archive."),
    "sacct": Entry("Commands", "How to export a Slurm cluster's own log."),
}


@click.group(
    "trace",
    cls=LazyGroup,
    package="shadowtime.cli.trace",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Job logs: inspect, generate, convert, download."""
