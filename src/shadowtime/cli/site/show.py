"""shadowtime site show: what was read of a site, and what was ignored."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("show")
@click.argument("site", type=click.Path())
@click.option("--tz", metavar="ZONE", help="Time zone of Slurm's times, such as Europe/Zurich.")
@click.option("--toml", "as_toml", is_flag=True, help="Print the site as TOML, for editing.")
@options.as_json
def command(**given: Any) -> None:
    """Show what SITE consists of; it is a folder, TOML, slurm.conf, or scontrol show node's output.

    \b
    shadowtime site show cluster/
    shadowtime site show nodes.txt --toml > site.toml
    """
    from shadowtime.cli.site.run_show import show_site

    show_site(**given)
