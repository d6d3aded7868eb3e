"""shadowtime doctor: is a site's folder complete?"""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("doctor")
@click.argument("site", type=click.Path())
@options.reading
@options.as_json
def command(**given: Any) -> int:
    """Inspect a site's folder: counts, repairs, bursts, outages, what cannot be modelled.

    Missing files are listed with the command that creates them. Exit code: 0 the folder is
    complete, 1 it is usable but has gaps, 2 it is unusable.

    \b
    shadowtime doctor site/
    shadowtime doctor site/ --json | jq .missing
    """
    from shadowtime.cli.doctor.run import check_folder

    return check_folder(**given)
