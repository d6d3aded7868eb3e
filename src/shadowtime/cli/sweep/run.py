"""shadowtime sweep run: run the missing simulations of a plan."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import on
from shadowtime.cli.sweep.options import plan, results


@click.command("run")
@plan
@results
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes on this machine. [default: one for each core]",
)
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts, for an array of tasks.")
@click.option(
    "--retry",
    type=click.Choice(["none", "failed"]),
    default="none",
    show_default=True,
    help="Repeat runs that failed before.",
)
@on
@click.option(
    "--prepare", is_flag=True, help="Compile what the plan needs for this machine, then exit."
)
@options.as_json
def command(**given: Any) -> int:
    """Run every simulation of PLAN.toml that has no result in DIR yet.

    A run that fails becomes a row with its error, and the exit code is 1. After Ctrl-C, the same
    command resumes.

    \b
    shadowtime sweep plan.toml -o results
    shadowtime sweep run plan.toml -o results
    shadowtime sweep plan.toml -o results --retry failed
    shadowtime sweep plan.toml -o results --shard 3/64
    shadowtime sweep plan.toml -o results --on slurm --site partition=batch --site blocks=8
    """
    from shadowtime.cli.sweep.run_plan import run_missing

    return run_missing(**given)
