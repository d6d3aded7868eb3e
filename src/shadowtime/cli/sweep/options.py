"""What the commands of sweep share: the plan, and the folder of results."""

from __future__ import annotations

import click

plan = click.argument("plan", metavar="PLAN.toml", type=click.Path(dir_okay=False))
results = click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="The folder of the results; runs that it already contains are not repeated.",
)
