"""shadowtime check slurm: does the model of Slurm's scheduler hold for a recording?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shadowtime.cli.common import options


@click.command("slurm")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@click.option("--every", default=1, metavar="N", help="Only every N-th backfill pass.")
@click.option(
    "--phases",
    default=0,
    metavar="N",
    help="Also simulate the whole run from sacct alone, with passes at N offsets.",
)
@click.option(
    "--waits",
    "page",
    metavar="PAGE.md",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --phases: instead of planning passes again, write a page of mean waits per account, "
    "partition and QOS, recorded, simulated and under EASY.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if anything differs.")
@options.as_json
def command(**given: Any) -> int:
    """Plan every logged pass of a recorded Slurm again and compare.

    DIR holds slurmctld's log with DebugFlags=Backfill (slurmctld.log.gz or .log), sacct's table
    (jobs.psv) and the machine (slurm.conf, or nodes.txt and partitions.txt); scontrol's details,
    submissions and samples are used if they exist. The state before each backfill pass, and before
    each main pass that started something, is rebuilt; the pass is run on it; starts, nodes, planned
    times and preempted jobs are compared. Passes less than 0.35 s after an end, or with a running
    job whose resources are unknown, are skipped and counted. How long nodes take to answer after an
    end is measured, for slurm(latency=N). Priorities that change are read from the log
    (DebugFlags=Backfill,Priority) or from samples of squeue.

    \b
    shadowtime check slurm recording/
    shadowtime check slurm recording/ --phases 6 --waits waits.md
    """
    from shadowtime.cli.check.run_slurm import check_recordings

    return check_recordings(**given)
