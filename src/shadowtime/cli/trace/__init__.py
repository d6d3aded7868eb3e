"""shadowtime trace: job logs, from the archive, from a cluster or from a model."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "info": Entry("Commands", "Show what a log contains, and its problems."),
    "generate": Entry("Commands", "Generate a log from a model."),
    "convert": Entry("Commands", "Convert any log to SWF; slice, mix, change the load."),
    "fetch": Entry("Commands", "Download a log of the Parallel Workloads Archive."),
    "sacct": Entry("Commands", "Show how to export a Slurm cluster's log."),
}


@click.group(
    "trace",
    cls=LazyGroup,
    package="shadowtime.cli.trace",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Inspect, generate, convert and download job logs."""
