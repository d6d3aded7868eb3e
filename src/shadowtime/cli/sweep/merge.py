"""shadowtime sweep merge: fewer files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("merge")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
def command(folder: str) -> None:
    """Merge the shards of DIR into one, so that the next start has one file to read.

    Run it only while no sweep writes to DIR.

    \b
    shadowtime sweep merge results
    """
    from shadowtime.cli.common.tables import count
    from shadowtime.study.sweep.shards import Shards

    merged = Shards(Path(folder)).merge()
    click.echo(f"{count(merged, 'shard')} merged into one" if merged > 1 else "nothing to merge")
