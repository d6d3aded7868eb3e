"""shadowtime hperf: the performance store, what fills it, and what it tells a scheduler."""

from __future__ import annotations

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup

COMMANDS = {
    "record": Entry("Store", "Store the bandwidth of a finished job under its tag."),
    "show": Entry("Store", "What is known of the tags, or of one."),
    "import": Entry("Store", "Take records from a file.", "import_records"),
    "export": Entry("Store", "Write all records to a file."),
    "forget": Entry("Store", "Delete records of a tag, or old ones."),
    "collectors": Entry("Measure", "What can be measured here, and its cost."),
    "calibrate": Entry("Measure", "The memory bandwidth of this node."),
    "install": Entry("Slurm", "Submit plug-in and epilog for a cluster."),
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
