"""shadowtime trace convert: any log as SWF, whole or changed."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.amounts import Range


@click.command("convert")
@options.log
@click.argument("out", type=click.Path(dir_okay=False))
@click.option("--clean", is_flag=True, help="Write the jobs as a simulation would use them.")
@click.option("--jobs", type=Range(), metavar="A:B", help="Only jobs A to B, from 0.")
@click.option("--days", type=Range(), metavar="A:B", help="Only days A to B, from 0.")
@click.option("--load", metavar="L", help="Jobs arrive 1.2 times as fast (1.2), or offered=0.9.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="LOG",
    help="Mix with another log, both from day 0; repeatable.",
)
@options.demand
@click.option("--drop-flurries", is_flag=True, help="Drop bursts of a single user.")
@options.cluster
@options.reading
@options.as_json
def command(**given: Any) -> None:
    """Write LOG as SWF to OUT, gzip if it ends in .gz.

    LOG is SWF, an sacct export, a Slurm site's CSV, the output of condor_history (-json, -jsonl,
    -long) or an HTCondor job event log, recognised by its content.

    Without these options every line is kept unchanged. With any of them the jobs are cleaned first.
    They are applied in the order mix, flurries, jobs, days, load.

    \b
    shadowtime trace convert jobs.psv jobs.swf.gz --tz Europe/Zurich
    shadowtime trace convert history.json history.swf
    shadowtime trace convert log.swf.gz month.swf.gz --days 30:60
    shadowtime trace convert log.swf.gz busy.swf.gz --load 1.2
    shadowtime trace convert log.swf.gz high.swf.gz --jobs 0:20000 --demand HIGH
    """
    from shadowtime.cli.trace.run_convert import convert_log

    convert_log(**given)
