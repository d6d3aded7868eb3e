"""shadowtime hperf install: the submit plug-in and the epilog of a Slurm cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.console import note
from shadowtime.cli.hperf import options as hperf_options
from shadowtime.errors import ShadowtimeError

if TYPE_CHECKING:
    from shadowtime.hperf.install import Installation


@click.command("install")
@click.option(
    "--slurm-conf-dir", "folder", required=True, metavar="DIR", help="Folder of slurm.conf."
)
@click.option("--capacity", type=int, required=True, metavar="MB/S",
              help="Bandwidth of a node: shadowtime hperf calibrate measures it.")  # fmt: skip
@click.option("--gres", default="membw", show_default=True, help="Name of the resource in Slurm.")
@click.option(
    "--field",
    default="comment",
    show_default=True,
    help="Where a job's tag is: comment (tag=NAME in it), or name: the whole field.",
)
@click.option("--no-job-submit", is_flag=True, help="Do not change job_submit.lua.")
@click.option("--print", "only_print", is_flag=True, help="Show every change and make none.")
@hperf_options.store
def command(
    folder: str,
    capacity: int,
    gres: str,
    field: str,
    no_job_submit: bool,
    only_print: bool,
    store: str | None,
) -> None:
    """Write HPerf's files for Slurm into DIR and print which lines slurm.conf and gres.conf need.

    hperf.lua turns a job's tag into bandwidth at submission, job_submit.lua calls it, and
    hperf-epilog.sh records finished jobs. The plug-in's table is filled from the store.
    slurm.conf itself is not changed. After an update of Slurm from a version before 24.05, run this
    again: the plug-in writes resources as the installed version takes them.

    \b
    shadowtime hperf install --slurm-conf-dir /etc/slurm --capacity 34000 --print
    """
    from shadowtime.cli.common.slurm_folder import slurm_folder
    from shadowtime.hperf.install import Installation
    from shadowtime.hperf.location import default_store

    plan = Installation(
        folder=slurm_folder(folder).absolute(),
        store=store or default_store(),
        gres=gres,
        capacity=capacity,
        field=field,
    )
    wanted = {
        path: text
        for path, text in plan.files().items()
        if not (no_job_submit and path.name == "job_submit.lua")
    }
    if only_print:
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
    from shadowtime.cli.common.tables import count

    try:
        click.echo(f"{plan.table}: {count(plan.fill_table(), 'tag')}")
    except ShadowtimeError as wrong:
        note(
            f"{plan.table} was not filled ({wrong}): jobs with other tags run alone until "
            "the first job is recorded or `shadowtime hperf publish` is run"
        )
