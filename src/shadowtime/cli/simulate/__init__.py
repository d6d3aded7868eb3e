"""shadowtime simulate: one log, one machine, one policy."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("simulate")
@options.trace
@options.cluster
@options.policy
@options.cleaning
@options.demand
@options.window
@options.where
@options.by
@options.schedule
@options.folder
@options.as_json
@options.report
@options.figures
@click.option(
    "--phases",
    type=click.IntRange(2, 100),
    metavar="N",
    help="slurm only: simulate N runs with the passes at different offsets, and print means and "
    "ranges.",
)
def command(**given: Any) -> None:
    """Replay the job log TRACE under one policy and measure the schedule.

    TRACE is a job log: the Standard Workload Format (SWF), an sacct export, a Slurm site's CSV,
    HTCondor history or event log, PBS or Torque accounting, slurmctld.log, a table of jobs (CSV or
    Parquet; with TABLE.map.toml beside it for other columns, which is proposed), a folder of PBS
    days or tables, a site's folder or a result folder; plain or .gz.

    \b
    shadowtime simulate log.swf.gz --policy easy
    shadowtime simulate log.swf.gz --cluster pool:430 --policy 'easy(reserve=4, order=lxfw)'
    shadowtime simulate log.swf.gz --policy conservative --schedule out.csv
    shadowtime simulate log.swf.gz --policy easy --report easy.html
    shadowtime simulate site/ --policy slurm --phases 6
    """
    from shadowtime.cli.simulate.run import simulate_log

    simulate_log(**given)
