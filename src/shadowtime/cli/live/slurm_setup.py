"""shadowtime live slurm setup: install and remove the gate."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common.amounts import Span
from shadowtime.cli.live import options as live
from shadowtime.live.slurm.gate import LEASE


@click.command("setup")
@click.option(
    "--print", "--dry-run", "show_only", is_flag=True, help="Print every change, make none."
)
@click.option("--unit", is_flag=True, help="Print a systemd unit for the loop, change nothing.")
@click.option("--undo", "undo_it", is_flag=True, help="Undo all changes.")
@click.option(
    "--slurm-conf-dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="The folder of slurm.conf. [default: that of $SLURM_CONF, else /etc/slurm]",
)
@live.partition
@click.option(
    "--master",
    metavar="UID",
    type=int,
    multiple=True,
    help="A user id that may release jobs besides root and SlurmUser.",
)
@click.option(
    "--lease",
    metavar="TIME",
    type=Span(),
    default=LEASE,
    help="If no loop runs for this time, Slurm schedules the jobs by itself. [default: 15m]",
)
def command(**given: Any) -> None:
    """Let every job of the partitions wait at a gate until the loop releases it.

    The gate is a lease: if no loop runs for a while (--lease), Slurm schedules the jobs by itself.

    Two files in the folder of slurm.conf change: slurm.conf itself and job_submit.lua; an existing
    script is kept and called first. Slurm reads them after `systemctl restart slurmctld`.

    \b
    shadowtime live slurm setup --print
    shadowtime live slurm setup
    shadowtime live slurm setup --unit
    shadowtime live slurm setup --undo
    """
    from shadowtime.cli.live.run_slurm_setup import print_setup

    print_setup(**given)
