"""shadowtime run: repeat an experiment from its file, byte by byte."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.whatif import KEPT


@click.command("run")
@click.argument("experiment", type=click.Path(dir_okay=False))
@options.folder
@options.report
@KEPT
@options.as_json
def command(**given: Any) -> None:
    """Run the what-if in EXPERIMENT.toml.

    The same file, site and version give the same bytes.

    \b
    shadowtime run more.toml
    shadowtime run more.toml --report more.html --resume runs
    """
    from shadowtime.cli.whatif.run import run_file

    run_file(**given)
