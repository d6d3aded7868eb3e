"""shadowtime live slurm release: return the queue to Slurm."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.live import options as live


@click.command("release")
@click.option(
    "--print",
    "--dry-run",
    "show_only",
    is_flag=True,
    help="Change nothing: print the lines for scontrol, and what stays held.",
)
@live.partition
@live.state
@live.timeout
def command(**given: Any) -> int:
    """Return every job at the gate to Slurm's own scheduler, with its user's own request.

    Stop the loop first. Jobs that are submitted later are still held at the gate: remove it with
    `setup --undo` and restart slurmctld.

    Exits with 1 if a job could not be released.

    \b
    shadowtime live slurm release --dry-run
    shadowtime live slurm release
    """
    from shadowtime.cli.live.run_slurm_release import release_queue

    return release_queue(**given)
