"""shadowtime live slurm status: waiting jobs, and when each will start."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common.outputs import print_json
from shadowtime.cli.live import options as live


@click.command("status")
@live.poll_of_slurm
def command(as_json: bool, **given: Any) -> None:
    """The live state: nodes in use, waiting jobs, the predicted start of each with its range.

    If no loop has left a state file, Slurm schedules by itself and its own passes are simulated.

    \b
    shadowtime live slurm status
    shadowtime live slurm status --policy easy --json
    """
    from shadowtime.cli.live.run_slurm_status import look
    from shadowtime.cli.live.run_status import show_status

    found = look(**given)
    if as_json:
        print_json(found.to_json())
    else:
        show_status(found)
