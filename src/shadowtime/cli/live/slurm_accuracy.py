"""shadowtime live slurm accuracy: predicted starts compared with real ones."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.live import options as live


@click.command("accuracy")
@click.argument("predictions", required=False, type=click.Path(dir_okay=False))
@live.partition
@live.state
@live.timeout
@options.as_json
def command(**given: Any) -> None:
    """Compare predicted with real starts, by how far ahead they were made, and with squeue --start.

    PREDICTIONS is the file written by `shadowtime live slurm --policy slurm`; the default is the
    one beside the state file. Bias is the mean of real minus predicted start; the other two figures
    are the median and the 90th percentile of the error.

    \b
    shadowtime live slurm --policy slurm --for 1h
    shadowtime live slurm accuracy
    """
    from shadowtime.cli.live.run_slurm_accuracy import show_accuracy

    show_accuracy(**given)
