"""shadowtime sweep script: an array of tasks for a scheduler, without other software."""

from __future__ import annotations

import click

from shadowtime.cli.sweep.options import plan, results


@click.command("script")
@click.argument("scheduler", type=click.Choice(["slurm", "condor"]))
@plan
@results
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="N",
    help="Number of tasks.",
)
@click.option(
    "--cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores per task."
)
def command(scheduler: str, plan: str, folder: str, tasks: int, cores: int) -> None:
    """Print a job script that runs PLAN.toml as an array of N tasks.

    Every task works on its own part and may be submitted again at any time: finished runs are
    skipped. Plan, logs and DIR must be on a file system that the nodes share.

    \b
    shadowtime sweep script slurm plan.toml -o results --tasks 64 > sweep.sh
    shadowtime sweep script condor plan.toml -o results --tasks 64 > sweep.sub
    """
    from shadowtime.study.sweep.plan_file import read_plan
    from shadowtime.study.sweep.script import condor_script, slurm_script

    read_plan(plan)  # a plan that cannot be read is reported here, not by every task
    make = slurm_script if scheduler == "slurm" else condor_script
    click.echo(make(plan, folder, tasks=tasks, cores=cores), nl=False)
