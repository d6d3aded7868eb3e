"""shadowtime hperf epilog: called by Slurm when a job has ended."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from time import time

import click

from shadowtime.cli.hperf import options as hperf_options
from shadowtime.errors import ShadowtimeError


@click.command("epilog")
@click.option(
    "--spool", required=True, metavar="DIR", help="Folder of measurements and waiting records."
)
@click.option("--table", metavar="FILE", help="The submit plug-in's table, written afterwards.")
@hperf_options.store
def command(spool: str, table: str | None, store: str | None) -> None:
    """Record the job in Slurm's environment (EpilogSlurmctld runs this).

    The measurement is read from a collector's file DIR/JOB.perf or DIR/JOB.json, else from bw=MB/s
    in the job's comment; without either, nothing is recorded. While the store is down, records wait
    in DIR. Always exits with 0, because a failing epilog drains nodes.

    \b
    shadowtime hperf epilog --spool /var/spool/shadowtime
    """
    from shadowtime.hperf import open_store
    from shadowtime.hperf.epilog import after_job

    job = os.environ.get("SLURM_JOB_ID", "?")
    try:
        message = after_job(
            os.environ,
            lambda: open_store(store, patience=10.0),
            spool=Path(spool),
            table=Path(table) if table else None,
            now=int(time()),
        )
    except (ShadowtimeError, OSError) as wrong:
        message = f"not recorded: {wrong}"
    stamp = datetime.now().isoformat(timespec="seconds")
    click.echo(f"{stamp} job {job}: {message}")
