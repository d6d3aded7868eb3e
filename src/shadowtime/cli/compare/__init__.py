"""shadowtime compare: one log, several policies, one machine or several."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import kept_runs


@click.command("compare")
@options.trace
@options.clusters
@options.policies
@click.option(
    "--load",
    "loads",
    multiple=True,
    metavar="L",
    help="Jobs arrive 1.2 times as fast (1.2), or at an offered load (offered=0.9); "
    "repeatable. [default: as recorded]",
)
@click.option(
    "--shake",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also run N copies of the log with every submission and run time moved a little: a rank "
    "that differs between them may be chance.",
)
@click.option(
    "--resample",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also run N logs with resampled users: what another year might have looked like.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="S",
    help="Seed of the copies, which are the same for every policy.",
)
@kept_runs(
    "Save every run in DIR as a sweep does, and reuse runs found there: the same command resumes "
    "after Ctrl-C, and more copies need only their own runs.",
)
@options.cleaning
@options.demand
@options.window
@options.where
@options.by
@options.folder
@options.as_json
@options.report
@options.figures
def command(**given: Any) -> None:
    """Run the job log TRACE under several policies: which wins, by how much, and which jobs pay.

    The first policy is the baseline. With several --cluster options the comparison is repeated on
    each machine, and a table compares the machines.

    \b
    shadowtime compare log.swf.gz -p easy -p easy-sjbf -p conservative
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 20 --resume runs
    shadowtime compare log.swf.gz -p easy -p lxfw --shake 99 --resume runs --on slurm
    shadowtime compare log.swf.gz -p easy -p lxfw --load 1 --load 1.1 --load offered=0.95
    shadowtime compare log.swf.gz -p easy -p lxfw --cluster pool:128 --cluster pool:160
    """
    from shadowtime.cli.compare.run import compare_policies

    compare_policies(**given)
