"""shadowtime hperf: the performance store, what fills it, and what it tells a scheduler."""

from __future__ import annotations

import click

from shadowtime.cli.lazy import Entry, LazyGroup

COMMANDS = {
    "record": Entry("Store", "Store what a finished job drew, under its tag.", "hperf_record"),
    "show": Entry("Store", "What is known of the tags, or of one.", "hperf_show"),
    "import": Entry("Store", "Take records from a file.", "hperf_import"),
    "export": Entry("Store", "Write all records to a file.", "hperf_export"),
    "forget": Entry("Store", "Delete records of a tag, or old ones.", "hperf_forget"),
    "collectors": Entry("Measure", "What can be measured here, and its cost.", "hperf_collectors"),
    "calibrate": Entry("Measure", "The memory bandwidth of this node.", "hperf_calibrate"),
    "install": Entry("Slurm", "Submit plug-in and epilog for a cluster.", "hperf_install"),
    "publish": Entry("Slurm", "Write the table that the plug-in asks.", "hperf_publish"),
    "epilog": Entry("Slurm", "Record the job that has just ended.", "hperf_epilog"),
}


@click.group(
    "hperf",
    cls=LazyGroup,
    package="shadowtime.cli",
    entries=COMMANDS,
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Measured demand by tag: records of finished jobs, and the average a scheduler goes by."""
