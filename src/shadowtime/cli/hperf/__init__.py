"""shadowtime hperf: the performance store, its collectors, and its use by Slurm."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "record": Entry("Store", "Store the bandwidth of a finished job under its tag."),
    "show": Entry("Store", "Show the average of every tag, or of one."),
    "import": Entry("Store", "Import records from a file.", "import_records"),
    "export": Entry("Store", "Write all records to a file."),
    "forget": Entry("Store", "Delete records of a tag, or old ones."),
    "collectors": Entry("Measure", "Show which collectors work here, and their cost."),
    "calibrate": Entry("Measure", "Measure the memory bandwidth of this node."),
    "install": Entry("Slurm", "Install the submit plug-in and the epilog."),
    "publish": Entry("Slurm", "Write the table that the plug-in reads."),
    "epilog": Entry("Slurm", "Record the job that has just ended."),
}


@click.group(
    "hperf",
    cls=LazyGroup,
    package="shadowtime.cli.hperf",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Measured demand by tag: records of finished jobs, and the averages that policies use."""
