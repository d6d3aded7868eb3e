"""shadowtime trace sacct: the command that exports a Slurm cluster's log."""

from __future__ import annotations

import re

import click

from shadowtime.cli.common.console import note
from shadowtime.errors import UsageError
from shadowtime.trace import RECOMMENDED_COMMAND

DAY = re.compile(r"[0-9A-Za-z:+-]{1,40}")


def sacct(
    *, print_command: bool = False, since: str | None = None, until: str | None = None
) -> None:
    """Show how to export a job log from Slurm.

    Run the printed command once on the cluster, where slurmdbd answers; then:

    \b
    shadowtime trace sacct --print-command --since 2026-05-01
    shadowtime trace info jobs.psv --cluster nodes.txt
    shadowtime simulate jobs.psv --cluster nodes.txt --policy easy

    Parameters
    ----------
    print_command
        Print the sacct command to run.
    since : DAY
        First day, such as 2026-05-01. [default: now-30days]
    until : DAY
        Last day. [default: now]
    """
    for day in (since, until):
        if day is not None and not DAY.fullmatch(day):
            raise UsageError(f"{day!r} is not a day that sacct accepts: write it as 2026-05-01")
    text = RECOMMENDED_COMMAND
    if since:
        text = text.replace("-S now-30days", f"-S {since}")
    if until:
        text = text.replace("-E now ", f"-E {until} ")
    click.echo(text.rstrip())
    if not print_command:
        note("run it once, not in a loop: slurmdbd serves the whole cluster")
        note("the machine: scontrol show node --oneliner > nodes.txt")
