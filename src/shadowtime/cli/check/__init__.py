"""shadowtime check: prove a schedule, whatever produced it."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


class _Check(click.Command):
    """``check slurm DIR`` is a separate command; any other argument is a schedule."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["slurm"]:
            from shadowtime.cli.check.slurm import command as slurm

            return slurm.make_context("check slurm", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("check", cls=_Check)
@click.argument("schedule", type=click.Path(dir_okay=False))
@click.option("--trace", required=True, metavar="T", help="The log that was scheduled.")
@options.cluster
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME",
    help="A further property to prove, as promises-kept (an unknown name lists them); repeatable.",
)
@click.option(
    "--policy",
    "-p",
    metavar="P",
    help="The policy that produced it: a second implementation of it is followed pass by pass and "
    "every column compared; its claims are proved.",
)
@click.option(
    "--follow",
    metavar="N",
    help="With -p: how many jobs to follow, or all (default: 3000; under policies that plan for "
    "all jobs 500; on a site 100).",
)
@click.option(
    "--recompute",
    is_flag=True,
    help="Also run the simulator itself again and report the first difference: fast at any size, "
    "but no proof, since it asks the code that may have made the schedule.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail also if a property could not be proved, or not for all jobs.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="The file's name for one of our columns, as start=starting_time; repeatable.",
)
@options.cleaning
@options.as_json
def command(**given: Any) -> int:
    """Prove that SCHEDULE keeps every rule: capacity at every instant, no start before submission,
    each job once, limits and promises kept.

    It is checked against the log, the machine and the policy, so it may come from any simulator or
    from a real cluster; all of its columns are verified. With -p every pass of the policy is made
    again by an implementation that shares nothing with the simulator, and the first value that is
    not the policy's is named. Properties that cannot be proved are listed with the reason. Without
    -p and --claim every promise it states must be kept. Exits with 0 if nothing is violated, else
    with 1; with --strict also with 1 if a property could not be proved.

    \b
    shadowtime check easy.csv --trace log.swf --cluster pool:430

    `shadowtime check slurm DIR` compares the model of Slurm's scheduler with a recorded one.
    """
    from shadowtime.cli.check.run import check_schedule

    return check_schedule(**given)
