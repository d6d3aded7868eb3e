"""shadowtime hperf install, publish, epilog: measured demand in Slurm."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.console import note
from shadowtime.cli.hperf.store import DEFAULT, Place
from shadowtime.errors import ShadowtimeError
from shadowtime.types import File

if TYPE_CHECKING:
    from shadowtime.hperf.install import Installation


def install(
    *,
    slurm_conf_dir: str,
    capacity: int,
    gres: str = "membw",
    field: str = "comment",
    no_job_submit: bool = False,
    print_: bool = False,
    place: Place = DEFAULT,
) -> None:
    """Write HPerf's files for Slurm into DIR and print which lines slurm.conf and gres.conf need.

    hperf.lua turns a job's tag into bandwidth at submission, job_submit.lua calls it, and
    hperf-epilog.sh records finished jobs. The plug-in's table is filled from the store.
    slurm.conf itself is not changed. After an update of Slurm from a version before 24.05, run this
    again: the plug-in writes resources as the installed version takes them.

    \b
    shadowtime hperf install --slurm-conf-dir /etc/slurm --capacity 34000 --print

    Parameters
    ----------
    slurm_conf_dir : DIR
        Folder of slurm.conf.
    capacity : MB/S
        Bandwidth of a node: shadowtime hperf calibrate measures it.
    gres
        Name of the resource in Slurm.
    field
        Where a job's tag is: comment (tag=NAME in it), or name: the whole field.
    no_job_submit
        Do not change job_submit.lua.
    print_
        Show every change and make none.
    """
    from shadowtime.hperf.install import Installation
    from shadowtime.hperf.location import default_store
    from shadowtime.live.slurm.setup import slurm_folder

    plan = Installation(
        folder=slurm_folder(slurm_conf_dir).absolute(),
        store=place.url() or default_store(),
        gres=gres,
        capacity=capacity,
        field=field,
    )
    wanted = {
        path: text
        for path, text in plan.files().items()
        if not (no_job_submit and path.name == "job_submit.lua")
    }
    if print_:
        for path, text in wanted.items():
            click.echo(f"# ---- {path}\n{text}")
    else:
        for path in plan.write_only(wanted) if no_job_submit else plan.write():
            click.echo(f"wrote {path}")
        _fill(plan)
    for name, lines in plan.settings().items():
        click.echo(f"# ---- to add to {name}")
        for line in lines:
            click.echo(line)


def _fill(plan: Installation) -> None:
    """The table from the store; if that fails, the plug-in works without it."""
    from shadowtime.report.numbers import count

    try:
        click.echo(f"{plan.table}: {count(plan.fill_table(), 'tag')}")
    except ShadowtimeError as wrong:
        note(
            f"{plan.table} was not filled ({wrong}): jobs with other tags run alone until "
            "the first job is recorded or `shadowtime hperf publish` is run"
        )


def publish(table: File, *, place: Place = DEFAULT) -> None:
    """Write the averages of all tags to TABLE atomically.

    The submit plug-in reads TABLE and never queries the store itself. The epilog does this after
    every job.

    \b
    shadowtime hperf publish /etc/slurm/hperf.tsv
    """
    from shadowtime.hperf.epilog import publish as write_table
    from shadowtime.report.numbers import count

    with place.opened(must_exist=True) as found:
        published = write_table(found.averages(), table)
    click.echo(f"{table}: {count(published, 'tag')}")


def epilog(*, spool: str, table: str | None = None, place: Place = DEFAULT) -> None:
    """Record the job in Slurm's environment (EpilogSlurmctld runs this).

    The measurement is read from a collector's file DIR/JOB.perf or DIR/JOB.json, else from bw=MB/s
    in the job's comment; without either, nothing is recorded. While the store is down, records wait
    in DIR. Always exits with 0, because a failing epilog drains nodes.

    \b
    shadowtime hperf epilog --spool /var/spool/shadowtime

    Parameters
    ----------
    spool : DIR
        Folder of measurements and waiting records.
    table : FILE
        The submit plug-in's table, written afterwards.
    """
    from shadowtime.hperf import open_store
    from shadowtime.hperf.epilog import after_job

    job = os.environ.get("SLURM_JOB_ID", "?")
    try:
        message = after_job(
            os.environ,
            lambda: open_store(place.url(), patience=10.0),
            spool=Path(spool),
            table=Path(table) if table else None,
            now=int(time()),
        )
    except (ShadowtimeError, OSError) as wrong:
        message = f"not recorded: {wrong}"
    stamp = datetime.now().isoformat(timespec="seconds")
    click.echo(f"{stamp} job {job}: {message}")
