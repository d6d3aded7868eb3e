"""shadowtime pull slurm: a site's folder from a Slurm with accounting."""

from __future__ import annotations

from typing import Any

import click


@click.command("slurm")
@click.option("--since", metavar="DAY", help="First day of the log, such as 2026-05-01.")
@click.option("--until", metavar="DAY", help="Last day. [default: today]")
@click.option(
    "-o", "--output", "folder", metavar="DIR", required=True, type=click.Path(file_okay=False),
    help="The site's folder; files of an earlier pull are kept.",
)  # fmt: skip
@click.option(
    "--print", "only_print", is_flag=True, help="Print the commands to run elsewhere; do nothing."
)
@click.option(
    "--from", "source", metavar="DIR", type=click.Path(exists=True, file_okay=False),
    help="Read the output of the printed commands from this folder instead of running them.",
)  # fmt: skip
@click.option(
    "--anonymise", is_flag=True,
    help="Replace users, accounts, job names and reservations with keyed hashes; omit free text.",
)  # fmt: skip
@click.option(
    "--key", metavar="FILE",
    help="The key of the hashes, created if missing; keep it secret, and keep it for later pulls. "
    "[default: ~/.config/shadowtime/anonymise.key]",
)  # fmt: skip
def command(**given: Any) -> None:
    """Fetch from Slurm everything that a simulation of this site needs.

    Runs sacct for one day at a time, scontrol show, sacctmgr show and sshare; nothing is changed on
    the cluster. If interrupted or run again, it resumes: days already fetched are skipped, except
    the current day.

    \b
    shadowtime pull slurm --since 2026-05-01 -o site/
    shadowtime pull slurm --since 2026-05-01 -o site/ --print > pull.sh
    shadowtime pull slurm --from raw/ -o shared/ --anonymise
    shadowtime doctor site/
    """
    from shadowtime.cli.pull.run_slurm import pull_site

    pull_site(**given)
