"""shadowtime advise partitions: hosts to keep for large jobs, and which jobs may use them."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("partitions")
@options.trace
@options.cluster
@click.option(
    "--above",
    type=click.IntRange(min=0),
    metavar="P",
    help="Large jobs request more processors than this. [default: half of the widest host]",
)
@click.option(
    "--top",
    type=click.IntRange(min=1, max=50),
    default=4,
    show_default=True,
    metavar="N",
    help="How many of the choices within the guidelines to simulate.",
)
@options.cleaning
@options.window
@options.as_json
def command(**given: Any) -> None:
    """How many hosts (n) to keep for large jobs, and how short (r) others must be to run there.

    The three guidelines of class partitioning, computed from TRACE, and the simulated effect of
    the best few choices against no partition (single-class).

    \b
    shadowtime advise partitions january.swf.gz --cluster o2k
    shadowtime advise partitions log.swf.gz --cluster machine.toml --above 32 --top 6
    """
    from shadowtime.cli.advise.run_partitions import advise_partitions

    advise_partitions(**given)
